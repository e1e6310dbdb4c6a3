/** Streams of one caller at a time. */
import { expect, it } from "vitest"
import { OpenStreams } from "../../../src/http/mcp/open-streams.ts"

it("are limited for each caller, and forgotten when they end", () => {
  const streams = new OpenStreams(2)
  const ends = [streams.begin("ada"), streams.begin("ada"), streams.begin("bob")]
  expect(ends.every((end) => end !== undefined)).toBe(true)
  expect(streams.begin("ada")).toBeUndefined()
  ends[0]?.()
  ends.push(streams.begin("ada"))
  expect(ends.at(-1)).toBeDefined()
  for (const end of ends.slice(1)) end?.()
  expect(streams.callers).toBe(0)
})
