/**
 * Summaries of threads that a model of any vendor makes for clients of OpenAI's Responses: one item of the type `compaction`, sealed.
 * Source: https://platform.openai.com/docs/api-reference/responses/compact
 */
import { randomBytes } from "node:crypto"
import type { CloseEvent, Delta } from "../../protocol/event.ts"
import { editJsonText, set } from "../../protocol/json/json-edit.ts"
import { writeJson } from "../../protocol/json/json-text.ts"
import { type ClientApi, ClientEvents, type EventEncoder, type ReplyContext, replyId } from "../client/client-api.ts"
import { parseObject } from "../parse/json.ts"
import { responsesApi } from "./client.ts"
import { outputItems } from "./items.ts"

type Seal = (text: string) => string

/** The request that a model makes a summary for. */
export const summaryPrompt = `Summarise this conversation for yourself: you will go on with it, and see this summary instead of it.
Keep the user's aims and constraints, decisions and their reasons, facts, names, numbers, identifiers and paths word for word, the results of tools that still matter, and the next steps. Leave out pleasantries and what is outdated. Write only the summary, in the language of the conversation.`

/** The message that stands for a summary in later requests. */
export const summaryMessage = (summary: string): string =>
  JSON.stringify({
    type: "message",
    role: "user",
    content: `Summary of the conversation until here:\n\n${summary}`,
  })

/** The same API for requests of which a model makes a summary: they are translated for every vendor. */
const { carried: _, ...translated } = responsesApi
export const summarisingApi: ClientApi = { ...translated, name: "OpenAI responses, summarised" }

const itemOf = (seal: Seal, summary: string): string =>
  JSON.stringify({
    type: "compaction",
    id: `cmp_${randomBytes(16).toString("hex")}`,
    encrypted_content: seal(summary),
  })

/** The API whose replies have the summary, sealed, instead of its text. */
export const sealingApi = (seal: Seal): ClientApi => ({
  ...summarisingApi,
  whole: (context, reply) => {
    const summary = reply.blocks.flatMap((block) => (block.t === "text" ? [block.v] : [])).join("")
    return responsesApi.whole(context, {
      ...reply,
      blocks: [{ t: "vendor", dialect: "openai", v: itemOf(seal, summary) }],
    })
  },
  events: (context) => new SummaryEvents(responsesApi.events(context), seal),
})

/** A stream whose one item comes at its end. */
class SummaryEvents extends ClientEvents implements EventEncoder {
  readonly #inner: EventEncoder
  readonly #seal: Seal
  #summary = ""

  constructor(inner: EventEncoder, seal: Seal) {
    super()
    this.#inner = inner
    this.#seal = seal
  }

  open(data: Parameters<EventEncoder["open"]>[0]): string {
    return this.#inner.open(data)
  }

  delta(delta: Delta): string {
    if (delta.t === "text") this.#summary += delta.v
    return ""
  }

  close(data: typeof CloseEvent.Type): string {
    const item = this.#inner.delta({ t: "vendor", i: 0, dialect: "openai", v: itemOf(this.#seal, this.#summary) })
    return item + this.#inner.close(data)
  }

  error(data: Parameters<EventEncoder["error"]>[0]): string {
    return this.#inner.error(data)
  }
}

/**
 * The API of `/responses/compact`: its replies have the messages of the user, and then the summary.
 * @param inner the API that makes the summary
 * @param messages of the user
 */
export const compactApi = (inner: ClientApi, messages: ReadonlyArray<string>): ClientApi => {
  const replyOf = (context: ReplyContext, response: string) => compacted(context, response, messages)
  return {
    ...inner,
    whole: (context, reply) => parseObject(replyOf(context, writeJson(inner.whole(context, reply)))) ?? {},
    ...(inner.carried !== undefined && {
      carried: { ...inner.carried, whole: (context: ReplyContext, json: string) => replyOf(context, json) },
    }),
  }
}

/** @param response the JSON of a response with the summary */
const compacted = (context: ReplyContext, response: string, messages: ReadonlyArray<string>): string => {
  const summaries = outputItems(response).filter((text) => parseObject(text)?.["type"] === "compaction")
  const said = messages.map((text, at) => shownMessage(text, `msg_${replyId(context)}_i${at}`))
  const { usage = null, x_svc: notes } = parseObject(response) ?? {}
  const output = { path: ["output"], json: `[${[...said, ...summaries].join(",")}]` }
  const created = { id: `resp_${replyId(context)}`, object: "response.compaction", created_at: context.createdS }
  return editJsonText(JSON.stringify({ ...created, usage, ...(notes !== undefined && { x_svc: notes }) }), [output])
}

const shownMessage = (text: string, id: string): string => {
  const item = parseObject(text) ?? {}
  const { content } = item
  return editJsonText(text, [
    ...(typeof item["id"] === "string" ? [] : [set(id, "id")]),
    set("message", "type"),
    set("completed", "status"),
    ...(typeof content === "string" ? [set([{ type: "input_text", text: content }], "content")] : []),
  ])
}
