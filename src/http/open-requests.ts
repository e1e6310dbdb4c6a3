/**
 * Requests that a server has accepted and not yet answered. A shutdown waits for them, including those that are not calls yet
 * because their credential is being checked: their sender does not expect a refusal.
 */
import { Effect } from "effect"
import { beforeRequest, type NodeServer } from "./listener.ts"

/** @returns completes when no request is open */
export const trackRequests = (server: NodeServer): { readonly whenNone: Effect.Effect<void> } => {
  let open = 0
  const waiting = new Set<() => void>()
  beforeRequest(server, (_request, response) => {
    open++
    response.once("close", () => {
      open--
      if (open > 0) return
      for (const tell of waiting) tell()
    })
  })
  return {
    whenNone: Effect.callback<void>((resume) => {
      if (open === 0) return resume(Effect.void)
      const tell = () => resume(Effect.void)
      waiting.add(tell)
      return Effect.sync(() => waiting.delete(tell))
    }),
  }
}
