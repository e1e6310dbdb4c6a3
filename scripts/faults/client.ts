/** A client that wants each of its keys answered once, and takes no for an answer only when it is final. */
import { setTimeout as sleep } from "node:timers/promises"
import { Option, Schema } from "effect"
import { ErrorEnvelope } from "../../src/protocol/error.ts"
import { parseEvents } from "../../src/protocol/parse-events.ts"

export type Outcome =
  /** The whole answer came, at this cost. */
  | {
      readonly _tag: "Delivered"
      readonly cost: string
      readonly deferred: boolean
      /** A whole reply's body, which whoever repeats the request must get. */
      readonly body?: string
    }
  /** The key is spent and its answer cannot be had any more. */
  | { readonly _tag: "Spent" }
  /** The balance did not cover it, as often as the client asked. */
  | { readonly _tag: "Refused" }
  | { readonly _tag: "GaveUp"; readonly last: string }

const decodeError = Schema.decodeUnknownOption(Schema.fromJsonString(ErrorEnvelope))

export interface CallOptions {
  readonly urls: ReadonlyArray<string>
  readonly headers: Record<string, string>
  readonly pick: (count: number) => number
  readonly patienceMs: number
  /** How many refusals for want of money are not final: holds may be in the way. */
  readonly maxRefusals: number
}

/** What a key is asked for. */
export type Asked = "stream" | "whole" | "embedding" | "search"

const thread = (key: string) => [{ role: "user", blocks: [{ t: "text", v: key }] }]

/** Of ten keys, five are streams, three whole replies, and one each embeddings and searches. */
export const askedFor = (key: string): Asked => {
  const at = Number(key.slice("k-".length)) % 10
  if (at % 2 === 0) return "stream"
  return at === 1 ? "embedding" : at === 3 ? "search" : "whole"
}

const requestFor = (key: string): readonly [path: string, request: object] => {
  switch (askedFor(key)) {
    case "stream":
      return ["/t1/exchange", { model: "main", stream: true, thread: thread(key) }]
    case "whole":
      return ["/t1/exchange", { model: "main", stream: false, thread: thread(key) }]
    case "embedding":
      return ["/t1/embeddings", { model: "embed", input: [key, "another"] }]
    case "search":
      return ["/t1/websearch", { query: key }]
  }
}

/** Asks for one key, again and again, at whichever gateway, until there is a final answer. */
export const askFor = async (key: string, options: CallOptions): Promise<Outcome> => {
  const endsAt = Date.now() + options.patienceMs
  const [path, request] = requestFor(key)
  const body = JSON.stringify({ ...request, meta: { requestId: key } })
  let last = "nothing"
  let refusals = 0
  while (Date.now() < endsAt) {
    try {
      const url = options.urls[options.pick(options.urls.length)]
      const response = await fetch(`${url}${path}`, {
        method: "POST",
        headers: { "content-type": "application/json", ...options.headers },
        body,
        signal: AbortSignal.timeout(30_000),
      })
      const text = await response.text()
      const outcome = response.headers.get("content-type")?.startsWith("text/event-stream")
        ? readStream(text)
        : readReply(response.status, text, response.headers)
      if (outcome !== undefined) return outcome
      if (response.status === 402 && ++refusals > options.maxRefusals) return { _tag: "Refused" }
      last = `${response.status} ${text.slice(-200)}`
    } catch (error) {
      last = String(error)
    }
    await sleep(50 + options.pick(200))
  }
  return { _tag: "GaveUp", last }
}

const readReply = (status: number, text: string, headers: Headers): Outcome | undefined => {
  const cost = headers.get("x-svc-cost")
  if (status === 200 && cost !== null && Number(headers.get("content-length")) === Buffer.byteLength(text)) {
    const deferred = headers.get("x-svc-warnings")?.includes("settlement_deferred") === true
    return { _tag: "Delivered", cost, deferred, body: text }
  }
  const error = Option.getOrUndefined(decodeError(text))?.error
  return error?.code === "idempotency_conflict" && error.detail?.["replayable"] === false
    ? { _tag: "Spent" }
    : undefined
}

const readStream = (text: string): Outcome | undefined => {
  try {
    const events = parseEvents(text)
    const last = events.at(-1)
    const deferred = events.some((event) => event.event === "t.warn" && event.data.code === "settlement_deferred")
    return last?.event === "t.close" ? { _tag: "Delivered", cost: last.data.usage.cost, deferred } : undefined
  } catch {
    return undefined
  }
}
