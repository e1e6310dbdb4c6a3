/**
 * The two laws of a dialect with two directions: a request that was encoded towards a vendor and is decoded as a client's
 * is the same request; events that were encoded for a client and are decoded as a vendor's reply are the same events.
 */
import { describe, expect, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { type ClientApiName, clientApiNames } from "../../../src/dialects/carry/carried-request.ts"
import type { VendorEvent, VendorRequest } from "../../../src/dialects/chat-dialect.ts"
import type { ReplyContext } from "../../../src/dialects/client/client-api.ts"
import { clientApis } from "../../../src/dialects/client/client-apis.ts"
import { chatDialects } from "../../../src/dialects/index.ts"
import { parseObject } from "../../../src/dialects/parse/json.ts"
import { promptOf } from "../../../src/kinds/chat/sent-prompt.ts"
import { checkCall } from "../../../src/kinds/decode.ts"
import type { Block, Message } from "../../../src/protocol/block.ts"
import type { Delta } from "../../../src/protocol/event.ts"
import { ExchangeRequest } from "../../../src/protocol/exchange.ts"
import { cutAt, decodePieces, fold } from "../../support/replay.ts"

/** Blank text is left out where a vendor refuses it. */
const Text = Schema.String.check(Schema.isPattern(/\S/), Schema.isMaxLength(20))
const Name = Schema.String.check(Schema.isPattern(/^[a-z][a-z0-9_]{0,8}$/))
const Call = Schema.Struct({ name: Name, city: Text, result: Text })
const Turn = Schema.Struct({
  question: Text,
  image: Schema.Boolean,
  answer: Text,
  calls: Schema.Array(Call).check(Schema.isMaxLength(3)),
})
/** A schema that all vendors take as it is. */
const outputSchema = { type: "object", properties: { city: { type: "string" } }, additionalProperties: false }

const Asked = Schema.Struct({
  system: Schema.Array(Text).check(Schema.isMaxLength(1)),
  turns: Schema.Array(Turn).check(Schema.isMaxLength(3)),
  last: Text,
  maxTokens: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 100_000 })),
  hasTemperature: Schema.Boolean,
  choice: Schema.Literals(["auto", "none", "required", "named", "absent"]),
  hasOutput: Schema.Boolean,
  stops: Schema.Array(Text).check(Schema.isMaxLength(2)),
})

const image = { t: "image", mime: "image/png", data: "iVBORw0KGgo=" } as const

const threadOf = ({ system, turns, last }: typeof Asked.Type): ReadonlyArray<Message> => [
  ...system.map((v): Message => ({ role: "system", blocks: [{ t: "text", v }] })),
  ...turns.flatMap(({ question, image: hasImage, answer, calls }, turn): ReadonlyArray<Message> => {
    const ids = calls.map((_, at) => `call_${turn}_${at}`)
    const called = calls.map(
      ({ name, city }, at) => ({ t: "tool_call", id: ids[at] ?? "", name, input: { city } }) as const,
    )
    const results = calls.map(({ result }, at) => ({ t: "tool_result", id: ids[at] ?? "", v: `r ${result}` }) as const)
    return [
      { role: "user", blocks: [{ t: "text", v: question }, ...(hasImage ? [image] : [])] },
      { role: "assistant", blocks: [{ t: "text", v: answer }, ...called] },
      ...(results.length === 0 ? [] : [{ role: "tool", blocks: results } as const]),
    ]
  }),
  { role: "user", blocks: [{ t: "text", v: last }] },
]

const tools = [{ name: "weather", description: "Weather", inputSchema: { type: "object", properties: {} } }]

const requestOf = (asked: typeof Asked.Type, name: ClientApiName): VendorRequest => ({
  model: "main",
  thread: threadOf(asked),
  tools: asked.choice === "absent" ? [] : tools,
  toolChoice: asked.choice === "absent" ? undefined : asked.choice === "named" ? { name: "weather" } : asked.choice,
  maxTokens: asked.maxTokens,
  temperature: asked.hasTemperature ? 0.5 : undefined,
  // OpenAI's responses have no stop sequences.
  stop: name === "openai-responses" ? [] : asked.stops,
  output: asked.hasOutput ? { schema: outputSchema, strict: true } : undefined,
  canReason: false,
  cache: { enabled: false, skipWrite: false },
  stream: true,
})

/** The stop that a client can read: its API does not distinguish the vendor's filter from the model's refusal. */
const plainStop = (stop: string | undefined) => (stop === "refusal" ? "filtered" : stop)

/** Blocks in order with their author; results belong to the user, and messages of one author are one. */
const said = (thread: ReadonlyArray<Message>): ReadonlyArray<readonly [string, Block]> =>
  thread.flatMap(({ role, blocks }) => blocks.map((block) => [role === "tool" ? "user" : role, block] as const))

const same = (thread: ReadonlyArray<Message>, { choice, ...asked }: typeof Asked.Type, name: ClientApiName) => ({
  said: said(thread),
  maxTokens: asked.maxTokens,
  temperature: asked.hasTemperature ? 0.5 : undefined,
  stop: name === "openai-responses" || asked.stops.length === 0 ? undefined : asked.stops,
  tools: choice === "absent" ? undefined : tools,
  toolChoice: choice === "absent" ? undefined : choice === "named" ? { name: "weather" } : choice,
  output: asked.hasOutput ? outputSchema : undefined,
})

const readBack = ({ thread, tools, params }: ExchangeRequest) => ({
  said: said(promptOf({ thread }).thread),
  maxTokens: params?.maxTokens,
  temperature: params?.temperature,
  stop: params?.stop,
  tools,
  toolChoice: params?.toolChoice,
  output: typeof params?.output === "object" ? params.output.schema : undefined,
})

const Share = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 0.999 }))
const Count = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 }))
const Replied = Schema.Struct({
  thought: Schema.Array(Text).check(Schema.isMaxLength(3)),
  words: Schema.Array(Text).check(Schema.isMinLength(1), Schema.isMaxLength(5)),
  calls: Schema.Array(Schema.Struct({ name: Name, city: Text, cut: Share })).check(Schema.isMaxLength(3)),
  stop: Schema.Literals(["end", "max_tokens", "filtered"]),
  counts: Schema.Tuple([Count, Count, Count]),
  cuts: Schema.Array(Share).check(Schema.isMaxLength(10)),
})

const deltasOf = ({ thought, words, calls }: typeof Replied.Type): ReadonlyArray<Delta> => {
  const first = thought.length === 0 ? 0 : 1
  return [
    ...thought.map((v): Delta => ({ i: 0, t: "reasoning", v })),
    ...words.map((v): Delta => ({ i: first, t: "text", v })),
    ...calls.flatMap(({ name, city, cut }, at): ReadonlyArray<Delta> => {
      const i = first + 1 + at
      const args = JSON.stringify({ city })
      const middle = Math.floor(cut * args.length)
      return [
        { i, t: "tool_call", id: `call_${at}`, name },
        { i, t: "tool_call", args: args.slice(0, middle) },
        { i, t: "tool_call", args: args.slice(middle) },
      ]
    }),
  ]
}

const context: ReplyContext = { requestId: "req_property", model: "main", createdS: 1, includesUsage: true }

describe.each(clientApiNames)("%s", (name) => {
  const dialect = chatDialects[name]
  const api = clientApis[name]

  it.prop("a request towards a vendor, read as a client's, is the same", [Asked], ([asked]) => {
    const request = requestOf(asked, name)
    const wire = Result.getOrThrow(dialect.encode(request))
    const place = { model: "main", stream: true, isArray: false, counts: false }
    const sent = Result.getOrThrow(api.decode(parseObject(wire.body) ?? {}, place))
    const { request: read } = Result.getOrThrow(checkCall(ExchangeRequest, sent.exchange, null))
    expect(readBack(read)).toEqual(same(request.thread, asked, name))
    expect(read.stream).toBe(true)
    expect(sent.context.model).toBe("main")
  })

  it.prop(
    "events for a client, read as a vendor's reply, are the same, split at any byte, and whole",
    [Replied],
    ([reply]) => {
      const deltas = deltasOf(reply)
      const meant = fold(deltas.map((delta): VendorEvent => ({ kind: "delta", delta })))
      const [inTokens, outTokens, cacheReadTokens] = reply.counts
      const counts = { inTokens, outTokens, cacheReadTokens, cacheWriteTokens: 0 }
      const usage = { ...counts, cost: "1", balance: "2", currency: "USD", cacheNetSaving: "0" }
      const encoder = api.events(context)
      const text = [
        encoder.open({ requestId: context.requestId, model: "main", protocol: "twp/1" }),
        ...deltas.map((delta) => encoder.delta(delta)),
        encoder.close({ stop: reply.stop, usage }),
      ].join("")
      const streamed = fold(decodePieces(dialect, cutAt(Buffer.from(text), reply.cuts)))
      expect(streamed).toMatchObject({ blocks: meant.blocks, done: true, faults: [], usage: counts })
      const ended = reply.stop === "end" && reply.calls.length > 0
      expect(streamed.stop === "tool_call" && ended ? "end" : plainStop(streamed.stop)).toBe(plainStop(reply.stop))
      const response = { requestId: "req_property", model: "main", blocks: [...meant.blocks], stop: reply.stop, usage }
      const whole = fold(dialect.decodeBody(JSON.stringify(api.whole(context, response))))
      expect(whole).toMatchObject({ blocks: meant.blocks, done: true, faults: [], usage: counts })
    },
  )
})
