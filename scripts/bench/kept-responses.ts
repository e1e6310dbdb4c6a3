/** Responses that are kept: the cost of keeping one, and of continuing a thread of many. */
import { Schema } from "effect"
import { costs, nothing, ratioByRound } from "./costs.ts"
import { median } from "./load.ts"
import type { Row, Scenario } from "./scenario.ts"
import { keeping, type Weir } from "./subjects.ts"

const decodeId = Schema.decodeUnknownSync(Schema.Struct({ id: Schema.String }))

const question = "A sentence of the question, which is one of many. ".repeat(80)

const asked = (weir: Weir, more: object) => ({
  ...weir.call("/openai/v1/responses", { model: "short", ...more }),
  headers: keeping,
})

/** Milliseconds of a request, the median of some. */
const msOf = async (ask: () => Promise<unknown>, times: number): Promise<number> => {
  const each: Array<number> = []
  for (let turn = 0; turn < times; turn++) {
    const startedAt = performance.now()
    await ask()
    each.push(performance.now() - startedAt)
  }
  return median(each)
}

export const keptResponses: Scenario = async ({ weir }, { rounds, scale }) => {
  const pair = [false, true].map((store) => ({ subject: weir, endpoint: asked(weir, { input: question, store }) }))
  const [plain = nothing, kept = nothing] = await costs(pair, 1000 * scale, 32, 8 * rounds)
  const ratio = ratioByRound(kept, plain)
  const { origin } = weir.call("/openai/v1/responses", {})
  const send = async (body: object): Promise<string> => {
    const reply = await fetch(`${origin}/openai/v1/responses`, {
      method: "POST",
      headers: { ...keeping, "content-type": "application/json" },
      body: JSON.stringify({ model: "short", ...body }),
    })
    if (reply.status !== 200) throw new Error(`A response was refused with ${reply.status}`)
    return decodeId(await reply.json()).id
  }
  const turns = Math.max(20, Math.round(500 * scale))
  const turn = "One turn of a thread, with as much as people write. "
  let last = await send({ input: turn })
  for (let at = 1; at < turns; at++) last = await send({ input: turn, previous_response_id: last })
  const thread = Array.from({ length: turns }, () => [
    { role: "user", content: turn },
    { role: "assistant", content: "Hello there, this is an answer of a few words." },
  ]).flat()
  const whole = await msOf(() => send({ input: [...thread, { role: "user", content: turn }], store: false }), 21)
  const continued = await msOf(() => send({ input: turn, previous_response_id: last }), 21)
  return [
    {
      what: "CPU per response of 4 KB that is kept",
      unit: "µs",
      floor: plain.us,
      weir: plain.us * ratio,
      spread: kept.spread,
      note: "floor: with store: false",
      budget: { of: "ratio", max: 1.25 },
    },
    {
      what: `continuing a thread of ${turns} turns`,
      unit: "ms",
      floor: whole,
      weir: continued,
      note: "floor: its client sends the whole thread",
    },
  ] satisfies ReadonlyArray<Row>
}
