/** Rate windows of a caller. */
import { type Caller, endUserName } from "../identity/caller.ts"
import type { RateWindow } from "./gate.ts"

const keyWindowMs = 60_000

/** The windows in which a call counts: its key's, its application's, its end user's. */
export const rateWindows = ({ keyId, app, plan, endUserId }: Caller): ReadonlyArray<RateWindow> => {
  const windows: Array<RateWindow> = []
  const keyLimit = plan?.perMinute
  if (keyLimit !== undefined) windows.push({ bucket: `key:${keyId}`, limit: keyLimit, windowMs: keyWindowMs })
  const appLimit = app?.quota?.rpm
  if (appLimit !== undefined) {
    windows.push({ bucket: `app:${app?.id}`, limit: appLimit, scope: "app", windowMs: keyWindowMs })
  }
  const userLimit = plan?.endUserPerMinute
  if (endUserId !== undefined && userLimit !== undefined) {
    const bucket = `endUser:${endUserName(app, endUserId)}`
    windows.push({ bucket, limit: userLimit, scope: "endUser", windowMs: keyWindowMs })
  }
  return windows
}
