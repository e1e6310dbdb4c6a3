/** Replies that go out after the books, and after the journal: the time of one call at a time, and the CPU of many. */
import { costs, nothing } from "./costs.ts"
import { drive, percentileOfRounds } from "./load.ts"
import type { Row, Scenario } from "./scenario.ts"

export const replyAfter: Scenario = async ({ floor, weir, another }, { rounds, scale }) => {
  const journaled = await another({ SVC_REPLY_AFTER: "journaled" })
  const pairs = [floor, weir, journaled].map((subject) => ({ subject, endpoint: subject.exchange("short") }))
  await drive(journaled.exchange("short"), { requests: 12_000 * scale, inFlight: 32 })
  const [, settledCost = nothing, journaledCost = nothing] = await costs(pairs, 2000 * scale, 32, rounds)
  const times = pairs.map((): Array<ReadonlyArray<number>> => [])
  for (let round = 0; round < rounds; round++) {
    for (const [at, { endpoint }] of pairs.entries()) {
      times[at]?.push((await drive(endpoint, { requests: 500 * scale, inFlight: 1 })).wholeMs)
    }
  }
  const [floorMs = 0, settledMs = 0, journaledMs = 0] = times.map((each) => percentileOfRounds(each, 0.5))
  const [, settledP99 = 0, journaledP99 = 0] = times.map((each) => percentileOfRounds(each, 0.99))
  const alone = (name: string, ms: number, p99: number, max: number): Row => ({
    what: `one JSON exchange at a time, ${name}, p50 above the floor's`,
    unit: "ms",
    weir: ms - floorMs,
    note: `the floor's: ${floorMs.toFixed(2)} ms; p99 of all: ${p99.toFixed(1)} ms`,
    budget: { of: "value", max },
  })
  return [
    alone("settled", settledMs, settledP99, 1),
    alone("journaled", journaledMs, journaledP99, 0.5),
    {
      what: "CPU per JSON exchange, journaled; floor: settled",
      unit: "µs",
      floor: settledCost.us,
      weir: journaledCost.us,
      spread: journaledCost.spread,
      note: `${journaledCost.perSecond.toFixed(0)} exchanges/s; settled ${settledCost.perSecond.toFixed(0)}/s`,
    },
  ]
}
