/**
 * Summaries of threads. Where all targets of a model have the API themselves, they make them. Elsewhere the model gets a request of
 * ours, and the client a sealed item, whose text later requests have in its place.
 */
import { Effect, Result } from "effect"
import { Catalogue } from "../../../catalogue/catalogue.ts"
import { WeirConfig } from "../../../config.ts"
import type { ClientApi } from "../../../dialects/client/client-api.ts"
import { isAbsent } from "../../../dialects/client/fields.ts"
import { responsesApi } from "../../../dialects/openai-responses/client.ts"
import { compactApi, sealingApi, summaryMessage, summaryPrompt } from "../../../dialects/openai-responses/compaction.ts"
import { inputItems, isTrigger } from "../../../dialects/openai-responses/items.ts"
import { isObject, type JsonObject, parseObject } from "../../../dialects/parse/json.ts"
import type { Caller } from "../../../identity/caller.ts"
import { partsInclude } from "../../../media/parts-include.ts"
import type { Org } from "../../../protocol/catalogue/tenant.ts"
import { bodyTooLarge, type ServiceError } from "../../../protocol/error.ts"
import { invalidInput } from "../../../protocol/json/issues.ts"
import { parseBody } from "../../../protocol/json/json-body.ts"
import { cut, editJson, set } from "../../../protocol/json/json-edit.ts"
import { Sealing } from "../../../store/seal.ts"
import { handleOf } from "../request.ts"

/** A request whose reply is a summary. */
export interface Compaction {
  readonly body: Uint8Array
  /** The API in which its reply is written. */
  readonly api: ClientApi
}

/** Our sealed items begin with this: no vendor's do. */
const ours = "weir_summary_1."
const trigger = '{"type":"compaction_trigger"}'
const marks = ['"compaction_trigger"', `"${ours}`]

/** The most tokens of a summary, if its request does not say. */
const mostSummaryTokens = 16_384

/** Whether a body may ask for a summary, or have one of ours. */
export const mayCompact = (parts: ReadonlyArray<Uint8Array>): boolean => partsInclude(parts, marks)

const contextOf = ({ id }: Org): string => `compaction ${id}`

/** Opens our items: vendors see their text. */
export const makeOpenSummaries = Effect.gen(function* () {
  const { sealer } = yield* Sealing
  const { bodyMaxBytes } = yield* WeirConfig
  return (org: Org, body: Uint8Array): Effect.Effect<Uint8Array, ServiceError> => {
    const input = mayCompact([body]) ? inputOf(body) : undefined
    if (!Array.isArray(input)) return Effect.succeed(body)
    const items: ReadonlyArray<unknown> = input
    const edits: Array<{ readonly path: ReadonlyArray<string | number>; readonly json: string }> = []
    for (const [at, item] of items.entries()) {
      const sealed = isObject(item) && item["type"] === "compaction" ? item["encrypted_content"] : undefined
      if (typeof sealed !== "string" || !sealed.startsWith(ours)) continue
      const summary = sealer.open(sealed.slice(ours.length), contextOf(org))
      if (summary === undefined) return Effect.fail(unopened(at))
      edits.push({ path: ["input", at], json: summaryMessage(summary) })
    }
    const opened = editJson(body, edits)
    return opened.length > bodyMaxBytes ? Effect.fail(bodyTooLarge(bodyMaxBytes)) : Effect.succeed(opened)
  }
})

export const makeCompactions = Effect.gen(function* () {
  const { sealer } = yield* Sealing
  const catalogue = yield* Catalogue

  /** @param isAsked whether the route asks for a summary; otherwise the last item of the request does, or none */
  return (
    { org }: Caller,
    body: Uint8Array,
    { isAsked, isBackground }: { readonly isAsked: boolean; readonly isBackground: boolean },
  ): Effect.Effect<Compaction | undefined, ServiceError> => {
    if (!isAsked && !mayCompact([body])) return Effect.undefined
    const json = jsonOf(body)
    const input = json?.["input"]
    if (json === undefined || (!isAsked && !isTrigger(Array.isArray(input) ? input.at(-1) : undefined))) {
      return Effect.undefined
    }
    const asked = inputItems(body)
    const thread = asked.filter((text) => !text.includes("compaction_trigger") || !isTrigger(parseObject(text)))
    if (thread.length === 0) return Effect.fail(nothingToSummarise)
    const handle = handleOf(String(json["model"]), org.aliases)
    const { targets = [], model } = catalogue.current().model(handle) ?? {}
    const isTheirs = targets.every(({ dialect }) => dialect.chat?.carry?.api === "openai-responses")
    const withInput = (last: string, ...more: ReadonlyArray<Parameters<typeof editJson>[1][number]>) =>
      editJson(body, [{ path: ["input"], json: `[${[...thread, last].join(",")}]` }, ...more])
    const messages = isAsked ? thread.filter((text) => isOfUser(parseObject(text))) : []
    const written = (api: ClientApi) => (isAsked ? compactApi(api, messages) : api)
    // The route has no stream, and no store.
    const plain = isAsked ? [cut("stream"), cut("include")] : []
    if (isTheirs) {
      return isAsked
        ? Effect.succeed({ body: withInput(trigger, ...plain, set(false, "store")), api: written(responsesApi) })
        : Effect.undefined
    }
    if (isBackground) return Effect.fail(notInBackground)
    const seal = (summary: string) => ours + sealer.seal(summary, contextOf(org))
    const prompt = JSON.stringify({ type: "message", role: "user", content: summaryPrompt })
    const edits = [
      ...plain,
      ...["text", "max_tool_calls", "parallel_tool_calls", "include"].map((name) => cut(name)),
      // Calls in the thread need their tools.
      ...(isAbsent(json["tools"]) ? [cut("tool_choice")] : [set("none", "tool_choice")]),
      set(false, "store"),
      // One that is cut off would lose the end of the thread.
      ...(isAbsent(json["max_output_tokens"]) && model?.maxOutput !== undefined
        ? [set(Math.min(model.maxOutput, mostSummaryTokens), "max_output_tokens")]
        : []),
    ]
    return Effect.succeed({ body: withInput(prompt, ...edits), api: written(sealingApi(seal)) })
  }
})

const jsonOf = (body: Uint8Array): JsonObject | undefined => {
  const parsed = parseBody(body)
  return Result.isSuccess(parsed) && isObject(parsed.success) ? parsed.success : undefined
}
const inputOf = (body: Uint8Array): unknown => jsonOf(body)?.["input"]

const isOfUser = (item: JsonObject | undefined): boolean =>
  item?.["role"] === "user" && (item["type"] ?? "message") === "message"

const unopened = (at: number) =>
  invalidInput([
    { path: `input.${at}.encrypted_content`, message: "is a summary of another organisation, or its key was replaced" },
  ])

const nothingToSummarise = invalidInput([{ path: "input", message: "has no items before the summary" }])

const notInBackground = invalidInput([
  { path: "background", message: "must not be true for a summary, unless the model's vendor makes summaries itself" },
])
