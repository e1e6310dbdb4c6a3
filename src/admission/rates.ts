/** Rate windows of a caller. Source: interface.md "Limits" and the code rate_limited. */
import type { Caller } from "../identity/caller.ts"
import type { RateWindow } from "./gate.ts"

const keyWindowMs = 60_000

/** The windows in which a call counts: its key's, its application's, its end user's. */
export const rateWindows = ({ keyId, app, plan, endUserId }: Caller): ReadonlyArray<RateWindow> => {
  const windows: ReadonlyArray<Omit<RateWindow, "limit" | "windowMs"> & { readonly limit: number | undefined }> = [
    { bucket: `key:${keyId}`, limit: plan?.perMinute },
    ...(app === undefined ? [] : [{ bucket: `app:${app.id}`, limit: app.quota?.rpm, scope: "app" as const }]),
    ...(endUserId === undefined
      ? []
      : [{ bucket: `endUser:${app?.id}:${endUserId}`, limit: plan?.endUserPerMinute, scope: "endUser" as const }]),
  ]
  return windows.flatMap(({ limit, ...window }) =>
    limit === undefined ? [] : [{ ...window, limit, windowMs: keyWindowMs }],
  )
}
