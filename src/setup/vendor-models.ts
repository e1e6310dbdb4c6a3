/** The models that a vendor lists, each dialect by its own route. */
import { Data, Effect, Schema } from "effect"
import { dialectOf } from "../dialects/index.ts"
import type { Vendor } from "../protocol/catalogue.ts"

/** A vendor whose models could not be read; the message says why, without what the vendor said. */
export class ModelsUnavailable extends Data.TaggedError("ModelsUnavailable")<{ readonly message: string }> {}

/**
 * Lists a vendor's models by their own names, in its order. Sources: https://platform.openai.com/docs/api-reference/models,
 * https://docs.anthropic.com/en/api/models-list, https://ai.google.dev/api/models.
 */
export const listModels = (
  vendor: Pick<Vendor, "dialect" | "profile" | "apiVersion" | "baseUrl">,
  key: string | undefined,
): Effect.Effect<ReadonlyArray<string>, ModelsUnavailable> =>
  Effect.gen(function* () {
    const headers = { accept: "application/json", ...(key === undefined ? {} : dialectOf(vendor).authorize(key)) }
    const url = `${vendor.baseUrl.replace(/\/+$/, "")}${paths[vendor.dialect]}`
    const response = yield* Effect.tryPromise({
      try: (signal) => fetch(url, { headers, signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]) }),
      catch: (cause) => new ModelsUnavailable({ message: `${url} does not answer (${reasonOf(cause)})` }),
    })
    if (!response.ok) {
      const hint = response.status === 401 || response.status === 403 ? ": the API key is refused" : ""
      return yield* new ModelsUnavailable({ message: `${url} answers ${response.status}${hint}` })
    }
    const body = yield* Effect.tryPromise({
      try: () => response.json(),
      catch: () => new ModelsUnavailable({ message: `${url} answers with something that is no JSON` }),
    })
    return yield* Effect.mapError(decode(body), () => {
      return new ModelsUnavailable({ message: `${url} answers with something that is no list of models` })
    })
  })

const timeoutMs = 15_000

const paths: Readonly<Record<Vendor["dialect"], string>> = {
  "openai-chat": "/models",
  "openai-responses": "/models",
  anthropic: "/v1/models?limit=1000",
  gemini: "/v1beta/models?pageSize=1000",
}

const ByVendor = Schema.Union([
  Schema.Struct({ data: Schema.Array(Schema.Struct({ id: Schema.String })) }),
  Schema.Struct({
    models: Schema.Array(
      Schema.Struct({
        name: Schema.String,
        supportedGenerationMethods: Schema.optionalKey(Schema.Array(Schema.String)),
      }),
    ),
  }),
])

const decode = (body: unknown) =>
  Effect.map(Schema.decodeUnknownEffect(ByVendor)(body), (list) => {
    if ("data" in list) return list.data.map(({ id }) => id.replace(/^models\//, ""))
    return list.models.flatMap(({ name, supportedGenerationMethods: methods }) =>
      methods === undefined || methods.includes("generateContent") ? [name.replace(/^models\//, "")] : [],
    )
  })

const reasonOf = (cause: unknown): string => {
  const inner = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause
  if (inner instanceof Error && "code" in inner && typeof inner.code === "string") return inner.code
  return inner instanceof Error ? inner.message : String(inner)
}
