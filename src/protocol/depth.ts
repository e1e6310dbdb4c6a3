/** How deep a JSON value is nested: what recurses over a value must know that it ends. */

/** Whether a value has more than `depth` levels of objects and lists. Looks no further than it must. */
export const isDeeperThan = (value: unknown, depth: number): boolean =>
  typeof value === "object" &&
  value !== null &&
  (depth === 0 || Object.values(value).some((field) => isDeeperThan(field, depth - 1)))
