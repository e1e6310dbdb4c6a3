/** The prose of a file: the comments and sentences of a program, the paragraphs of a page. */
import { Predicate } from "effect"
import { parseSync } from "rolldown/utils"

/** A text that a person reads. */
export interface Prose {
  /** `doc`: a doc comment, or a description that is published as one; `line`: a comment of lines; `text`: any other. */
  readonly kind: "doc" | "line" | "text"
  /** The line where it begins, from 1. */
  readonly line: number
  readonly text: string
}

/** The prose of a program. @param options.strings whether its sentences between quotes belong to it, as messages do */
export const proseOfProgram = (code: string, options: { readonly strings: boolean }): ReadonlyArray<Prose> => {
  const { program, comments } = parseSync("program.ts", code, { lang: "ts" })
  const lineAt = lineFinder(code)
  const found: Array<Prose> = []
  // Lines of `//` that follow each other are one text.
  let previous: { text: string; line: number; last: number } | undefined
  const flush = (): void => {
    if (previous !== undefined) found.push({ kind: "line", line: previous.line, text: previous.text })
    previous = undefined
  }
  for (const { type, value, start } of comments) {
    const line = lineAt(start)
    if (type === "Block") {
      const text = joined(value.replace(/^\*/, "").split(/\n\s*\*? ?/))
      found.push({ kind: value.startsWith("*") ? "doc" : "text", line, text })
    } else if (previous !== undefined && previous.last === line - 1) {
      previous = { text: `${previous.text} ${value.trim()}`, line: previous.line, last: line }
    } else {
      flush()
      previous = { text: value.trim(), line, last: line }
    }
  }
  flush()
  if (options.strings)
    visitSentences(program, ({ kind, start, text }) => found.push({ kind, line: lineAt(start), text }))
  return found
}

/** The paragraphs of a page of Markdown, without its blocks of code. */
export const proseOfPage = (page: string): ReadonlyArray<Prose> => {
  const found: Array<Prose> = []
  let paragraph: { line: number; text: string } | undefined
  let isCode = false
  const flush = (): void => {
    if (paragraph !== undefined) found.push({ kind: "text", ...paragraph })
    paragraph = undefined
  }
  for (const [index, line] of page.split("\n").entries()) {
    const isFence = /^\s*(```|~~~)/.test(line)
    if (isFence) isCode = !isCode
    if (isFence || isCode || line.trim() === "") {
      flush()
    } else if (paragraph === undefined || /^\s*([-*|#]|\d+\.)/.test(line)) {
      flush()
      paragraph = { line: index + 1, text: line.trim() }
    } else {
      paragraph.text += ` ${line.trim()}`
    }
  }
  flush()
  return found
}

const joined = (lines: ReadonlyArray<string>): string =>
  lines
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .join(" ")

const lineFinder = (code: string): ((offset: number) => number) => {
  const starts = [...code.matchAll(/\n/g)].map(({ index }) => index)
  return (offset) => {
    let low = 0
    let high = starts.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((starts[middle] ?? 0) < offset) low = middle + 1
      else high = middle
    }
    return low + 1
  }
}

interface Sentence {
  readonly kind: Prose["kind"]
  readonly start: number
  readonly text: string
}

const descriptions = new Set(["description", "summary", "title"])

/** Visits the strings with at least two words; those of a description are published like a doc comment. */
const visitSentences = (node: unknown, found: (sentence: Sentence) => void, kind: Prose["kind"] = "text"): void => {
  if (Array.isArray(node)) {
    for (const child of node) visitSentences(child, found, kind)
  } else if (Predicate.isObject(node)) {
    const text = textOf(node)
    if (text !== undefined && /[a-z]+[,:;]? [a-z]+/i.test(text)) {
      found({ kind, start: Number(Predicate.hasProperty(node, "start") ? node.start : 0), text })
    }
    const inner = isDescription(node) ? "doc" : Predicate.hasProperty(node, "type") && isPart(node.type) ? kind : "text"
    for (const child of Object.values(node)) visitSentences(child, found, inner)
  }
}

/** Nodes whose strings are parts of the same text. */
const isPart = (type: unknown): boolean => type === "TemplateLiteral" || type === "BinaryExpression"

const textOf = (node: object): string | undefined => {
  if (!Predicate.hasProperty(node, "type") || !Predicate.hasProperty(node, "value")) return undefined
  if (node.type === "Literal" && typeof node.value === "string") return node.value
  const { value } = node
  const isTemplate = node.type === "TemplateElement" && Predicate.hasProperty(value, "cooked")
  return isTemplate && typeof value.cooked === "string" ? value.cooked : undefined
}

const isDescription = (node: object): boolean => {
  if (!Predicate.hasProperty(node, "type")) return false
  if (node.type === "Property" && Predicate.hasProperty(node, "key")) {
    return Predicate.hasProperty(node.key, "name") && descriptions.has(String(node.key.name))
  }
  return (
    node.type === "CallExpression" &&
    Predicate.hasProperty(node, "callee") &&
    Predicate.hasProperty(node.callee, "property") &&
    Predicate.hasProperty(node.callee.property, "name") &&
    node.callee.property.name === "withDescription"
  )
}
