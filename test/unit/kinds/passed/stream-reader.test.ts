/** Reads replies that are sent on as they arrive. */
import { expect, it } from "vitest"
import { StreamReader } from "../../../../src/kinds/passed/stream-reader.ts"

it("reads a long line that comes byte by byte", () => {
  const values: Array<unknown> = []
  let sent = 0
  const reader = new StreamReader(
    {
      value: (json) => values.push(json),
      written: () => undefined,
      count: () => undefined,
      send: (bytes) => {
        sent += bytes.length
      },
    },
    "lines",
  )
  const read = (text: string) => {
    reader.read(Buffer.from(text))
    expect(reader.deliver(false, false)).toBe("more")
  }
  read(`{"n":1}\n${" ".repeat(4_000_000)}`)
  for (const byte of `${" ".repeat(20_000)}{"n":2}`) read(byte)
  read('\n{"n":3}')
  reader.readEnd()
  expect(values).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }])
  expect(sent).toBe(4_020_023)
})
