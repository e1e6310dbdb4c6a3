/** The document of a page of the guide: menu, search, text, and the headings of the page. It has no script. */
import { createHash } from "node:crypto"
import { version } from "../../protocol/version.ts"
import { Html, html } from "../pages/html.ts"
import { tokens } from "../pages/tokens.ts"
import { contents, guidePath } from "./contents.ts"
import type { Section } from "./markdown.ts"

const style = `${tokens}
* { box-sizing: border-box }
body { margin: 0; background: var(--paper); color: var(--ink); font: 1rem/1.6 system-ui, sans-serif }
a { color: var(--accent) }
header { position: sticky; top: 0; z-index: 1; display: flex; gap: var(--s4); align-items: center; padding: var(--s2) var(--s4); background: var(--card); border-bottom: 1px solid var(--line) }
header a { font-weight: 700; color: var(--ink); text-decoration: none; white-space: nowrap }
header form { flex: 1; display: flex; justify-content: flex-end }
input { width: 100%; max-width: 24rem; padding: .35rem .6rem; font: inherit; color: inherit; background: var(--paper); border: 1px solid var(--field); border-radius: var(--radius) }
.columns { display: grid; grid-template-columns: 16rem minmax(0, 1fr) 14rem; gap: var(--s6); max-width: 90rem; margin: 0 auto; padding: 0 var(--s4) }
nav { font-size: .9rem; padding: var(--s4) 0 }
nav.menu, nav.headings { position: sticky; top: 3.2rem; align-self: start; max-height: calc(100dvh - 3.2rem); overflow: auto }
nav ul { list-style: none; margin: 0 0 var(--s4); padding: 0 }
nav li a { display: block; padding: .15rem .5rem; border-radius: .25rem; color: var(--soft); text-decoration: none }
nav li a:hover, nav li a[aria-current] { background: var(--tint); color: var(--ink) }
nav strong, summary { font-size: .8rem; color: var(--soft); padding: 0 .5rem }
main { padding: var(--s4) 0 4rem; max-width: 52rem }
h1 { margin: 0 0 1rem; font-size: 1.9rem; line-height: 1.2 }
h2 { margin: 2.2rem 0 .6rem; font-size: 1.35rem; scroll-margin-top: 4rem }
h3 { margin: 1.6rem 0 .5rem; font-size: 1.1rem; scroll-margin-top: 4rem }
code { font: .875em ui-monospace, monospace; background: var(--tint); padding: .1em .3em; border-radius: .25rem; overflow-wrap: anywhere }
pre { overflow: auto; padding: var(--s3) var(--s4); background: var(--card); border: 1px solid var(--line); border-radius: var(--radius); line-height: 1.45 }
pre code { background: none; padding: 0; overflow-wrap: normal }
.wide { overflow-x: auto }
table { border-collapse: collapse; font-size: .9rem; margin: .5rem 0 1rem }
th, td { text-align: left; vertical-align: top; padding: .35rem .7rem .35rem 0; border-bottom: 1px solid var(--line) }
th { color: var(--soft); font-weight: 600 }
td code { overflow-wrap: normal }
details summary { cursor: pointer }
main details:not(.small-menu) { margin: .25rem 0 .75rem }
.soft { color: var(--soft) }
.hits li { margin: 0 0 1rem }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px }
.small-menu { display: none }
@media (max-width: 70rem) { .columns { grid-template-columns: 14rem minmax(0, 1fr) } nav.headings { display: none } }
@media (max-width: 48rem) { .columns { display: block } nav.menu { display: none } .small-menu { display: block; margin: 0 0 var(--s3) } td { min-width: 5rem } td code { overflow-wrap: anywhere } }
`
const styleHash = createHash("sha256").update(style).digest("base64")

/** Allows the page's own style and the search's form; forbids scripts and framing. */
export const guidePolicy = `default-src 'none'; img-src data:; style-src 'sha256-${styleHash}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`

/** A link of the menu. */
export interface MenuEntry {
  readonly path: string
  readonly title: string
}

export interface Menu {
  /** Titles of the written pages, by their paths. */
  readonly titles: ReadonlyMap<string, string>
  readonly api: ReadonlyArray<MenuEntry>
}

export interface Shown {
  /** The page's path; undefined for a page that is not in the menu. */
  readonly path: string | undefined
  readonly title: string
  readonly body: Html
  readonly sections: ReadonlyArray<Section>
  readonly question: string
}

export const guideDocument = (menu: Menu, { path, title, body, sections, question }: Shown): string => {
  const entries = menuOf(menu, path)
  const headings = sections.filter(({ level }) => level === 2)
  return `<!doctype html>\n${
    html`<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>${title} · Weir</title>
<style>${new Html(style)}</style>
</head>
<body>
<header><a href="/docs">Weir ${version}</a>
<form action="/docs/search" role="search"><input type="search" name="q" value="${question}" placeholder="Search the guide" aria-label="Search the guide" maxlength="200"></form></header>
<div class="columns">
<nav class="menu" aria-label="Pages">${entries}</nav>
<main>
<details class="small-menu"><summary>Pages</summary><nav aria-label="All pages">${entries}</nav></details>
${body}
</main>
${
  headings.length < 2
    ? undefined
    : html`<nav class="headings" aria-label="On this page"><strong>On this page</strong>
<ul>${headings.map((it) => html`<li><a href="#${it.id}">${it.title}</a></li>`)}</ul></nav>`
}
</div>
</body>
</html>
`.text
  }`
}

const menuOf = ({ titles, api }: Menu, current: string | undefined): Html => {
  const groups = contents.map(({ title, paths }) => ({
    title,
    entries: paths.map((path) => ({ path, title: titles.get(path) ?? path })),
  }))
  return new Html(
    [...groups, { title: "API", entries: api }]
      .map(
        ({ title, entries }) =>
          html`<strong>${title}</strong>
<ul>${entries.map((it) => html`<li><a href="${guidePath(it.path)}"${it.path === current ? new Html(' aria-current="page"') : undefined}>${it.title}</a></li>`)}</ul>
`.text,
      )
      .join(""),
  )
}
