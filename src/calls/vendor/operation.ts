/** Span and metrics of one call to a model. Source: OpenTelemetry semantic conventions for generative AI. */
import type { Context } from "effect"
import type { CallTarget } from "../../catalogue/snapshot.ts"
import { recordModelCall } from "../../telemetry/metrics.ts"
import type { SpanOptions } from "../../telemetry/tracing.ts"

/** Well-known values of `gen_ai.provider.name`; other vendors use the name of their profile or dialect. */
const providers: Readonly<Record<string, string>> = {
  azure: "azure.ai.openai",
  mistral: "mistral_ai",
  moonshot: "moonshot_ai",
  xai: "x_ai",
  gemini: "gcp.gemini",
  "openai-chat": "openai",
  "openai-responses": "openai",
}

export const providerOf = ({ vendor: { dialect, profile } }: CallTarget): string =>
  providers[profile ?? dialect] ?? profile ?? dialect

export interface TokensUsed {
  readonly inTokens: number
  /** Absent for operations that have none. */
  readonly outTokens?: number | undefined
}

/** A larger count is a fault of the vendor; a single one would spoil the sums of the histogram. */
const maxChartedTokens = 2 ** 26

/** @param usage as the vendor reported it @param error what ended the call, if it did not end normally */
export const recordOperation = (
  context: Context.Context<never>,
  operation: string,
  target: CallTarget,
  millis: number,
  usage: TokensUsed | undefined,
  error: CallFailure | undefined,
): void =>
  recordModelCall(
    context,
    {
      operation,
      provider: providerOf(target),
      model: target.model,
      millis,
      ...(error !== undefined && { error: failureName(error) }),
    },
    error === undefined && usage !== undefined && usage.inTokens + (usage.outTokens ?? 0) < maxChartedTokens
      ? usage
      : undefined,
  )

/** The error that ended a vendor call. */
export interface CallFailure {
  readonly _tag: string
  readonly code?: string
}

/** A failure as the value of a label. */
export const failureName = ({ _tag, code }: CallFailure): string => (_tag === "ServiceError" ? (code ?? _tag) : _tag)

export const operationSpan = (
  operation: string,
  target: CallTarget,
  attributes: Readonly<Record<string, unknown>>,
  atEnd: () => Readonly<Record<string, unknown>>,
): SpanOptions => ({
  kind: "client",
  attributes: {
    "gen_ai.operation.name": operation,
    "gen_ai.provider.name": providerOf(target),
    "gen_ai.request.model": target.model,
    ...attributes,
    "server.address": URL.parse(target.vendor.baseUrl)?.hostname ?? "",
    "weir.vendor": target.vendor.id,
  },
  atEnd,
})
