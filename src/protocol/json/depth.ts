/** Limits the nesting of JSON values, so that recursion over them is bounded. */
import { isRecord } from "./plain-check.ts"

/** Whether a value has more than `depth` levels of objects and arrays. Stops at the first that has, and makes no lists of fields. */
export const isDeeperThan = (value: unknown, depth: number): boolean => {
  if (Array.isArray(value)) return depth === 0 || value.some((item) => isDeeperThan(item, depth - 1))
  if (!isRecord(value)) return false
  if (depth === 0) return true
  for (const name in value) if (isDeeperThan(value[name], depth - 1)) return true
  return false
}
