/** A client that wants each of its keys answered once, and takes no for an answer only when it is final. */
import { setTimeout as sleep } from "node:timers/promises"
import { Option, Schema } from "effect"
import { ErrorEnvelope } from "../../src/protocol/error.ts"
import { ExchangeResponse } from "../../src/protocol/exchange.ts"
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

const decodeReply = Schema.decodeUnknownOption(Schema.fromJsonString(ExchangeResponse))
const decodeError = Schema.decodeUnknownOption(Schema.fromJsonString(ErrorEnvelope))

export interface CallOptions {
  readonly urls: ReadonlyArray<string>
  readonly headers: Record<string, string>
  readonly pick: (count: number) => number
  readonly patienceMs: number
  /** How many refusals for want of money are not final: holds may be in the way. */
  readonly maxRefusals: number
}

/** Asks for one key, again and again, at whichever gateway, until there is a final answer. */
export const askFor = async (key: string, stream: boolean, options: CallOptions): Promise<Outcome> => {
  const endsAt = Date.now() + options.patienceMs
  const body = JSON.stringify({
    model: "main",
    stream,
    meta: { requestId: key },
    thread: [{ role: "user", blocks: [{ t: "text", v: key }] }],
  })
  let last = "nothing"
  let refusals = 0
  while (Date.now() < endsAt) {
    try {
      const url = options.urls[options.pick(options.urls.length)]
      const response = await fetch(`${url}/t1/exchange`, {
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
  const reply = Option.getOrUndefined(decodeReply(text))
  if (status === 200 && reply !== undefined) {
    const deferred = headers.get("x-svc-warnings")?.includes("settlement_deferred") === true
    return { _tag: "Delivered", cost: reply.usage.cost, deferred, body: text }
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
