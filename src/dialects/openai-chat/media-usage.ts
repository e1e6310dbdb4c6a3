/** Usage of calls about pictures and sound, as OpenAI's API reports it. */
import type { Usage } from "../../protocol/usage.ts"
import { chargeOf } from "../client/client-api.ts"

export const imageUsage = ({ dims = {}, ...usage }: Usage) => ({
  input_tokens: usage.inTokens,
  output_tokens: usage.outTokens,
  total_tokens: usage.inTokens + usage.outTokens,
  input_tokens_details: {
    image_tokens: dims["image_in"] ?? 0,
    text_tokens: usage.inTokens - Math.min(usage.inTokens, dims["image_in"] ?? 0),
  },
  ...chargeOf(usage),
})

export const transcriptUsage = ({ dims = {}, ...usage }: Usage) =>
  usage.inTokens + usage.outTokens > 0
    ? {
        type: "tokens",
        input_tokens: usage.inTokens,
        output_tokens: usage.outTokens,
        total_tokens: usage.inTokens + usage.outTokens,
        ...chargeOf(usage),
      }
    : { type: "duration", seconds: dims["audio_seconds"] ?? 0, ...chargeOf(usage) }
