/** OpenAI's Realtime API. */
import { openaiMessages } from "../../../dialects/openai-realtime/messages.ts"
import type { RealtimeProtocol } from "../protocol.ts"
import { OwnEvents } from "./own-events.ts"
import { ReviewedFrames } from "./reviewed-frames.ts"

export const openaiProtocol: RealtimeProtocol = {
  ...openaiMessages,
  makeOwnMessages: (session) => new OwnEvents(session),
  makeReview: (review) => new ReviewedFrames(review),
}
