/** A page of the guide from Markdown: its HTML, with an anchor at each heading, and its sections for the search. */
import { posix } from "node:path"
import { Marked, type Token } from "marked"
import { escaped } from "../pages/html.ts"
import { guidePath } from "./contents.ts"

export interface Section {
  /** The anchor; empty for the text before the first heading of the second level. */
  readonly id: string
  readonly title: string
  readonly level: number
  /** The text without its marks. */
  readonly text: string
}

export interface RenderedPage {
  readonly title: string
  readonly html: string
  readonly sections: ReadonlyArray<Section>
}

/**
 * Links to other pages are paths of the gateway, such as `/docs/how-to/timeouts`.
 * @param path the page's path in the guide, e.g. `how-to/timeouts`
 */
export const renderMarkdown = (markdown: string, path: string): RenderedPage => {
  const ids = new Map<string, number>()
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth }) {
        const id = anchorOf(plainText(tokens), ids)
        return `<h${depth} id="${id}">${this.parser.parseInline(tokens)}</h${depth}>\n`
      },
      link({ href, tokens }) {
        return `<a href="${escaped(linkTo(href, path))}">${this.parser.parseInline(tokens)}</a>`
      },
      table(token) {
        const cells = (row: ReadonlyArray<{ readonly tokens: Array<Token> }>, tag: "th" | "td") =>
          `<tr>${row.map((cell) => `<${tag}>${this.parser.parseInline(cell.tokens)}</${tag}>`).join("")}</tr>`
        const head = token.header.some(({ text }) => text !== "") ? `<thead>${cells(token.header, "th")}</thead>` : ""
        const rows = token.rows.map((row) => cells(row, "td")).join("")
        return `<div class="wide" tabindex="0" role="region" aria-label="Table">
<table>${head}<tbody>${rows}</tbody></table></div>\n`
      },
      code({ text, lang }) {
        const label = lang ? ` data-language="${escaped(lang)}"` : ""
        return `<pre tabindex="0"${label}><code>${escaped(text)}</code></pre>\n`
      },
    },
  })
  const tokens = marked.lexer(markdown)
  const sections = sectionsOf(tokens)
  return { title: sections[0]?.title ?? path, html: marked.parser(tokens), sections }
}

/** The sections of a page in order; the first begins with the page's title. */
const sectionsOf = (tokens: ReadonlyArray<Token>): ReadonlyArray<Section> => {
  const ids = new Map<string, number>()
  const sections: Array<{ id: string; title: string; level: number; texts: Array<string> }> = []
  for (const token of tokens) {
    if (token.type === "heading") {
      const title = plainText(token.tokens ?? [])
      const id = anchorOf(title, ids)
      sections.push({ id: sections.length === 0 ? "" : id, title, level: Number(token["depth"]), texts: [] })
    } else sections.at(-1)?.texts.push(plainText([token]))
  }
  return sections.map(({ texts, ...section }) => ({ ...section, text: texts.join(" ").replace(/\s+/g, " ").trim() }))
}

/** The text of tokens and of all tokens in them. */
const plainText = (tokens: ReadonlyArray<Token>): string =>
  tokens
    .map((token) => {
      if (token.type === "table") {
        const rows: ReadonlyArray<ReadonlyArray<{ readonly tokens: Array<Token> }>> = [
          token["header"],
          ...token["rows"],
        ]
        return rows.map((row) => row.map((cell) => plainText(cell.tokens)).join(" ")).join(" ")
      }
      if (token.type === "list") return token["items"].map((item: Token) => plainText([item])).join(" ")
      if ("tokens" in token && token.tokens !== undefined) return plainText(token.tokens)
      return token.type === "html" || token.type === "space" ? " " : "text" in token ? String(token.text) : ""
    })
    .join("")

/** An anchor like that of other readers of Markdown, unique in its page. */
const anchorOf = (title: string, taken: Map<string, number>): string => {
  const id = title
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-")
  const before = taken.get(id) ?? 0
  taken.set(id, before + 1)
  return before === 0 ? id : `${id}-${before}`
}

/** A link to another page of the guide is its path at the gateway; other links stay. */
const linkTo = (href: string, path: string): string => {
  if (/^(#|\/|[a-z]+:)/.test(href)) return href
  const [file = "", anchor] = href.split("#")
  const page = posix.join(posix.dirname(path), file).replace(/\.md$/, "")
  return `${guidePath(page)}${anchor === undefined ? "" : `#${anchor}`}`
}
