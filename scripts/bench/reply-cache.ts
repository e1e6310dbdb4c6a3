/** A reply from the cache, beside the replay of a finished exchange, and what a look that finds nothing costs. */
import { randomUUID } from "node:crypto"
import { costs, nothing, ratioByRound } from "./costs.ts"
import { drive, type Endpoint, percentile } from "./load.ts"
import type { Scenario } from "./scenario.ts"

const thread = (text: string) => [{ role: "user", blocks: [{ t: "text", v: text }] }]

export const replyCache: Scenario = async ({ weir }, { rounds, scale }) => {
  const ask = (model: string, text: string, more: object = {}): Endpoint =>
    weir.call("/t1/exchange", { model, thread: thread(text), ...more })
  const hit = ask("kept", "Hello, river")
  const replay = ask("short", "Hello, river", { meta: { requestId: randomUUID() } })
  const call = ask("short", "Hello, river")
  const missed = (): Endpoint => ask("kept", randomUUID())
  const streamed = ask("kept-200", "Hello, river", { stream: true })
  for (const once of [hit, replay, streamed]) await drive(once, { requests: 1, inFlight: 1 })
  for (const warm of [hit, replay]) await drive(warm, { requests: 4000 * scale, inFlight: 32 })

  const pair = [hit, replay, call].map((endpoint) => ({ subject: weir, endpoint }))
  const [found = nothing, replayed = nothing, made = nothing] = await costs(pair, 1000 * scale, 32, 8 * rounds)
  const ratio = ratioByRound(found, replayed)
  const misses = [missed, () => call].map((endpoint) => ({ subject: weir, endpoint }))
  const [missing = nothing, without = nothing] = await costs(misses, 500 * scale, 32, 4 * rounds)
  const [stream = nothing] = await costs([{ subject: weir, endpoint: streamed }], 200 * scale, 16, rounds)
  const one = await drive(hit, { requests: 500 * scale, inFlight: 1 })
  return [
    {
      what: "CPU per reply from the cache",
      unit: "µs",
      floor: replayed.us,
      weir: replayed.us * ratio,
      spread: found.spread,
      note: `floor: a replay; an exchange without the cache ${made.us.toFixed(0)} µs`,
      budget: { of: "ratio", max: 1.2 },
    },
    {
      what: "CPU per exchange that is looked for in vain, and kept",
      unit: "µs",
      floor: without.us,
      weir: missing.us,
      spread: missing.spread,
      note: "floor: the same without the cache",
    },
    { what: "CPU per stream of 200 frames from the cache", unit: "µs", weir: stream.us, spread: stream.spread },
    {
      what: "one reply from the cache at a time, p50",
      unit: "ms",
      weir: percentile(one.wholeMs, 0.5),
      budget: { of: "value", max: 1 },
    },
  ]
}
