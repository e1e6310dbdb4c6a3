/**
 * `npm run conversations -- [COUNT] [SEED]`: random conversations of each client API with each vendor's twin. Prints how many
 * were answered, what Weir refused by name, and what must not be, with the seed that repeats it.
 */
import { clientNames, converse, newTally, targets } from "../test/unit/testing/twins/random-conversations.ts"

const [count = 50, first = 1] = process.argv.slice(2).map(Number)
if (!Number.isSafeInteger(count) || !Number.isSafeInteger(first)) {
  throw new Error(
    "COUNT is the number of conversations of each pair (50 if absent), SEED the first one's number (1 if absent)",
  )
}
let broken = 0
for (const client of clientNames) {
  for (const target of targets) {
    const tally = newTally()
    const kinds = new Map<string, number>()
    for (let seed = first; seed < first + count; seed++) {
      const found = converse(client, target, seed, tally)
      if (found === undefined) continue
      broken++
      const kind = `${found.target}: ${found.what.slice(0, 160)}`
      if (!kinds.has(kind)) console.log(`  seed ${seed}, turn ${found.turn}, ${kind}`)
      kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
    }
    const refused = [...tally.refused.values()].reduce((sum, each) => sum + each, 0)
    console.log(
      `${client} with ${target.name}: ${tally.answered} answered, ${refused} refused by name, ${tally.own} refused by their own API, ${[...kinds.values()].reduce((sum, each) => sum + each, 0)} broken`,
    )
    const most = [...tally.refused].sort(([, a], [, b]) => b - a).slice(0, 3)
    for (const [why, times] of most) console.log(`  ${times} times: ${why.slice(0, 120)}`)
  }
}
process.exitCode = broken === 0 ? 0 : 1
