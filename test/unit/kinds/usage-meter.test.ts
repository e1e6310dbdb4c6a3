/** The contents of a reply while it comes: its output in bytes, and its blocks. */
import { describe, expect, it } from "vitest"
import { UsageMeter } from "../../../src/kinds/chat/usage-meter.ts"

const toolCall = (name: string, args: string) =>
  ({ kind: "delta", delta: { i: 0, t: "tool_call", id: "call_1", name, args } }) as const
const inputOf = (args: string) => {
  const meter = new UsageMeter({ keepsBlocks: true })
  meter.add(toolCall("now", args))
  const [block] = meter.blocks()
  return block?.t === "tool_call" ? block.input : undefined
}

describe("a reply", () => {
  it.each([true, false])("of a tool's name alone is a reply, and its bytes are output (%s)", (keepsBlocks) => {
    const meter = new UsageMeter({ keepsBlocks })
    expect([meter.contentSeen, meter.outputBytes]).toEqual([false, 0])
    meter.add(toolCall("now", ""))
    expect([meter.contentSeen, meter.textSeen, meter.outputBytes]).toEqual([true, false, 3])
    meter.add(toolCall("", '{"zone":"é"}'))
    expect(meter.outputBytes).toBe(3 + 13)
  })

  it("of a stream is counted whole, and its first 64 KiB are kept as they came", () => {
    const meter = new UsageMeter({ keepsBlocks: false })
    const words = Array.from({ length: 10_000 }, (_, at) => `größer${at} `)
    for (const v of words) meter.add({ kind: "delta", delta: { i: 0, t: "text", v } })
    const kept = meter.keptText()
    const text = words.join("")
    expect(meter.outputBytes).toBe(Buffer.byteLength(text))
    expect(text.startsWith(kept)).toBe(true)
    expect(Buffer.byteLength(kept)).toBeGreaterThan(63 * 1024)
    expect(Buffer.byteLength(kept)).toBeLessThanOrEqual(64 * 1024)
  })

  it("has the input of a tool as it is, and as text if it is no object or too deep to be sent back", () => {
    const deep = (depth: number) => `{"a":${"[".repeat(depth)}${"]".repeat(depth)}}`
    expect(inputOf("")).toEqual({})
    expect(inputOf('{"zone":"utc"}')).toEqual({ zone: "utc" })
    for (const args of ["[1]", "null", '"text"', '{"half":', deep(60), deep(20_000)]) {
      expect(inputOf(args)).toEqual({ $raw: args })
    }
    expect(inputOf(deep(10))).toEqual(JSON.parse(deep(10)))
  })
})
