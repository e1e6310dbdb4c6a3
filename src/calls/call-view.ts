/** The caller and the target of a call, as operators see them: for a call, a response of a session, and reports. */
import type { CallTarget } from "../catalogue/snapshot.ts"
import type { Caller } from "../identity/caller.ts"

export const callerView = ({ org, app, keyId }: Caller) => ({ org: org.id, app: app?.id ?? "", key: keyId })

export const targetView = ({ vendor, model }: CallTarget): string => `${vendor.id}/${model}`
