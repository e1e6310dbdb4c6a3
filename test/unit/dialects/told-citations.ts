/** The citations that a client of an API reads: of a whole reply, and of a stream. */

import type { VendorEvent } from "../../../src/dialects/chat-dialect.ts"
import type { ClientApi, ReplyContext } from "../../../src/dialects/client/client-api.ts"
import {
  type JsonObject,
  numberAt,
  objectAt,
  objectsAt,
  parseObject,
  stringAt,
} from "../../../src/dialects/parse/json.ts"
import { UsageMeter } from "../../../src/kinds/chat/usage-meter.ts"
import type { DialectName } from "../../../src/protocol/catalogue/vendor.ts"

const context: ReplyContext = { requestId: "req_1", model: "main", createdS: 0, includesUsage: true }
const usage = {
  inTokens: 1,
  outTokens: 1,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  cost: "0",
  balance: "0",
  cacheNetSaving: "0",
  currency: "USD",
} as const

interface Replies {
  readonly whole: string
  readonly stream: string
}

/** A reply to a client, whole and streamed, of what a vendor has said. */
export const repliesTo = (client: ClientApi, events: ReadonlyArray<VendorEvent>): Replies => {
  const meter = new UsageMeter({ keepsBlocks: true })
  for (const event of events) meter.add(event)
  const stream = client.events(context)
  return {
    whole: JSON.stringify(
      client.whole(context, { requestId: "req_1", model: "main", blocks: [...meter.blocks()], stop: "end", usage }),
    ),
    stream: [
      stream.open({ requestId: "req_1", model: "main", protocol: "twp/1" }),
      ...events.map((event) => (event.kind === "delta" ? stream.delta(event.delta) : "")),
      stream.close({ stop: "end", usage }),
    ].join(""),
  }
}

/** The JSON of a stream's frames. */
export const framesOf = (stream: string): ReadonlyArray<JsonObject> =>
  stream.split(/\r?\n/).flatMap((line): ReadonlyArray<JsonObject> => {
    const frame = parseObject(line.replace(/^data: /, ""))
    return frame === undefined ? [] : [frame]
  })

/** A citation, and the words of the reply that it is about. */
interface Told {
  readonly url: string | undefined
  readonly words: string
}

/** The citations of both replies, each as its client reads it. */
export const citationsTold = (api: DialectName, { whole, stream }: Replies): ReadonlyArray<ReadonlyArray<Told>> => {
  const frames = framesOf(stream)
  const reply = parseObject(whole) ?? {}
  switch (api) {
    case "openai-chat":
      return [
        chatTold([objectsAt(reply, "choices")], "message"),
        chatTold(
          frames.map((frame) => objectsAt(frame, "choices")),
          "delta",
        ),
      ]
    case "gemini":
      return [geminiTold([reply]), geminiTold(frames)]
    case "anthropic":
      return [
        objectsAt(reply, "content").flatMap((block) =>
          toldOf(objectsAt(block, "citations"), () => stringAt(block, "text")),
        ),
        anthropicStreamed(frames),
      ]
    default:
      return [
        responsesTold(reply),
        responsesStreamed(frames),
        ...frames.filter(isCompleted).map((frame) => responsesTold(objectAt(frame, "response"))),
      ]
  }
}

const toldOf = (citations: ReadonlyArray<JsonObject>, wordsOf: (citation: JsonObject) => string | undefined) =>
  citations.map((citation) => ({ url: stringAt(citation, "url"), words: wordsOf(citation) ?? "" }))

const isCompleted = (frame: JsonObject) => stringAt(frame, "type") === "response.completed"

const slice = (text: string) => (cited: JsonObject) =>
  text.slice(numberAt(cited, "start_index"), numberAt(cited, "end_index"))

const chatTold = (choices: ReadonlyArray<ReadonlyArray<JsonObject>>, name: string): ReadonlyArray<Told> => {
  const messages = choices.flat().map((choice) => objectAt(choice, name))
  const text = messages.map((message) => stringAt(message, "content") ?? "").join("")
  const cited = messages.flatMap((message) => objectsAt(message, "annotations"))
  return cited.flatMap((annotation) => toldOf(objectsAt({ cited: [annotation["url_citation"]] }, "cited"), slice(text)))
}

const responsesTold = (response: JsonObject | undefined): ReadonlyArray<Told> =>
  objectsAt(response, "output")
    .flatMap((item) => objectsAt(item, "content"))
    .flatMap((part) => toldOf(objectsAt(part, "annotations"), slice(stringAt(part, "text") ?? "")))

const responsesStreamed = (frames: ReadonlyArray<JsonObject>): ReadonlyArray<Told> => {
  const texts = new Map<unknown, string>()
  for (const { type, item_id: item, delta } of frames)
    if (type === "response.output_text.delta") texts.set(item, `${texts.get(item) ?? ""}${delta}`)
  return frames.flatMap((frame) => {
    const annotation = objectAt(frame, "annotation")
    return annotation === undefined ? [] : toldOf([annotation], slice(texts.get(frame["item_id"]) ?? ""))
  })
}

const anthropicStreamed = (frames: ReadonlyArray<JsonObject>): ReadonlyArray<Told> => {
  const textOf = (index: unknown) =>
    frames
      .filter((frame) => frame["index"] === index)
      .map((frame) => stringAt(objectAt(frame, "delta"), "text") ?? "")
      .join("")
  return frames.flatMap((frame) => {
    const citation = objectAt(objectAt(frame, "delta"), "citation")
    return citation === undefined ? [] : toldOf([citation], () => textOf(frame["index"]))
  })
}

const geminiTold = (replies: ReadonlyArray<JsonObject>): ReadonlyArray<Told> => {
  const candidates = replies.flatMap((reply) => objectsAt(reply, "candidates"))
  const parts = candidates.flatMap((candidate) => objectsAt(objectAt(candidate, "content"), "parts"))
  const text = Buffer.from(
    parts.map((part) => (part["thought"] === true ? "" : (stringAt(part, "text") ?? ""))).join(""),
  )
  return candidates.flatMap((candidate) => {
    const grounding = objectAt(candidate, "groundingMetadata")
    const [source] = objectsAt(grounding, "groundingChunks")
    return objectsAt(grounding, "groundingSupports").map((support) => {
      const segment = objectAt(support, "segment")
      const words = text.subarray(numberAt(segment, "startIndex"), numberAt(segment, "endIndex")).toString()
      return { url: stringAt(objectAt(source, "web"), "uri"), words }
    })
  })
}
