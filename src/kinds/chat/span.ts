/** The attributes of a chat's span. Source: OpenTelemetry semantic conventions for generative AI. */
import { operationSpan } from "../../calls/vendor/operation.ts"
import type { CallTarget } from "../../catalogue/snapshot.ts"
import type { VendorRequest } from "../../dialects/chat-dialect.ts"
import { inputTokens } from "../../money/pricing.ts"
import type { SpanOptions } from "../../telemetry/tracing.ts"
import type { UsageMeter } from "./usage-meter.ts"

export const chatSpan = (
  { maxTokens, temperature, topP }: Pick<VendorRequest, "maxTokens" | "temperature" | "topP">,
  meter: UsageMeter,
  target: CallTarget,
): SpanOptions =>
  operationSpan(
    "chat",
    target,
    {
      "gen_ai.request.max_tokens": maxTokens,
      ...(temperature !== undefined && { "gen_ai.request.temperature": temperature }),
      ...(topP !== undefined && { "gen_ai.request.top_p": topP }),
    },
    () => ({
      ...(meter.stop !== undefined && { "gen_ai.response.finish_reasons": [meter.stop] }),
      ...(meter.usage !== undefined && {
        "gen_ai.usage.input_tokens": inputTokens(meter.usage),
        "gen_ai.usage.output_tokens": meter.usage.outTokens,
        "gen_ai.usage.cache_read.input_tokens": meter.usage.cacheReadTokens,
      }),
    }),
  )
