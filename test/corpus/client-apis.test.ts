/**
 * Recorded traffic in the direction towards clients: requests go in by their own API, and replies that came from any
 * vendor are the same after they were written for a client of any API and read again.
 */
import { Result } from "effect"
import { describe, expect, it } from "vitest"
import type { VendorEvent } from "../../src/dialects/chat-dialect.ts"
import type { ClientApi, EventEncoder, ReplyContext } from "../../src/dialects/client/client-api.ts"
import { clientApis } from "../../src/dialects/client/client-apis.ts"
import { isObject, parseObject } from "../../src/dialects/parse/json.ts"
import { checkCall } from "../../src/kinds/decode.ts"
import type { DialectName } from "../../src/protocol/catalogue/vendor.ts"
import type { ExchangeResponse } from "../../src/protocol/exchange.ts"
import { ExchangeRequest } from "../../src/protocol/exchange.ts"
import { chatOf } from "../support/chat-of.ts"
import { eventsOf, type Meaning, meaningOf, meterOf, stopIn, streamed, usageIn } from "../support/recorded/meaning.ts"
import { corpora, isError, recordingsOf } from "../support/recorded/recordings.ts"

const recordings = corpora.flatMap((corpus) =>
  recordingsOf(corpus.folder).map(([name, recording]) => ({ name: `${corpus.folder}/${name}`, corpus, recording })),
)

const placeOf = (path: string) => {
  const [, model = "m", method = ""] = /models\/([^/:]+):(\w+)/.exec(path) ?? []
  return { model, stream: method.startsWith("stream"), isArray: false, counts: /count/i.test(path) }
}

/** The reason why a recorded request is refused; undefined if it is an exchange of twp/1. */
const refusalOf = (api: ClientApi, path: string, body: unknown): { readonly path: string } | undefined => {
  if (!isObject(body)) return { path: "" }
  const sent = api.decode(body, placeOf(path))
  if (Result.isFailure(sent)) return sent.failure
  const checked = checkCall(ExchangeRequest, { ...sent.success.exchange, model: "main" }, null)
  return Result.isFailure(checked) ? { path: String(checked.failure.message) } : undefined
}

describe("recorded requests", () => {
  const asked = recordings.flatMap(({ name, corpus, recording: { request } }) =>
    request === null || !isObject(request.body)
      ? []
      : [{ name, refusal: refusalOf(clientApis[corpus.name], request.path, request.body) }],
  )

  it.skipIf(asked.length === 0)("of ten, nine are exchanges; the others are refused with the field's name", () => {
    const refused = asked.filter(({ refusal }) => refusal !== undefined)
    expect(refused.filter(({ refusal }) => refusal?.path === "")).toEqual([])
    expect(1 - refused.length / asked.length).toBeGreaterThan(0.9)
  })
})

const context: ReplyContext = { requestId: "req_recorded", model: "main", createdS: 0, includesUsage: true }

const written = (encoder: EventEncoder, events: ReadonlyArray<VendorEvent>): string =>
  [
    encoder.open({ requestId: context.requestId, model: "main", protocol: "twp/1" }),
    ...events.map((event) => (event.kind === "delta" ? encoder.delta(event.delta, event.json) : "")),
    encoder.close({ stop: stopIn(events) ?? "end", usage: usageIn(events) }),
  ].join("")

const wholeOf = (events: ReadonlyArray<VendorEvent>): ExchangeResponse => ({
  requestId: context.requestId,
  model: "main",
  blocks: [...meterOf(events).blocks()],
  stop: stopIn(events) ?? "end",
  usage: usageIn(events),
})

const answered = recordings.filter(({ recording }) => !isError(recording))

describe.each(Object.entries(clientApis))("recorded replies for a client of %s", (name, api) => {
  const dialect = chatOf({ dialect: dialectName(name) })

  it.skipIf(answered.length === 0)("mean the same, streamed and whole", () => {
    let compared = 0
    const wrong: Array<unknown> = []
    const compare = (what: string, read: Meaning, meant: Meaning) => {
      if (JSON.stringify(read) !== JSON.stringify(meant)) wrong.push({ what, read, meant })
    }
    for (const { name: file, corpus, recording } of answered) {
      const all = eventsOf(corpus.dialect, recording)
      const done = all.findIndex(({ kind }) => kind === "done")
      // Some recordings hold several replies; the first one counts.
      const events = done === -1 ? all : all.slice(0, done)
      const meaning = meaningOf(events)
      // Recordings of failures, or of nothing, have no reply.
      if (stopIn(events) === undefined || events.some(({ kind }) => kind === "fault")) continue
      const stream = meaningOf(streamed(dialect, written(api.events(context), events)))
      compare(`${file}, streamed`, stream, meaning)
      const whole = JSON.stringify(api.whole(context, wholeOf(events)))
      expect(parseObject(whole)).toBeDefined()
      compare(`${file}, whole`, meaningOf(dialect.decodeBody(whole)), meaning)
      compared++
    }
    expect(wrong).toEqual([])
    expect(compared).toBeGreaterThan(answered.length / 2)
  })
})

function dialectName(name: string): DialectName {
  const known: ReadonlyArray<DialectName> = ["openai-chat", "openai-responses", "anthropic", "gemini"]
  return known.find((one) => one === name) ?? "openai-chat"
}
