/**
 * `npm run simulate -- SEED [--exchanges N] [--seeds N] [--postgres]`: nodes, books in memory and clients in one process on virtual
 * time, with crashes, lost and late replies, an emptied registry, jumping clocks, scarce balances and changing limits. A
 * seed repeats its run exactly; a failure prints the smallest history that leads to it. With `--postgres`, the embedded
 * database is asked the same, and must answer the same.
 */
import { parseArgs } from "node:util"
import { Effect, Exit, Scope } from "effect"
import { type History, makeHistory, shrink } from "./history.ts"
import { makeMirror } from "./mirror.ts"
import { simulate, textOf } from "./world.ts"

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    exchanges: { type: "string", default: "80" },
    seeds: { type: "string", default: "1" },
    postgres: { type: "boolean", default: false },
  },
})
const first = Number(positionals[0] ?? Date.now() % 1_000_000)
const exchanges = Number(values.exchanges)

const scope = Scope.makeUnsafe()
const mirror = values.postgres ? await Effect.runPromise(Scope.provide(makeMirror, scope)) : undefined

const problemOf = async (history: History, seed: number): Promise<string | undefined> => {
  if (mirror === undefined) return simulate(history, seed).catch(textOf)
  await Effect.runPromise(mirror.reset)
  return simulate(history, seed, { mirror }).catch(textOf)
}

const startedAt = performance.now()
for (let seed = first; seed < first + Number(values.seeds); seed++) {
  const history = makeHistory(seed, exchanges)
  const problem = await problemOf(history, seed)
  if (problem === undefined) continue
  console.error(`seed ${seed}: ${problem}`)
  const smallest = await shrink(history, async (candidate) => (await problemOf(candidate, seed)) !== undefined)
  console.error(`the smallest history, of ${history.nodes} nodes and ${history.orgs} organisations:`)
  for (const step of smallest.steps) console.error(JSON.stringify(step))
  console.error(await problemOf(smallest, seed))
  process.exit(1)
}
const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
console.log(`${values.seeds} runs of ${exchanges} exchanges from seed ${first}: sound, ${seconds} s`)
await Effect.runPromise(Scope.close(scope, Exit.void))
process.exit(0)
