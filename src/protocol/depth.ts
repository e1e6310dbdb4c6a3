/** Limits the nesting of JSON values, so that recursion over them is bounded. */

/** Whether a value has more than `depth` levels of objects and arrays. Stops at the first that has, and makes no lists of fields. */
export const isDeeperThan = (value: unknown, depth: number): boolean => {
  if (Array.isArray(value)) {
    if (depth === 0) return true
    for (const item of value) if (isDeeperThan(item, depth - 1)) return true
    return false
  }
  if (!isObject(value)) return false
  if (depth === 0) return true
  for (const name in value) if (isDeeperThan(value[name], depth - 1)) return true
  return false
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null
