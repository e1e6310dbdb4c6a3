/** Whether books that close months and remove data stay as large as they are. Pure. */

/** Rows of tables, or entries of what is in memory, by name. */
export type Sizes = Readonly<Record<string, number>>

/** The first months fill what is kept. */
const warmUp = 0.3
/** Months differ. */
const slack = 1.5

/** @param sizes one after the other, over a year */
export const sizesProblem = (sizes: ReadonlyArray<Sizes>): string | undefined => {
  // A history of a few steps, which is being made smaller.
  if (sizes.length < 12) return undefined
  const middle = sizes.slice(Math.ceil(sizes.length * warmUp), Math.ceil(sizes.length / 2))
  const end = sizes.slice(Math.ceil(sizes.length / 2))
  for (const name of Object.keys(sizes.at(-1) ?? {})) {
    const most = (of: ReadonlyArray<Sizes>) => Math.max(...of.map((each) => each[name] ?? 0))
    if (most(end) > slack * most(middle) + 50) return `${name}: ${most(middle)} grew to ${most(end)}`
  }
  return undefined
}
