/** The search of the guide: its sections, and the routes of the API. It runs in the gateway, so that pages need no script. */
import MiniSearch from "minisearch"
import { guidePath } from "./contents.ts"
import type { GuidePage } from "./pages.ts"

export interface Hit {
  readonly page: string
  readonly title: string
  readonly href: string
  /** A part of the text around the first word that was found. */
  readonly excerpt: string
}

/** Longer questions are cut. */
export const longestQuestion = 200
/** Further words of a question are not searched for, because each one costs time. */
const mostWords = 12
const mostHits = 30
const excerptLength = 180

export type Search = (question: string) => ReadonlyArray<Hit>

export const makeSearch = (pages: ReadonlyArray<GuidePage>): Search => {
  const index = new MiniSearch<{ id: string; page: string; title: string; href: string; text: string }>({
    fields: ["title", "page", "text"],
    storeFields: ["page", "title", "href", "text"],
    searchOptions: {
      boost: { title: 3, page: 2 },
      tokenize: wordsOf,
      // A single letter begins nearly everything.
      prefix: (word) => word.length > 1,
      fuzzy: 0.2,
      combineWith: "AND",
    },
  })
  for (const { path, title: page, sections } of pages) {
    for (const { id, title, text } of sections) {
      const href = `${guidePath(path)}${id === "" ? "" : `#${id}`}`
      index.add({ id: href, page, title, href, text })
    }
  }
  return (question) =>
    index
      .search(question.slice(0, longestQuestion))
      .slice(0, mostHits)
      .map(({ page, title, href, text, terms }) => ({
        page: String(page),
        title: String(title),
        href: String(href),
        excerpt: excerptOf(String(text), terms),
      }))
}

/** The words of a question, each of them once. */
const wordsOf = (question: string): Array<string> =>
  [...new Set(question.toLowerCase().split(/[\p{Z}\p{P}\s]+/u))].slice(0, mostWords)

const excerptOf = (text: string, terms: ReadonlyArray<string>): string => {
  const lower = text.toLowerCase()
  const found = terms.map((term) => lower.indexOf(term)).filter((at) => at >= 0)
  const at = found.length === 0 ? 0 : Math.max(0, Math.min(...found) - excerptLength / 3)
  const start = at === 0 ? 0 : text.indexOf(" ", at) + 1
  const part = text.slice(start, start + excerptLength)
  return `${start > 0 ? "… " : ""}${part}${start + excerptLength < text.length ? " …" : ""}`
}
