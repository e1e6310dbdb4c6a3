/** The models that a vendor lists, each dialect by its own route. */
import { Data, Effect, Schema } from "effect"
import { dialectOf } from "../dialects/index.ts"
import type { AddressedVendor, Vendor } from "../protocol/catalogue/vendor.ts"
import { fetchWhole, type VendorClient } from "../upstream/client.ts"
import type { Network } from "../upstream/network.ts"

/** A vendor whose models could not be read; the message gives the reason, without the vendor's text. */
export class ModelsUnavailable extends Data.TaggedError("ModelsUnavailable")<{
  readonly message: string
  /** Whether the vendor asks for an API key, and none was sent. */
  readonly lacksKey?: boolean
}> {}

/**
 * Lists a vendor's models by their own names, in its order. Sources: https://platform.openai.com/docs/api-reference/models,
 * https://docs.anthropic.com/en/api/models-list, https://ai.google.dev/api/models.
 */
export const listModels = (
  client: VendorClient["Service"],
  vendor: Pick<AddressedVendor, "dialect" | "profile" | "apiVersion" | "baseUrl">,
  key: string | undefined,
  network?: Network,
): Effect.Effect<ReadonlyArray<string>, ModelsUnavailable> =>
  Effect.gen(function* () {
    const headers = { accept: "application/json", ...(key === undefined ? {} : dialectOf(vendor).authorize(key)) }
    const path = paths[vendor.dialect]
    const url = `${vendor.baseUrl.replace(/\/+$/, "")}${path}`
    const unavailable = (what: string) => new ModelsUnavailable({ message: `${url} ${what}` })
    const request = { method: "GET", baseUrl: vendor.baseUrl, path, headers, body: "", network } as const
    const { status, body } = yield* fetchWhole(client, request, maxReplyBytes).pipe(
      Effect.mapError(({ cause }) => unavailable(`does not answer (${reasonOf(cause)})`)),
      Effect.timeoutOrElse({
        duration: timeout,
        orElse: () => Effect.fail(unavailable(`does not answer within ${timeout}`)),
      }),
    )
    if (status < 200 || status > 299) {
      const lacksKey = (status === 401 || status === 403) && key === undefined
      const hint = status === 401 || status === 403 ? ": the API key is refused" : ""
      return yield* lacksKey
        ? new ModelsUnavailable({ message: `${url} answers ${status}: it needs an API key`, lacksKey })
        : unavailable(`answers ${status}${hint}`)
    }
    return yield* Effect.mapError(decode(body), () => unavailable("answers with something that is no list of models"))
  })

const timeout = "15 seconds"
const maxReplyBytes = 16 * 1024 * 1024

const paths: Readonly<Record<Vendor["dialect"], string>> = {
  "openai-chat": "/models",
  "openai-responses": "/models",
  anthropic: "/v1/models?limit=1000",
  gemini: "/v1beta/models?pageSize=1000",
  cohere: "/v1/models?page_size=1000",
  // These have no list of this form: the price file lists their models.
  bedrock: "/models",
  voyage: "/models",
  elevenlabs: "/models",
  deepgram: "/models",
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

/** Methods of models that can be called. */
const calls = new Set(["generateContent", "embedContent", "batchEmbedContents"])

const decode = (body: string) =>
  Effect.map(Schema.decodeUnknownEffect(Schema.fromJsonString(ByVendor))(body), (list) => {
    if ("data" in list) return list.data.map(({ id }) => id.replace(/^models\//, ""))
    return list.models.flatMap(({ name, supportedGenerationMethods: methods }) =>
      methods === undefined || methods.some((method) => calls.has(method)) ? [name.replace(/^models\//, "")] : [],
    )
  })

const reasonOf = (cause: unknown): string => {
  const inner = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause
  if (inner instanceof Error && "code" in inner && typeof inner.code === "string") return inner.code
  return inner instanceof Error ? inner.message : String(inner)
}
