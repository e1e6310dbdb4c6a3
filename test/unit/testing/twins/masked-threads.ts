/**
 * Random threads of a client whose requests are masked, with a vendor that repeats marks, cuts them, changes their case,
 * invents some and writes them with escapes: each value comes back as it was sent, or the text is untouched.
 */
import { Result, Schema } from "effect"
import { chatDialects } from "../../../../src/dialects/index.ts"
import { type JsonObject, parseObject } from "../../../../src/dialects/parse/json.ts"
import { Marks, markKey } from "../../../../src/policies/masks/marks.ts"
import type { Masking } from "../../../../src/policies/masks/mask-request.ts"
import { compilePolicy } from "../../../../src/policies/policy.ts"
import { ReplyBlock } from "../../../../src/protocol/block.ts"
import { Delta } from "../../../../src/protocol/event.ts"
import { parseEvents, type TwinBlock, type TwinReply } from "../../../../src/testing/index.ts"
import { randomOf } from "../../../support/random.ts"
import { decodeText, fold } from "../../../support/replay.ts"
import { clients, type Settings } from "./clients.ts"
import { type ClientName, callsIn, type Target, throughWeir } from "./through-weir.ts"

const policy = compilePolicy(
  {
    id: "data",
    direction: "inbound",
    match: { entities: ["email", "card", { name: "NAME", regex: "«[^»]{1,60}»" }] },
    reason: "personal_data",
    action: "mask",
  },
  () => undefined,
)

export const masking: Masking = { policies: [Result.getOrThrow(policy)], key: markKey(undefined, "org") }

const values = [
  "ann@example.com",
  "o'neil+x@example.co.uk",
  "4111 1111 1111 1111",
  '«Ann "the\\boss" & <co>»',
  "«line\nbreak\ttab»",
  "«🌊 漢字 \u2028 end\\»",
  "«C:\\new\\u0041»",
] as const

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
  one<A>(all: ReadonlyArray<A>, other: A): A {
    return all[this.below(all.length)] ?? other
  }
  value(): string {
    return this.one<string>(values, values[0])
  }
}

const cutText = (dice: Dice, text: string): ReadonlyArray<string> => {
  const pieces: Array<string> = []
  for (let at = 0; at < text.length; ) {
    let end = at + 1 + dice.below(7)
    // Vendors cut between characters.
    if (/[\ud800-\udbff]/.test(text[end - 1] ?? "")) end++
    pieces.push(text.slice(at, end))
    at = end
  }
  return pieces
}

const cutBytes =
  (dice: Dice) =>
  (frames: ReadonlyArray<string | Uint8Array>): ReadonlyArray<Uint8Array> => {
    const whole = Buffer.concat(frames.map((frame) => Buffer.from(frame)))
    const pieces: Array<Uint8Array> = []
    for (let at = 0; at < whole.length; ) {
      const length = 1 + dice.below(200)
      pieces.push(whole.subarray(at, at + length))
      at += length
    }
    return pieces
  }

/** A way to write a mark, and its meaning for the client. */
type Writing = (mark: string, value: string) => readonly [written: string, back: string]

const inner = (mark: string) => mark.slice(1, -1)
const html = (value: string) => value.replace(/[&<>"']/g, (each) => `&#${each.charCodeAt(0)};`)
const writings: ReadonlyArray<Writing> = [
  (mark, value) => [mark, value],
  (mark, value) => [mark, value],
  (mark, value) => [`${mark}${mark}<`, `${value}${value}<`],
  (mark, value) => [`<${mark}>`, `<${value}>`],
  (mark, value) => [`&lt;${inner(mark)}&gt;`, html(value)],
  (mark, value) => [`%3C${inner(mark)}%3E`, encodeURIComponent(value)],
  (mark, value) => [`%3c${inner(mark)}%3e`, encodeURIComponent(value)],
  (mark) => [mark.toLowerCase(), mark.toLowerCase()],
  (mark) => [mark.slice(0, -2), mark.slice(0, -2)],
  (mark) => [inner(mark), inner(mark)],
  () => ["<EMAIL_AAAAAAAA>", "<EMAIL_AAAAAAAA>"],
  () => ["a < b &lt; &amp; <EM", "a < b &lt; &amp; <EM"],
  () => ['<NAME_"x">\\', '<NAME_"x">\\'],
]

interface Said {
  readonly written: string
  readonly back: string
}

const marked = (dice: Dice, known: ReadonlyMap<string, string>): Said => {
  let written = ""
  let back = ""
  const pairs = [...known]
  const count = 1 + dice.below(4)
  for (let at = 0; at < count; at++) {
    const [mark, value] = dice.one(pairs, ["<X_AAAAA>", "<X_AAAAA>"])
    const write = dice.one(writings, (each, of) => [each, of])
    const [one, other] = write(mark, value)
    const between = dice.one([" ", ", ", ": ", " 🌊 ", "\n"], " ")
    written += between + one
    back += between + other
  }
  return { written, back }
}

const anyMark = /<(?:EMAIL|CARD|NAME)_[A-Z2-7]+>/g

const stringsOf = (value: unknown): ReadonlyArray<string> => {
  if (typeof value === "string") {
    const nested = /^\s*[{[]/.test(value) ? parseObject(value) : undefined
    return nested === undefined ? [value] : [value, ...stringsOf(nested)]
  }
  if (Array.isArray(value)) return value.flatMap(stringsOf)
  if (typeof value !== "object" || value === null) return []
  return Object.entries(value).flatMap(([name, each]) => [name, ...stringsOf(each)])
}

const tool = {
  name: "tool_0",
  schema: { type: "object", properties: { to: { type: "string" }, n: { type: "integer" } }, required: ["to"] },
}

const settings: Settings = {
  system: undefined,
  tools: [tool],
  choice: undefined,
  maxTokens: 8000,
  temperature: undefined,
  topP: undefined,
  stops: [],
  effort: undefined,
  output: undefined,
  isParallel: undefined,
}

export interface Fault {
  readonly client: ClientName
  readonly target: string
  readonly seed: number
  readonly turn: number
  readonly what: string
  readonly expected?: unknown
  readonly got?: unknown
}

interface Expected {
  readonly texts: string
  readonly args: ReadonlyArray<unknown>
}

const meaningOf = (blocks: ReadonlyArray<ReplyBlock>): Expected => ({
  texts: blocks.map((block) => (block.t === "text" ? block.v : "")).join(""),
  args: blocks.flatMap((block) => (block.t === "tool_call" ? [block.input] : [])),
})

export interface Counts {
  turns: number
  refused: number
}

/** @returns the first thing that must not be */
export const maskedThread = (client: ClientName, target: Target, seed: number, counts: Counts): Fault | undefined => {
  const dice = new Dice(seed)
  const { say, append, answer, body } = clients[client]
  const history: Array<object> = []
  let open: ReadonlyArray<{ readonly id: string; readonly name: string }> = []
  const said = new Set<string>()
  /** The values by their marks. */
  const known = new Map<string, string>()
  const system = dice.chance(0.3) ? `Help ${dice.value()}.` : undefined
  for (let turn = 0; turn < 3; turn++) {
    const fresh = [dice.value(), dice.value()]
    for (const value of fresh) said.add(value)
    const text = `Write to ${fresh.join(" and ")}, or ${fresh[0]}.`
    if (open.length > 0) {
      const result = dice.chance(0.5) ? text : JSON.stringify({ found: fresh, "o'k": { at: fresh[0] } })
      history.push(...answer(open.map((call) => ({ ...call, text: result, hasPicture: false, isError: false }))))
    }
    if (open.length === 0 || dice.chance(0.2)) history.push(...say(text, dice.chance(0.1)))
    if (system !== undefined) for (const value of values) if (system.includes(value)) said.add(value)
    let expected: Expected = { texts: "", args: [] }
    let fault: string | undefined
    const reply = (_: ReadonlyArray<string>, sent: JsonObject): TwinReply => {
      const strings = stringsOf(sent)
      for (const value of values) {
        const forms = [value, html(value), encodeURIComponent(value)]
        if (strings.some((each) => forms.some((form) => each.includes(form)))) fault = `the vendor got ${value}`
      }
      const marks = new Set(strings.flatMap((each) => each.match(anyMark) ?? []))
      learn(marks)
      const usable = new Map([...known].filter(([mark]) => marks.has(mark)))
      const blocks: Array<TwinBlock> = []
      const texts: Array<string> = []
      const args: Array<unknown> = []
      const calls = dice.chance(0.5) ? 1 + dice.below(2) : 0
      if (calls === 0 || dice.chance(0.5)) {
        const { written, back } = marked(dice, usable)
        blocks.push({ t: "text", pieces: cutText(dice, `So${written}.`) })
        texts.push(`So${back}.`)
      }
      for (let at = 0; at < calls; at++) {
        const one = marked(dice, usable)
        const other = marked(dice, usable)
        const pad = "p".repeat(dice.below(40))
        const to = dice.one(["to", "name", "id", "type", "data", "url", "status"], "to")
        const json = JSON.stringify({ pad, [to]: one.written, list: [{ deep: other.written }], n: 12 })
        const id = `${target.name === "mistral" ? "m" : "call_"}${String(turn * 10 + at).padStart(8, "0")}`
        blocks.push({ t: "call", id, name: tool.name, args: dice.chance(0.5) ? escaped(json) : json })
        args.push({ pad, [to]: one.back, list: [{ deep: other.back }], n: 12 })
      }
      expected = { texts: texts.join(""), args }
      return { blocks }
    }
    const learn = (marks: ReadonlySet<string>) => {
      for (const value of values) {
        if (!said.has(value)) continue
        const label = value.startsWith("«") ? "NAME" : value.startsWith("4") ? "CARD" : "EMAIL"
        const mark = new Marks(masking.key).of(label, value)
        if (marks.has(mark)) known.set(mark, value)
      }
    }
    const sent = body({ ...settings, system }, history)
    const cut = dice.chance(0.3) && target.name !== "bedrock" ? { cut: cutBytes(dice) } : {}
    const outcome = throughWeir({
      client,
      body: sent,
      target,
      model: target.models[0] ?? "",
      reply,
      masking,
      ...cut,
    })
    const broken = (what: string, got?: unknown): Fault => ({
      client,
      target: target.name,
      seed,
      turn,
      what,
      expected,
      got,
    })
    if (outcome.kind === "refused") {
      counts.refused++
      return undefined
    }
    if (outcome.kind === "broken") return broken("the twin refused", outcome.refusal)
    if (fault !== undefined) return broken(fault)
    counts.turns++
    const whole = meaningOf(
      client === "t1" ? blocksOf(outcome.whole) : fold(chatDialects[client].decodeBody(outcome.text)).blocks,
    )
    if (!isSame(whole, expected)) return broken("the whole reply differs", whole)
    const streamed = meaningOf(
      client === "t1" ? foldOwn(outcome.stream) : fold(decodeText(chatDialects[client], outcome.stream)).blocks,
    )
    if (!isSame(streamed, expected)) return broken("the stream differs", streamed)
    history.push(...append(outcome.whole))
    open = callsIn(client, outcome.whole)
  }
  return undefined
}

const isSame = (got: Expected, expected: Expected): boolean => JSON.stringify(got) === JSON.stringify(expected)

/** JSON as some writers have it, with no character of HTML. */
const escaped = (json: string): string => json.replace(/[<>&]/g, (each) => `\\u00${each.charCodeAt(0).toString(16)}`)

const blocksOf = (whole: JsonObject): ReadonlyArray<ReplyBlock> => decodeBlocks(whole["blocks"])
const decodeBlocks = Schema.decodeUnknownSync(Schema.Array(ReplyBlock))
const decodeDelta = Schema.decodeUnknownSync(Delta)

/** The blocks of a stream of twp/1. */
const foldOwn = (stream: string): ReadonlyArray<ReplyBlock> =>
  fold(
    parseEvents(stream).flatMap(({ event, data }) =>
      event === "t.delta" ? [{ kind: "delta" as const, delta: decodeDelta(data) }] : [],
    ),
  ).blocks
