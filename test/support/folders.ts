/** The folders of tests, by what their tests need. `vitest.config.ts` runs them, `test/architecture` holds that none is missing. */

/** On the stores of a run: embedded and in memory, or the servers that the environment names. */
const onStores = ["contract", "faults", "integration"]

/** On the stores too, and on Citus: the books. */
const onCitus = ["books", "contract/books"]

/** On no store, or on one of their own (`process`): a run on servers would repeat them. */
const onNone = ["architecture", "process", "simulator", "unit"]

/** On recorded vendor traffic, which a clone does not have. */
const onRecordings = ["corpus"]

/** The folders that `npm test` does not run: tests in Chromium, which have a configuration of their own, and helpers. */
export const notRun = ["browser", "support"]

const testsOf = (folders: ReadonlyArray<string>): Array<string> =>
  folders.map((folder) => `test/${folder}/**/*.test.ts`)

export type Run = "embedded" | "servers" | "citus"

/** Patterns of the tests of a run. */
export const testsOfRun = (run: Run, hasRecordings: boolean): Array<string> => {
  if (run === "citus") return testsOf(onCitus)
  const stored = [...onStores, ...onCitus]
  if (run === "servers") return testsOf(stored)
  return testsOf([...stored, ...onNone, ...(hasRecordings ? onRecordings : [])])
}
