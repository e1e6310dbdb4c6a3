/** What people are shown of what runs: a call, or a response of a session. */
import type { CallTarget } from "../catalogue/snapshot.ts"
import type { Caller } from "../identity/caller.ts"
import type { OpenCall } from "./services.ts"

interface Running extends Pick<OpenCall, "kind" | "model" | "bytes" | "state" | "failedCalls"> {
  /** The gateway's own request id. */
  readonly ref: string
  readonly caller: Caller
  readonly target: CallTarget | undefined
  readonly startedAtMs: number
}

export const viewOf = ({
  ref,
  kind,
  caller,
  model,
  target,
  startedAtMs,
  bytes,
  state,
  failedCalls,
}: Running): OpenCall => ({
  id: ref,
  kind,
  ...callerView(caller),
  model,
  ...(target !== undefined && { target: targetView(target) }),
  startedAt: new Date(startedAtMs).toISOString(),
  bytes,
  state,
  failedCalls,
})

/** Ids of the organisation, the application and the key. */
export const callerView = ({ org, app, keyId }: Caller) => ({ org: org.id, app: app?.id ?? "", key: keyId })

export const targetView = ({ vendor, model }: CallTarget): string => `${vendor.id}/${model}`
