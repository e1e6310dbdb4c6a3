/** Several workers of one gateway on all cores, against one: with the load and the vendor on the same cores. */
import { cpus } from "node:os"
import { drive, median } from "./load.ts"
import type { Row, Scenario } from "./scenario.ts"

export const workers: Scenario = async ({ another }, { rounds, scale }) => {
  const counts = [1, 2, 4]
  const rates = counts.map((): Array<number> => [])
  const gateways = []
  for (const count of counts) gateways.push(await another({ SVC_WORKERS: String(count) }, { onAllCores: true }))
  for (const gateway of gateways) await drive(gateway.exchange("short"), { requests: 12_000 * scale, inFlight: 64 })
  for (let round = 0; round < rounds; round++) {
    for (const [at, gateway] of gateways.entries()) {
      const requests = 4000 * scale
      rates[at]?.push(requests / (await drive(gateway.exchange("short"), { requests, inFlight: 64 })).seconds)
    }
  }
  const [one = 0, ...more] = rates.map(median)
  return more.map(
    (rate, at): Row => ({
      what: `JSON exchanges a second with ${counts[at + 1]} workers; floor: one`,
      unit: "/s",
      floor: one,
      weir: rate,
      note: `${cpus().length} cores, which the load, the vendor and the stores share`,
    }),
  )
}
