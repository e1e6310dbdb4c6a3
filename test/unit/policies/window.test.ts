import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { compilePattern, rangesOf, takesRune } from "../../../src/policies/pattern/program.ts"
import { keywordPattern, type Rule, ruleSet } from "../../../src/policies/text/rules.ts"
import { foldText } from "../../../src/policies/text/spelling.ts"
import { type Found, TextWindow } from "../../../src/policies/text/window.ts"
import { randomOf } from "../../support/random.ts"

const written = (source: string): Rule => ({
  spelling: "written",
  label: "X",
  pattern: Result.getOrThrow(compilePattern(source)),
})
const folded = (word: string): Rule => ({
  spelling: "folded",
  label: "X",
  pattern: Result.getOrThrow(keywordPattern([word])),
})

const foundIn = (rules: ReadonlyArray<Rule>, pieces: ReadonlyArray<string>, isJson = false) => {
  const window = new TextWindow(ruleSet(rules), isJson)
  const found: Array<Found> = []
  let clearTo = 0
  for (const piece of pieces) {
    window.push(piece)
    expect(window.clearTo).toBeGreaterThanOrEqual(clearTo)
    clearTo = window.clearTo
    for (const each of window.found) found.push(each)
  }
  window.end()
  return [...found, ...window.found]
}

/** The text in pieces that end at some offsets. */
const cut = (text: string, at: ReadonlyArray<number>) => {
  const places = [0, ...[...at].sort((a, b) => a - b), text.length]
  return places.slice(1).map((place, index) => text.slice(places[index], place))
}

const random = randomOf(67)
const below = (limit: number) => Math.floor(random() * limit)
const someOf = <A>(all: ReadonlyArray<A>, most: number): ReadonlyArray<A> =>
  Array.from({ length: below(most + 1) }, () => all[below(all.length)]).flatMap((each) => each ?? [])

/** Random texts of some characters, each with random cuts, and cut at each character. */
const inAllCuts = (units: ReadonlyArray<string>, check: (text: string, pieces: ReadonlyArray<string>) => void) => {
  for (let run = 0; run < 3000; run++) {
    const text = someOf(units, 40).join("")
    check(
      text,
      cut(
        text,
        Array.from({ length: below(20) }, () => below(text.length + 1)),
      ),
    )
    if (run % 10 === 0) check(text, text.split(""))
  }
}

const patterns = [
  ...["a", "ab|abcde", "a+b", "\\bab\\b", "b$", "^a", "(?m)^b", "a.{0,3}c", "[a-c]{2,4}", "a*?b", "a[^c]*c"],
  ...["é|😀a", "(?i)AB", "(?s)a.*e", "\\Bb"],
].map(written)

describe("a window over a text", () => {
  it("finds the same in all cuts of a text, and what RE2 finds in the whole", () => {
    inAllCuts(["a", "b", "c", " ", "\n", "d", "e", "A", "é", "😀"], (text, pieces) => {
      const rules = [...new Set([patterns[0] ?? written("a"), ...someOf(patterns, 5)])]
      const found = foundIn(rules, pieces)
      rules.forEach(({ pattern }, rule) => {
        const matcher = pattern.regex.matcher(text)
        const own: Array<object> = []
        while (matcher.find()) own.push({ rule, start: matcher.start(), end: matcher.end(), text: matcher.group() })
        expect(found.filter((each) => each.rule === rule)).toEqual(own)
      })
    })
  })

  it("finds folded keywords in all cuts of a text", () => {
    const words = ["éc", "ca", "fi", "σς", "ガ", "가"]
    const rules = words.map(folded)
    const units = [
      "e",
      "\u0301",
      "\u0327",
      "c",
      "C",
      "ç",
      "É",
      "\u200b",
      "\u00ad",
      "ﬁ",
      "ς",
      "Σ",
      "ß",
      "Ａ",
      "a",
      "ｶ",
      "ﾞ",
      "ᄀ",
      "ᅡ",
      " ",
    ]
    inAllCuts(units, (text, pieces) => {
      const found = foundIn(rules, pieces)
      expect(found).toEqual(foundIn(rules, [text]))
      const foldedText = foldText(text)
      const isIn = words.map((word) => foldedText.includes(foldText(word)))
      expect(words.map((_, rule) => found.some((each) => each.rule === rule))).toEqual(isIn)
    })
  })

  it("finds words behind the escapes of JSON in all cuts", () => {
    const rules = [written("ab"), folded("AB"), written("a\n"), written("😀b"), written("😀b")]
    inAllCuts(["a", "b", "😀", "\\", "u", "0", "6", "1", '"', "n"], (text, pieces) => {
      expect(foundIn(rules, pieces, true)).toEqual(foundIn(rules, [text], true))
    })
    expect(foundIn([written("ab")], ['{"x":"\\u0061b"}'], true)).toMatchObject([{ start: 6, end: 13 }])
  })

  it("lets clear text go at once, and holds no more than the longest match", () => {
    const window = new TextWindow(ruleSet([folded("classified"), written("[0-9]{3}-[0-9]{4}")]))
    const clearAfter = (piece: string) => {
      window.push(piece)
      return window.clearTo
    }
    expect(clearAfter("hello worl")).toBe(10)
    expect(clearAfter("d class")).toBe(12)
    expect(clearAfter("es 123-")).toBe(20)
    expect(clearAfter("45")).toBe(20)
    expect(clearAfter("x")).toBe(27)
  })
})

describe("a pattern that folds the case", () => {
  it("takes at least the characters that RE2 takes", () => {
    for (const letter of ["k", "S", "ß", "θ", "µ", "å", "ǆ", "ж", "1"]) {
      const { regex, program } = Result.getOrThrow(compilePattern(`(?i)${letter}`))
      const ranges = program.inst.filter(takesRune).flatMap(rangesOf)
      for (let rune = 0; rune < 0x2_0000; rune++) {
        if (!regex.testExact(String.fromCodePoint(rune))) continue
        expect([rune, ranges.some(([from, to]) => from <= rune && rune <= to)]).toEqual([rune, true])
      }
    }
  })
})
