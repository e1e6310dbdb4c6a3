/**
 * `npm run simulate -- SEED [--exchanges N] [--seeds N] [--postgres] [--year]`: nodes, books in memory and clients in one
 * process on virtual time, with crashes, lost and late replies, an emptied registry, jumping clocks, scarce balances and
 * changing limits; beside them four nodes that lease rates, and nodes with responses in the background. A seed repeats its run exactly; a failure prints the smallest
 * history that leads to it. With `--postgres`, the embedded database is asked the same, and must answer the same. With
 * `--year`, so many exchanges a month for a year, in whose months those before are closed, and expired data is removed:
 * tables and memory must stay as large as they are.
 */
import { parseArgs } from "node:util"
import { Effect, Exit, Scope } from "effect"
import { simulateBackground } from "./background.ts"
import { type History, makeHistory, makeYear, shrink } from "./history.ts"
import { makeMirror } from "./mirror.ts"
import { rateProblem } from "./rates.ts"
import { simulate, textOf } from "./world.ts"

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    exchanges: { type: "string", default: "80" },
    seeds: { type: "string", default: "1" },
    postgres: { type: "boolean", default: false },
    year: { type: "boolean", default: false },
  },
})
const first = Number(positionals[0] ?? Date.now() % 1_000_000)
const exchanges = Number(values.exchanges)

/** A database that has closed months begins no year again. */
const startMirror = async () => {
  const scope = Scope.makeUnsafe()
  return { scope, mirror: await Effect.runPromise(Scope.provide(makeMirror, scope)) }
}
const shared = values.postgres && !values.year ? await startMirror() : undefined

const problemOf = async (history: History, seed: number): Promise<string | undefined> => {
  if (!values.postgres) return simulate(history, seed).catch(textOf)
  const { mirror, scope } = shared ?? (await startMirror())
  await Effect.runPromise(mirror.reset)
  const problem = await simulate(history, seed, { mirror }).catch(textOf)
  if (shared === undefined) await Effect.runPromise(Scope.close(scope, Exit.void))
  return problem
}

const startedAt = performance.now()
for (let seed = first; seed < first + Number(values.seeds); seed++) {
  const history = (values.year ? makeYear : makeHistory)(seed, exchanges)
  const besides = rateProblem(seed) ?? (await simulateBackground(seed, exchanges))
  if (besides !== undefined) {
    console.error(`seed ${seed}: ${besides}`)
    process.exit(1)
  }
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
console.log(
  `${values.seeds} runs of ${exchanges} exchanges${values.year ? " a month" : ""} from seed ${first}: sound, ${seconds} s`,
)
if (shared !== undefined) await Effect.runPromise(Scope.close(shared.scope, Exit.void))
process.exit(0)
