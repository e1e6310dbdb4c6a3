/** Calls of functions that replace tools of texts, while they arrive. */
import { describe, expect, it } from "vitest"
import type { VendorEvent } from "../../../src/dialects/chat-dialect.ts"
import { ArgumentText } from "../../../src/kinds/chat/argument-text.ts"
import { TextCalls } from "../../../src/kinds/chat/text-calls.ts"
import { UsageMeter } from "../../../src/kinds/chat/usage-meter.ts"

const delta = (more: object, reply?: number): VendorEvent => ({
  kind: "delta",
  delta: { i: 0, t: "tool_call", ...(reply !== undefined && { reply }), ...more },
})

describe("the text in arguments", () => {
  const texts = ["", "a\nb", '"quoted" \\ \\n', "🌊é\u2028\u0000", '*** Begin Patch\n+"2"\n*** End Patch']
  const spellings = [
    (text: string) => JSON.stringify({ input: text }),
    (text: string) => ` {\n "input" :\t${JSON.stringify(text)} } `,
    (text: string) => JSON.stringify({ other: 1, input: text }),
    (text: string) =>
      `{"\\u0069nput":"${[...text]
        .flatMap((each) => each.split(""))
        .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
        .join("")}"}`,
  ]

  it.each(texts)("is the same, wherever its pieces are cut: %j", (text) => {
    for (const spelling of spellings) {
      const args = spelling(text)
      for (let cut = 0; cut <= args.length; cut++) {
        const read = new ArgumentText()
        expect(read.push(args.slice(0, cut)) + read.push(args.slice(cut)) + read.end()).toBe(text)
      }
      const read = new ArgumentText()
      expect([...args].map((unit) => read.push(unit)).join("") + read.end()).toBe(text)
    }
  })

  it("is what came, where the model ended before", () => {
    const read = new ArgumentText()
    expect(read.push('{"input":"a\\nb\\') + read.end()).toBe("a\nb")
  })

  it("is all of the arguments, where they have another form", () => {
    for (const args of ["plain", "{}", '{"input":{"a":1}}', "x".repeat(100)]) {
      const read = new ArgumentText()
      expect(read.push(args) + read.end()).toBe(args)
    }
  })
})

describe("calls", () => {
  const stop = (reply: number): VendorEvent => ({ kind: "stop", stop: "tool_call", reply })

  it("of several replies come at once", () => {
    const calls = new TextCalls(["patch"])
    const sent = [
      delta({ id: "a", name: "patch" }),
      delta({ id: "b", name: "patch" }, 1),
      delta({ args: '{"input":"a' }),
      delta({ args: '{"input":"x' }, 1),
      delta({ args: 'b"}' }),
      stop(0),
      delta({ args: 'y"}' }, 1),
      stop(1),
    ]
    const meter = new UsageMeter({ keepsBlocks: true })
    for (const event of sent) for (const told of calls.translated([event])) meter.add(told)
    expect([meter.blocks(), meter.blocks(1)]).toMatchObject([[{ id: "a", text: "ab" }], [{ id: "b", text: "xy" }]])
  })

  it("are told, and so counted, as they come: their vendor bills them if their client goes before they end", () => {
    const calls = new TextCalls(["patch"])
    const meter = new UsageMeter({ keepsBlocks: false })
    const sent = [delta({ id: "a", name: "patch" }), delta({ args: `{"input":"${"x".repeat(10_000)}` })]
    for (const event of sent) for (const told of calls.translated([event])) meter.add(told)
    expect(meter.outputBytes).toBeGreaterThan(10_000)
  })
})
