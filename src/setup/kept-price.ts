/** The parts that a new price keeps of the one in force: everything that its file does not state. */

import type { PriceAbove, PriceEntry } from "../protocol/catalogue/price.ts"
import type { ModelKind } from "../protocol/kinds/call-kind.ts"

export interface Kept {
  readonly entry: PriceEntry
  /** Names of the parts that were kept, e.g. `tiers.batch`. */
  readonly names: ReadonlyArray<string>
}

type Stated = Omit<PriceAbove, "tokens">

export const keepUnsaid = (entry: PriceEntry, before: PriceEntry, kind: ModelKind): Kept => {
  const steps = entry.above?.map((step) => {
    const own = before.above?.find(({ tokens }) => tokens === step.tokens)
    return own === undefined ? step : { ...step, ...unsaid(step, own, kind) }
  })
  const above = steps ?? before.above
  const cachedReply = entry.cachedReply ?? before.cachedReply
  const batch = entry.batch ?? before.batch
  const whole: PriceEntry = {
    ...entry,
    ...unsaid(entry, before, kind),
    ...(above !== undefined && { above }),
    ...(cachedReply !== undefined && { cachedReply }),
    ...(batch !== undefined && { batch }),
  }
  const said = namesOf(entry)
  return { entry: whole, names: [...namesOf(whole)].filter((name) => !said.has(name)) }
}

const optional = ["cacheRead", "cacheWrite", "cacheWrite1h"] as const

/**
 * The parts that the prices of tokens keep. Other kinds than chat are billed by one unit, or by tokens: there only the sizes of a unit
 * that the file states are kept.
 */
const unsaid = (stated: Stated, before: Stated, kind: ModelKind): Stated => {
  const isChat = kind === "chat"
  const units = new Set(Object.keys(stated.dims ?? {}))
  const dims = Object.entries(before.dims ?? {}).filter(([name]) => isChat || units.has(name.split(":")[0] ?? name))
  const tokens = optional.flatMap((name) => {
    const amount = stated[name] ?? (isChat ? before[name] : undefined)
    return amount === undefined ? [] : [[name, amount] as const]
  })
  return {
    ...Object.fromEntries(tokens),
    ...((dims.length > 0 || stated.dims !== undefined) && { dims: { ...Object.fromEntries(dims), ...stated.dims } }),
    ...((before.tiers ?? stated.tiers) && { tiers: { ...before.tiers, ...stated.tiers } }),
  }
}

/** The parts of a price, by their paths. */
const namesOf = (price: object, path = ""): ReadonlySet<string> =>
  new Set(
    Object.entries(price).flatMap(([name, value]: [string, unknown]) =>
      typeof value === "object" && value !== null && !Array.isArray(value)
        ? [...namesOf(value, `${path}${name}.`)]
        : [`${path}${name}`],
    ),
  )
