/** Long texts in the pieces that engines get. */
import { describe, expect, it } from "vitest"
import { piecesOf } from "../../../../src/policies/engines/pieces.ts"

describe.each([8000, 10_000, 32 * 1024])("pieces of %d characters", (longest) => {
  it("share a text that may be denied, wherever it is", () => {
    const denied = "what nobody may say"
    for (let before = longest - denied.length; before <= longest; before++) {
      const pieces = piecesOf(`${"x".repeat(before)}${denied}${"y".repeat(40_000)}`, longest)
      expect(pieces.some(({ text }) => text.includes(denied))).toBe(true)
    }
  })

  it.each(["", "x"])("cut no character after %j", (shift) => {
    const text = shift + Array.from({ length: 20_000 }, (_, at) => `🌊${at}`).join("")
    let end = 0
    for (const piece of piecesOf(text, longest)) {
      const { at } = piece
      expect(text.slice(at, at + piece.text.length)).toBe(piece.text)
      const isNext = end === 0 ? at === 0 : at <= end - 1024 && at + piece.text.length > end
      expect([isNext, piece.text.isWellFormed(), piece.text.length <= longest]).toEqual([true, true, true])
      end = at + piece.text.length
    }
    expect(end).toBe(text.length)
  })

  it("are one for a short text, and none for an empty one", () => {
    expect(piecesOf("short", longest)).toEqual([{ at: 0, text: "short" }])
    expect(piecesOf("", longest)).toEqual([])
  })
})
