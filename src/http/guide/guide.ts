/** The guide as its routes need it: pages by their paths, the menu and the search. */
import { Html, html } from "../pages/html.ts"
import { apiPages, isGroupPage } from "./api-pages.ts"
import { guideDocument, type Menu } from "./layout.ts"
import { type GuidePage, loadPages } from "./pages.ts"
import { type Hit, longestQuestion, makeSearch } from "./search.ts"

export interface Guide {
  /** The HTML of a page; undefined if there is none. */
  readonly show: (path: string) => string | undefined
  readonly search: (question: string) => string
}

/** @param document the OpenAPI document, from which the API's pages are made */
export const makeGuide = (document: unknown): Guide => {
  const written = loadPages()
  const api = apiPages(document)
  const pages = new Map([...written, ...api].map((page) => [page.path, page] as const))
  const menu: Menu = {
    titles: new Map(written.map(({ path, title }) => [path, title])),
    api: api.filter(isGroupPage).map(({ path, title }) => ({ path, title })),
  }
  const search = makeSearch([...pages.values()])
  const draw = ({ path, title, html, sections }: GuidePage) =>
    guideDocument(menu, { path, title, body: new Html(html), sections, question: "" })
  return {
    show: (path) => {
      const page = pages.get(path)
      return page === undefined ? undefined : draw(page)
    },
    search: (given) => {
      const question = given.slice(0, longestQuestion)
      const body = hitList(question, question.trim() === "" ? [] : search(question))
      return guideDocument(menu, { path: undefined, title: "Search", body, sections: [], question })
    },
  }
}

const hitList = (question: string, hits: ReadonlyArray<Hit>): Html =>
  html`<h1>Search</h1>
<p role="status">${hits.length === 0 ? `Nothing matches “${question}”.` : `${hits.length} ${hits.length === 1 ? "result" : "results"} for “${question}”`}</p>
<ul class="hits">${hits.map(
    ({ page, title, href, excerpt }) =>
      html`<li><a href="${href}">${page === title ? title : `${page}: ${title}`}</a><br><span class="soft">${excerpt}</span></li>`,
  )}</ul>`
