/** The frame: the user of the browser, the navigation, and the page that the address names. Pages load when they are opened. */

import { html } from "htm/preact"
import { useEffect, useState } from "preact/hooks"
import type { BrowserSession } from "../protocol/control/activity.ts"
import { actIn, addressOf, send } from "./api.ts"
import { Invitations } from "./invitations.ts"
import { type Loaded, useLoad } from "./load.ts"
import { Logo } from "./logo.ts"
import { entryAt, isFor, Menu, type PageEntry, pages } from "./navigation.ts"
import { NodeProblems } from "./node-problems.ts"
import type { PageProps } from "./page.ts"
import { readRoute, useRoute } from "./route.ts"
import { Search } from "./search.ts"
import { readSession } from "./session.ts"
import { SignIn } from "./sign-in.ts"
import { applyTheme, readTheme, type Theme } from "./theme.ts"
import { ErrorBox, Loading, Segments } from "./ui/parts.ts"
import { type Viewer, ViewerContext } from "./viewer.ts"

export const App = () => {
  const session = useLoad("session", readSession)
  // The page loads while the session is asked for.
  useEffect(
    () =>
      void entryAt(pages, readRoute().parts)
        ?.load()
        .catch(() => undefined),
    [],
  )
  const [org, setOrg] = useState(() => sessionStorage.getItem("weir-acting-in") ?? "")
  if (session.data === undefined) {
    return html`<div class="gate"><div class="card"><${ErrorBox} error=${session.error} retry=${session.reload} />${session.isLoading && html`<${Loading} />`}</div></div>`
  }
  const viewer = viewerOf(session.data, org)
  actIn(viewer?.kind === "person" ? viewer.org : undefined)
  if (viewer === undefined) return html`<${SignIn} session=${session.data} signedIn=${session.reload} />`
  const choose = (id: string) => {
    sessionStorage.setItem("weir-acting-in", id)
    setOrg(id)
  }
  return html`<${ViewerContext.Provider} value=${viewer}>
    <${Frame} key=${org} viewer=${viewer} session=${session} choose=${choose} />
  <//>`
}

const operatorView = "operator"

const viewerOf = ({ operator, person, environment, version }: BrowserSession, chosen: string): Viewer | undefined => {
  const own = person?.orgs.find(({ id }) => id === chosen) ?? (operator === undefined ? person?.orgs[0] : undefined)
  if (own !== undefined && person !== undefined && chosen !== operatorView) {
    return { kind: "person", environment, version, email: person.email, org: own.id, orgName: own.name, role: own.role }
  }
  return operator === undefined ? undefined : { kind: "operator", environment, version }
}

interface FrameProps {
  readonly viewer: Viewer
  readonly session: Loaded<BrowserSession>
  readonly choose: (org: string) => void
}

const Frame = ({ viewer, session, choose }: FrameProps) => {
  const { parts, query } = useRoute()
  const shown = pages.filter((entry) => isFor(entry, viewer))
  const current = entryAt(shown, parts)
  const [isOpen, setOpen] = useState(false)
  return html`<div class="frame">
    <a class="skip" href="#main" onClick=${skip}>Skip to the page</a>
    <header class=${isOpen ? "side open" : "side"}>
      <div class="brand"><${Logo} /> Weir <small class="soft">${viewer.environment}</small>
        <button type="button" class="quiet menu" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}>${isOpen ? "Close" : "Menu"}</button></div>
      ${viewer.kind === "operator" && html`<${Search} />`}
      <${Menu} shown=${shown} current=${current} isOpen=${isOpen} chosen=${() => setOpen(false)} />
      <${Foot} viewer=${viewer} session=${session} choose=${choose} />
    </header>
    <main id="main" tabindex="-1">
      ${viewer.kind === "operator" && html`<${NodeProblems} />`}
      ${current !== undefined && html`<${LoadedPage} key=${current.path} entry=${current} parts=${parts.slice(1)} query=${query} />`}
    </main>
  </div>`
}

const skip = (event: Event) => {
  event.preventDefault()
  document.getElementById("main")?.focus()
}

const LoadedPage = ({ entry, parts, query }: { readonly entry: PageEntry } & PageProps) => {
  const { data, error, reload } = useLoad(entry.path, entry.load)
  if (data === undefined)
    return error === undefined ? html`<${Loading} />` : html`<${ErrorBox} error=${error} retry=${reload} />`
  return html`<${data.Page} parts=${parts} query=${query} />`
}

/** The viewer, the other viewpoints that they can choose, the theme, and signing out. */
const Foot = ({ viewer, session, choose }: FrameProps) => {
  const [theme, setTheme] = useState(readTheme)
  useEffect(() => applyTheme(theme), [theme])
  const { operator, person } = session.data ?? {}
  const views = [
    ...(operator === undefined ? [] : [[operatorView, "Operator"] as const]),
    ...(person?.orgs ?? []).map(({ id, name }) => [id, name] as const),
  ]
  const signOut = async () => {
    await send("DELETE", "v1/session")
    sessionStorage.clear()
    session.reload()
  }
  const isTheme = (value: string): value is Theme => ["system", "light", "dark"].includes(value)
  return html`<div class="foot">
    <div class="wrap">${viewer.kind === "operator" ? "Operator" : `${viewer.email} (${viewer.role})`}</div>
    ${
      views.length > 1 &&
      html`<label>View as
        <select onChange=${({ currentTarget }: { currentTarget: HTMLSelectElement }) => choose(currentTarget.value)}>
          ${views.map(([id, name]) => html`<option value=${id} selected=${viewer.kind === "person" ? viewer.org === id : id === operatorView}>${name}</option>`)}
        </select></label>`
    }
    <${Invitations} open=${person?.invitations} answered=${session.reload} />
    <${Segments} label="Theme" options=${[["system", "Auto"], ["light", "Light"], ["dark", "Dark"]]} value=${theme} choose=${(value: string) => isTheme(value) && setTheme(value)} />
    <div class="row"><button type="button" class="quiet compact" onClick=${signOut}>Sign out</button>
      <a href=${addressOf("docs").href}>API reference</a></div>
    <span class="soft">Version ${viewer.version}. <${TimeZone} /></span>
  </div>`
}

/** The time zone. It is shown after the page, because browsers take long to find it. */
const TimeZone = () => {
  const [zone, setZone] = useState<string>()
  useEffect(() => {
    const later = setTimeout(() => setZone(Intl.DateTimeFormat().resolvedOptions().timeZone), 1000)
    return () => clearTimeout(later)
  }, [])
  return zone === undefined ? null : html`Times are in ${zone}.`
}
