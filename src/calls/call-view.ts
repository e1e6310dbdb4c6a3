/** Who calls, and what is called, as people are shown it: of a call, of a response of a session, and of reports. */
import type { CallTarget } from "../catalogue/snapshot.ts"
import type { Caller } from "../identity/caller.ts"

export const callerView = ({ org, app, keyId }: Caller) => ({ org: org.id, app: app?.id ?? "", key: keyId })

export const targetView = ({ vendor, model }: CallTarget): string => `${vendor.id}/${model}`
