/** Google's Live API. */
import { liveMessages } from "../../../dialects/gemini-live/messages.ts"
import type { UsageNames } from "../../../dialects/gemini-live/usage.ts"
import type { RealtimeProtocol } from "../protocol.ts"
import { LiveOwnMessages } from "./own-messages.ts"
import { LiveReview } from "./reviewed-messages.ts"

/**
 * @param names of the counts that the client reads
 * @param drainMs the time in which running responses may end when the gateway stops
 */
export const googleProtocol = (names: UsageNames, drainMs: number): RealtimeProtocol => ({
  ...liveMessages(names),
  makeOwnMessages: (session) => new LiveOwnMessages(session, drainMs),
  makeReview: (review) => new LiveReview(review),
})
