/** A client that wants each of its keys answered once, and takes no for an answer only when it is final. */
import { setTimeout as sleep } from "node:timers/promises"
import { Option, Schema } from "effect"
import { ErrorEnvelope } from "../../../src/protocol/error.ts"
import { VideoJob } from "../../../src/protocol/kinds/video.ts"
import { parseEvents } from "../../../src/protocol/parse-events.ts"
import { wavHead } from "../../support/wav.ts"

export type Outcome =
  /** The whole answer came, at this cost. */
  | {
      readonly _tag: "Delivered"
      readonly cost: string
      readonly deferred: boolean
      /** A whole reply's body, which a repetition of the request must get. */
      readonly body?: string
    }
  /** A video was made, or its vendor failed. */
  | { readonly _tag: "Made" | "Failed" }
  /** The key is spent and its answer cannot be had any more. */
  | { readonly _tag: "Spent" }
  /** The balance did not cover it, as often as the client asked. */
  | { readonly _tag: "Refused" }
  | { readonly _tag: "GaveUp"; readonly last: string }

const decodeJob = Schema.decodeUnknownOption(Schema.fromJsonString(VideoJob))
const decodeError = Schema.decodeUnknownOption(Schema.fromJsonString(ErrorEnvelope))

export interface CallOptions {
  readonly urls: ReadonlyArray<string>
  readonly headersOf: (key: string) => Record<string, string>
  readonly pick: (count: number) => number
  readonly patienceMs: number
  /** The number of refusals for lack of money that are not final: holds may be in the way. */
  readonly maxRefusals: number
  readonly kindOf: (key: string) => Asked
}

/** The kind of call of a key. */
export type Asked = (typeof askedKinds)[number]

/** The kinds of sixteen keys: six are streams and five whole replies; each other kind has one. */
export const askedKinds = [
  "stream",
  "whole",
  "embedding",
  "search",
  "image",
  "speech",
  "transcription",
  "video",
] as const

const others: Readonly<Record<number, Asked>> = {
  1: "embedding",
  3: "search",
  5: "image",
  7: "transcription",
  9: "speech",
  11: "video",
}

export const askedFor = (key: string): Asked => {
  const at = Number(key.slice("k-".length)) % 16
  return others[at] ?? (at % 2 === 0 && at < 12 ? "stream" : "whole")
}

const thread = (key: string) => [{ role: "user", blocks: [{ t: "text", v: key }] }]

const requestFor = (key: string, kind: Asked): readonly [path: string, request: object] => {
  switch (kind) {
    case "stream":
      return ["/t1/exchange", { model: "main", stream: true, thread: thread(key) }]
    case "whole":
      return ["/t1/exchange", { model: "main", stream: false, thread: thread(key) }]
    case "embedding":
      return ["/t1/embeddings", { model: "embed", input: [key, "another"] }]
    case "search":
      return ["/t1/websearch", { query: key }]
    case "image":
      return ["/t1/images", { model: "draw", prompt: key }]
    case "speech":
      return ["/t1/speech", { model: "say", input: `say ${key}`, voice: "any", stream: true }]
    case "transcription":
      return [
        "/t1/transcriptions",
        { model: "hear", prompt: key, file: { t: "file", mime: "audio/wav", data: second } },
      ]
    case "video":
      return ["/t1/videos", { model: "film", prompt: key, seconds: 4 }]
  }
}

/** A second of silence: 8,000 samples of one byte. */
const second = Buffer.concat([wavHead(8000), Buffer.alloc(8000, 128)]).toString("base64")

/** Asks for one key, again and again, at whichever gateway, until there is a final answer. */
export const askFor = async (key: string, options: CallOptions): Promise<Outcome> => {
  const endsAt = Date.now() + options.patienceMs
  const kind = options.kindOf(key)
  const [path, request] = requestFor(key, kind)
  const body = JSON.stringify({ ...request, meta: { requestId: key } })
  const headers = options.headersOf(key)
  let last = "nothing"
  let refusals = 0
  while (Date.now() < endsAt) {
    try {
      const url = options.urls[options.pick(options.urls.length)]
      const response = await fetch(`${url}${path}`, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body,
        signal: AbortSignal.timeout(30_000),
      })
      const text = await response.text()
      const job = response.status === 202 && kind === "video" ? Option.getOrUndefined(decodeJob(text)) : undefined
      if (job !== undefined) return await follow(job.id, headers, options)
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

/** The time that a job may take: as long as the lease of a node that was killed, and then its vendor. */
const jobPatienceMs = 180_000

/** Asks about a job until it has ended. */
const follow = async (id: string, headers: Record<string, string>, { urls, pick }: CallOptions): Promise<Outcome> => {
  const endsAt = Date.now() + jobPatienceMs
  let last = `${id} was never told of`
  while (Date.now() < endsAt) {
    await sleep(300 + pick(500))
    try {
      const response = await fetch(`${urls[pick(urls.length)]}/t1/videos/${id}`, {
        headers,
        signal: AbortSignal.timeout(30_000),
      })
      const text = await response.text()
      const { status } = Option.getOrUndefined(decodeJob(text)) ?? {}
      if (status === "done") return { _tag: "Made" }
      if (status === "failed") return { _tag: "Failed" }
      last = `${response.status} ${text.slice(-200)}`
    } catch (error) {
      last = String(error)
    }
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
