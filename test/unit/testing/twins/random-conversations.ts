/**
 * Random conversations, which a seed repeats: three turns in a client's API, each at a vendor of its own, with parallel calls,
 * pictures, thinking, threads that were interrupted, tools that come and go, all of unicode, and large numbers.
 */

import { chatDialects, dialectOf } from "../../../../src/dialects/index.ts"
import type { JsonObject } from "../../../../src/dialects/parse/json.ts"
import type { ReplyBlock } from "../../../../src/protocol/block.ts"
import {
  anthropicTwin,
  bedrockTwin,
  chatTwins,
  cohereTwin,
  geminiTwin,
  responsesTwin,
  type TwinBlock,
  type TwinReply,
} from "../../../../src/testing/index.ts"
import { randomOf } from "../../../support/random.ts"
import { decodeText, fold } from "../../../support/replay.ts"
import { clients, type Settings, type ToolAnswer } from "./clients.ts"
import { faultOfReply } from "./reply-order.ts"
import { type ClientName, callsIn, type Outcome, type Target, throughWeir } from "./through-weir.ts"

/** @param models that take different parameters */
const chatTarget = (name: keyof typeof chatTwins, ...models: ReadonlyArray<string>): Target => ({
  name,
  vendor: dialectOf({ dialect: "openai-chat", profile: name }),
  twin: chatTwins[name],
  models: ["upstream", ...models],
})

export const targets: ReadonlyArray<Target> = [
  chatTarget("openai", "o3", "gpt-5-mini", "gpt-5.1", "gpt-5.6-sol", "gpt-4.1"),
  {
    name: "openai-responses",
    vendor: dialectOf({ dialect: "openai-responses" }),
    twin: responsesTwin,
    models: ["upstream", "o3", "gpt-5-mini", "gpt-5.1", "gpt-5.6-sol", "gpt-4.1"],
  },
  {
    name: "anthropic",
    vendor: dialectOf({ dialect: "anthropic" }),
    twin: anthropicTwin,
    models: ["claude-sonnet-4-0", "claude-sonnet-4-5", "claude-opus-4-7", "claude-opus-5"],
  },
  {
    name: "gemini",
    vendor: dialectOf({ dialect: "gemini" }),
    twin: geminiTwin,
    models: ["gemini-3-pro-preview", "gemini-3.5-flash", "gemini-2.5-flash", "gemini-2.5-pro"],
  },
  {
    name: "bedrock",
    vendor: dialectOf({ dialect: "bedrock" }),
    twin: bedrockTwin,
    models: [
      "eu.anthropic.claude-sonnet-4-5-v1:0",
      "us.anthropic.claude-sonnet-4-0-v1:0",
      "amazon.nova-pro-v1:0",
      "meta.llama3-3-70b-instruct-v1:0",
    ],
  },
  { name: "cohere", vendor: dialectOf({ dialect: "cohere" }), twin: cohereTwin, models: ["command-a-reasoning"] },
  chatTarget("deepseek"),
  chatTarget("moonshot", "kimi-k2.6"),
  chatTarget("qwen"),
  chatTarget("groq"),
  chatTarget("xai", "grok-4.5", "grok-4-fast-non-reasoning"),
  chatTarget("zai"),
  chatTarget("mistral"),
]

export const clientNames: ReadonlyArray<ClientName> = ["openai-chat", "openai-responses", "anthropic", "gemini", "t1"]

class Dice {
  readonly #random: () => number
  constructor(seed: number) {
    this.#random = randomOf(seed)
  }
  chance(share: number): boolean {
    return this.#random() < share
  }
  below(count: number): number {
    return Math.floor(this.#random() * count)
  }
  one<A>(values: readonly [A, ...ReadonlyArray<A>]): A {
    return values[this.below(values.length)] ?? values[0]
  }
  maybe<A>(share: number, make: () => A): A | undefined {
    return this.chance(share) ? make() : undefined
  }
}

const words = ["Hi", "JSON, please", "grüße 🌊 漢字", "a\u2028b\tc", '{"$ref":"#/x"}', "0", " padded "] as const

const schemas: readonly [object, ...ReadonlyArray<object>] = [
  { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  { type: "object", properties: {} },
]
/** Schemas that some vendors refuse as they are. */
const oddSchemas: readonly [object, ...ReadonlyArray<object>] = [
  {},
  { type: "object" },
  {
    anyOf: [
      { type: "object", properties: { a: { type: "string" } } },
      { type: "object", properties: { b: {} } },
    ],
  },
  { type: "object", properties: { list: { type: "array" }, deep: { type: "object" } } },
  { type: "object", properties: { n: { type: "integer", minimum: 1 } }, $defs: { A: { type: "object" } } },
]
const outputs: readonly [object, ...ReadonlyArray<object>] = [
  { type: "object", properties: { a: { type: "string" } }, required: ["a"], additionalProperties: false },
]
const oddOutputs: readonly [object, ...ReadonlyArray<object>] = [
  { type: "object", properties: { n: { type: "integer", minimum: 1, maximum: 5 } } },
  { type: "object", properties: { list: { type: "array", minItems: 2, items: { type: "string", maxLength: 3 } } } },
]
const results = [
  "7",
  "",
  '{"schema":{"$ref":"#/$defs/A"}}',
  '{"id":1234567890123456789}',
  "🌊",
  '{"error":"none"}',
  "[1,2]",
] as const
const args = [
  "{}",
  '{"city":"Oslo"}',
  '{"id":1234567890123456789,"x":1.10}',
  '{"s":"\\u2028 \\"quoted\\" 漢"}',
] as const

type Choice = NonNullable<Settings["choice"]>
const freeChoices: readonly [Choice, ...ReadonlyArray<Choice>] = ["auto", "none"]
const choices: readonly [Choice, ...ReadonlyArray<Choice>] = ["auto", "none", "required", { name: "tool_0" }]

/** Whether a conversation has what its client's own API refuses too. */
const settingsOf = (dice: Dice, isOdd: boolean): Settings => {
  const tools = Array.from({ length: dice.chance(0.7) ? 1 + dice.below(3) : 0 }, (_, at) => ({
    name: `tool_${at}`,
    schema: dice.one(isOdd ? [...schemas, ...oddSchemas] : schemas),
  }))
  const effort = dice.maybe(0.3, () => dice.one(["low", "high"] as const))
  const isForced = isOdd || effort === undefined
  return {
    system: dice.maybe(0.5, () => dice.one(words)),
    tools,
    choice: dice.maybe(0.3, () => dice.one(isForced ? choices : freeChoices)),
    maxTokens: dice.one([100, 2000, 8000]),
    temperature: effort === undefined ? dice.maybe(0.3, () => dice.one([0, 0.7, 1])) : undefined,
    topP: isOdd ? dice.maybe(0.2, () => dice.one([0.5, 1])) : undefined,
    stops: dice.chance(0.1) ? Array.from({ length: 1 + dice.below(isOdd ? 6 : 3) }, (_, at) => `stop${at}`) : [],
    effort,
    output: dice.maybe(0.1, () =>
      dice.chance(0.3) ? "json" : dice.one(isOdd ? [...outputs, ...oddOutputs] : outputs),
    ),
    isParallel: dice.maybe(0.2, () => dice.chance(0.5)),
  }
}

/** The settings of a client, as its own API says them. */
const settingsFor = (client: ClientName, settings: Settings): Settings => {
  const { output } = settings
  switch (client) {
    case "openai-chat":
      return output === "json" ? { ...settings, system: "Answer in JSON." } : settings
    case "openai-responses":
      return output === "json" ? { ...settings, output: undefined } : settings
    case "anthropic":
    case "gemini":
    case "t1":
      return settings
  }
}

/** Vendors' own ids may be odd: those of Kimi repeat in a thread. */
const idOf = (dice: Dice, target: Target, at: number, n: number): { readonly id?: string } => {
  if (target.name === "moonshot") return { id: `functions.tool_${at}:${dice.below(2)}` }
  if (target.name === "qwen") return { id: `call_${"x".repeat(60)}${n}_${at}` }
  return { id: `${target.name === "mistral" ? "m" : "call_"}${String(n * 10 + at).padStart(8, "0")}` }
}

/** Cohere states its plan before its calls, and says nothing after them. */
const flat: ReadonlySet<string> = new Set(["cohere"])

const replyOf =
  (dice: Dice, target: Target, n: number) =>
  (offered: ReadonlyArray<string>): TwinReply => {
    const [first] = offered
    const calls = first === undefined || dice.chance(0.3) ? 0 : 1 + dice.below(3)
    const blocks: Array<TwinBlock> = []
    if (dice.chance(0.4)) blocks.push({ t: "reasoning", pieces: ["I ", "think"] })
    if (calls === 0 || dice.chance(0.5)) blocks.push({ t: "text", pieces: ["You said: ", dice.one(words), "."] })
    for (let at = 0; at < calls; at++) {
      const name = offered[dice.below(offered.length)] ?? first ?? ""
      blocks.push({ t: "call", ...idOf(dice, target, at, n), name, args: dice.one(args) })
    }
    if (!flat.has(target.twin.dialect) && dice.chance(0.2))
      blocks.push({ t: "text", pieces: ["And ", dice.one(words)] })
    return { blocks }
  }

export interface Tally {
  answered: number
  /** Refused by Weir, by name, with how often. */
  readonly refused: Map<string, number>
  /** Refused by the twin for what the client itself asked of its own API. */
  own: number
}

export const newTally = (): Tally => ({ answered: 0, refused: new Map(), own: 0 })

export interface Broken {
  readonly client: ClientName
  readonly target: string
  readonly seed: number
  readonly turn: number
  readonly what: string
  readonly body: object
  readonly sent?: JsonObject
}

/** @returns the first thing that must not be */
export const converse = (client: ClientName, home: Target, seed: number, tally: Tally): Broken | undefined => {
  const dice = new Dice(seed)
  const isOdd = dice.chance(0.5)
  const { say, append, answer, body } = clients[client]
  const history: Array<object> = []
  let open: ReadonlyArray<{ readonly id: string; readonly name: string }> = []
  for (let turn = 0; turn < 3; turn++) {
    const target = turn === 1 ? dice.one([home, ...targets]) : home
    const model = dice.one([target.models[0] ?? "", ...target.models])
    const answers = open.map(
      (call): ToolAnswer => ({
        ...call,
        text: dice.one(results),
        hasPicture: dice.chance(0.1),
        isError: dice.chance(0.1),
      }),
    )
    const given = isOdd && dice.chance(0.3) ? answers.filter(() => dice.chance(0.5)) : answers
    const isLate = isOdd && dice.chance(0.2)
    const said = given.length === 0 || isLate || dice.chance(0.3) ? say(dice.one(words), dice.chance(0.2)) : []
    const told = given.length === 0 ? [] : answer(given)
    history.push(...(isLate ? [...said, ...told] : [...told, ...said]))
    if (isOdd && turn === 2 && dice.chance(0.1)) history.splice(0, 1 + dice.below(2))
    const settings = settingsOf(dice, isOdd)
    const sent = body(isOdd ? settings : settingsFor(client, settings), history)
    const outcome = throughWeir({ client, body: sent, target, model, reply: replyOf(dice, target, turn) })
    const broken = look(client, target, outcome, isOdd, tally)
    if (broken !== undefined) {
      return {
        client,
        target: target.name,
        seed,
        turn,
        body: sent,
        what: broken,
        ...("sent" in outcome && { sent: outcome.sent }),
      }
    }
    if (outcome.kind !== "answered") return undefined
    history.push(...append(outcome.whole))
    open = callsIn(client, outcome.whole)
  }
  return undefined
}

const byKind = (blocks: ReadonlyArray<ReplyBlock>): string =>
  JSON.stringify({
    said: ["text", "reasoning"].map((kind) =>
      blocks.map((block) => (block.t === kind && "v" in block ? block.v : "")).join(""),
    ),
    calls: blocks.filter(({ t }) => t === "tool_call"),
  })

const look = (
  client: ClientName,
  { twin: { dialect } }: Target,
  outcome: Outcome,
  isOdd: boolean,
  tally: Tally,
): string | undefined => {
  switch (outcome.kind) {
    case "refused":
      tally.refused.set(outcome.why, (tally.refused.get(outcome.why) ?? 0) + 1)
      return undefined
    case "broken": {
      // A request to a vendor of its own API is the client's.
      if (!(outcome.isOwn && isOdd)) return `${outcome.refusal.rule}: ${JSON.stringify(outcome.refusal.body)}`
      tally.own++
      return undefined
    }
    case "answered": {
      tally.answered++
      if (client === "t1") return undefined
      const whole = fold(chatDialects[client].decodeBody(outcome.text))
      const streamed = fold(decodeText(chatDialects[client], outcome.stream))
      // Whole chat completions do not say which of a text and a call came first.
      const read = client === "openai-chat" || dialect === "openai-chat" ? byKind : JSON.stringify
      if (read(whole.blocks) !== read(streamed.blocks)) {
        return `the stream differs: ${JSON.stringify(whole.blocks)} ${JSON.stringify(streamed.blocks)}`
      }
      if (!streamed.done || streamed.faults.length > 0) return `the stream is not whole: ${outcome.stream}`
      return faultOfReply(client, outcome.whole, outcome.stream)
    }
  }
}
