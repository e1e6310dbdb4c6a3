/**
 * Span and metrics of one call to a model. Source: OpenTelemetry semantic conventions for generative AI.
 */
import type { Context } from "effect"
import type { ModelTarget } from "../catalogue/snapshot.ts"
import type { VendorRequest } from "../dialects/dialect.ts"
import { allTokens, inputTokens } from "../money/pricing.ts"
import type { VendorProfile } from "../protocol/catalogue.ts"
import { recordChat } from "../telemetry/metrics.ts"
import type { SpanOptions } from "../telemetry/tracing.ts"
import type { UsageMeter } from "./usage-meter.ts"

/** The data of a call to a model. */
interface ChatCall {
  readonly context: Context.Context<never>
  /** The request without the target's own name of the model. */
  readonly vendorRequest: Omit<VendorRequest, "model">
  readonly meter: UsageMeter
}

/** Well-known values of `gen_ai.provider.name`; other vendors use their profile's name. */
const providers: Readonly<Partial<Record<VendorProfile, string>>> = {
  azure: "azure.ai.openai",
  mistral: "mistral_ai",
  moonshot: "moonshot_ai",
  xai: "x_ai",
}

export const providerOf = ({ vendor: { dialect, profile } }: ModelTarget): string => {
  if (profile !== undefined) return providers[profile] ?? profile
  if (dialect === "anthropic") return "anthropic"
  return dialect === "gemini" ? "gcp.gemini" : "openai"
}

/** Records the metrics of one call to a model. @param error what ended the call, if it did not end normally */
export const countChat = (
  { context, meter }: Pick<ChatCall, "context" | "meter">,
  target: ModelTarget,
  millis: number,
  error: { readonly _tag: string; readonly code?: string } | undefined,
): void =>
  recordChat(
    context,
    {
      provider: providerOf(target),
      model: target.model,
      millis,
      ...(error !== undefined && { error: error._tag === "ServiceError" ? (error.code ?? error._tag) : error._tag }),
    },
    error === undefined && meter.usage !== undefined && allTokens(meter.usage) < maxChartedTokens
      ? { inTokens: inputTokens(meter.usage), outTokens: meter.usage.outTokens }
      : undefined,
  )

/** A larger count is a fault of the vendor; one would spoil the sums of the histogram. */
const maxChartedTokens = 2 ** 26

export const chatSpan = ({ vendorRequest, meter }: Omit<ChatCall, "context">, target: ModelTarget): SpanOptions => {
  const { maxTokens, temperature, topP } = vendorRequest
  return {
    kind: "client",
    attributes: {
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": providerOf(target),
      "gen_ai.request.model": target.model,
      "gen_ai.request.max_tokens": maxTokens,
      ...(temperature !== undefined && { "gen_ai.request.temperature": temperature }),
      ...(topP !== undefined && { "gen_ai.request.top_p": topP }),
      "server.address": URL.parse(target.vendor.baseUrl)?.hostname ?? "",
      "weir.vendor": target.vendor.id,
    },
    atEnd: () => ({
      ...(meter.stop !== undefined && { "gen_ai.response.finish_reasons": [meter.stop] }),
      ...(meter.usage !== undefined && {
        "gen_ai.usage.input_tokens": inputTokens(meter.usage),
        "gen_ai.usage.output_tokens": meter.usage.outTokens,
        "gen_ai.usage.cache_read.input_tokens": meter.usage.cacheReadTokens,
      }),
    }),
  }
}
