/** Long replies: how long the event loop is blocked for the vectors of many texts, and what they cost. */
import { cpuSeconds, drive, median } from "./load.ts"
import { startMeasured } from "./preloaded.ts"
import type { Row, Scenario } from "./scenario.ts"

export const longReplies: Scenario = async (subjects, { rounds }) => {
  const { weir: watched, read, remove } = await startMeasured(subjects, "longest-turn")
  const rows: Array<Row> = []
  for (const count of [512, 2048]) {
    for (const [encoding, what] of [
      ["float", "numbers"],
      ["base64", "base64"],
    ] as const) {
      const input = Array.from({ length: count }, (_, at) => `text ${at}`)
      const call = watched.call("/openai/v1/embeddings", { model: "embed", input, encoding_format: encoding })
      await drive(call, { requests: 6, inFlight: 2 })
      const turns: Array<number> = []
      const costs: Array<number> = []
      for (let round = 0; round < rounds; round++) {
        await read()
        const before = cpuSeconds(watched.pid)
        await drive(call, { requests: 10, inFlight: 2 })
        costs.push((cpuSeconds(watched.pid) - before) * 100)
        turns.push(await read())
      }
      const reply = `${count} vectors of 1,536 ${what}`
      rows.push({
        what: `longest standstill of the event loop, replies of ${reply}, two at once, in CPU time`,
        unit: "ms",
        weir: median(turns),
        budget: { of: "value", max: 20 },
      })
      rows.push({ what: `CPU per reply of ${reply}`, unit: "ms", weir: median(costs) })
    }
  }
  remove()
  return rows
}
