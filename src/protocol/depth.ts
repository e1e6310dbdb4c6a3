/** Limits the nesting of JSON values, so that recursion over them is bounded. */

/** Whether a value has more than `depth` levels of objects and arrays. Stops at the first that has. */
export const isDeeperThan = (value: unknown, depth: number): boolean =>
  typeof value === "object" &&
  value !== null &&
  (depth === 0 || Object.values(value).some((field) => isDeeperThan(field, depth - 1)))
