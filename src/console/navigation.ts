/** The pages of the console, in groups, and the menu. Pages load when they are opened. */
import { html } from "htm/preact"
import type { ComponentType } from "preact"
import { useEffect, useRef } from "preact/hooks"
import type { PageProps } from "./page.ts"
import { linkTo, type Route } from "./route.ts"
import type { Viewer } from "./viewer.ts"

export interface PageEntry {
  readonly path: string
  readonly name: string
  readonly group: Group
  readonly load: () => Promise<{ readonly Page: ComponentType<PageProps> }>
  /** The viewers that have it in the navigation. */
  readonly for: "all" | "operator" | "manager" | "person"
}

const groups = ["Observe", "Customers", "Configure", "Security", "Try out"] as const
type Group = (typeof groups)[number]

export const pages: ReadonlyArray<PageEntry> = [
  { path: "overview", name: "Overview", group: "Observe", for: "all", load: () => import("./pages/overview.ts") },
  { path: "exchanges", name: "Exchanges", group: "Observe", for: "all", load: () => import("./pages/exchanges.ts") },
  {
    path: "timeouts",
    name: "Timeouts",
    group: "Observe",
    for: "operator",
    load: () => import("./pages/timeouts/timeouts.ts"),
  },
  {
    path: "reply-cache",
    name: "Reply cache",
    group: "Observe",
    for: "operator",
    load: () => import("./pages/reply-cache.ts"),
  },
  { path: "jobs", name: "Jobs", group: "Observe", for: "operator", load: () => import("./pages/jobs.ts") },
  {
    path: "organisations",
    name: "Organisations",
    group: "Customers",
    for: "operator",
    load: () => import("./pages/organisations.ts"),
  },
  {
    path: "organisation",
    name: "Organisation",
    group: "Customers",
    for: "person",
    load: () => import("./pages/organisation/organisation.ts"),
  },
  { path: "keys", name: "Keys", group: "Customers", for: "operator", load: () => import("./pages/keys.ts") },
  { path: "teams", name: "Teams", group: "Customers", for: "operator", load: () => import("./pages/teams.ts") },
  { path: "money", name: "Money", group: "Customers", for: "manager", load: () => import("./pages/money.ts") },
  { path: "plan", name: "Plan usage", group: "Customers", for: "all", load: () => import("./pages/plan.ts") },
  {
    path: "models",
    name: "Models",
    group: "Configure",
    for: "operator",
    load: () => import("./pages/models/models.ts"),
  },
  { path: "vendors", name: "Vendors", group: "Configure", for: "operator", load: () => import("./pages/vendors.ts") },
  { path: "tools", name: "Tools", group: "Configure", for: "operator", load: () => import("./pages/tools/tools.ts") },
  {
    path: "catalogue",
    name: "Catalogue",
    group: "Configure",
    for: "operator",
    load: () => import("./pages/catalogue/catalogue.ts"),
  },
  {
    path: "policies",
    name: "Policies",
    group: "Configure",
    for: "operator",
    load: () => import("./pages/policies.ts"),
  },
  {
    path: "webhooks",
    name: "Webhooks",
    group: "Configure",
    for: "operator",
    load: () => import("./pages/webhooks.ts"),
  },
  { path: "exports", name: "Exports", group: "Configure", for: "operator", load: () => import("./pages/exports.ts") },
  { path: "settings", name: "Settings", group: "Configure", for: "all", load: () => import("./pages/settings.ts") },
  { path: "audit", name: "Audit", group: "Security", for: "manager", load: () => import("./pages/audit.ts") },
  {
    path: "playground",
    name: "Playground",
    group: "Try out",
    for: "all",
    load: () => import("./pages/playground/playground.ts"),
  },
]

export const entryAt = (entries: ReadonlyArray<PageEntry>, [name]: Route["parts"]): PageEntry | undefined =>
  entries.find(({ path }) => path === name) ?? entries[0]

export const isFor = (entry: PageEntry, viewer: Viewer): boolean => {
  if (entry.for === "all") return true
  if (viewer.kind === "operator") return entry.for !== "person"
  return entry.for === "person" || (entry.for === "manager" && viewer.role !== "member")
}

/** The menu; the entry of the present page is scrolled into view. */
export const Menu = ({
  shown,
  current,
  isOpen,
  chosen,
}: {
  readonly shown: ReadonlyArray<PageEntry>
  readonly current: PageEntry | undefined
  /** Whether it is open on a small screen. */
  readonly isOpen: boolean
  readonly chosen: () => void
}) => {
  const place = useRef<HTMLElement>(null)
  useEffect(() => {
    place.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" })
  }, [current, isOpen])
  return html`<nav aria-label="Pages" ref=${place}>
    ${groups.map((group) => {
      const entries = shown.filter((entry) => entry.group === group)
      return (
        entries.length > 0 &&
        html`<p class="group" id=${idOf(group)}>${group}</p>
          <ul aria-labelledby=${idOf(group)}>
            ${entries.map(({ path, name }) => html`<li><a href=${linkTo([path])} aria-current=${path === current?.path ? "page" : undefined} onClick=${chosen}>${name}</a></li>`)}
          </ul>`
      )
    })}
  </nav>`
}

const idOf = (group: Group): string => `group-${group.toLowerCase().replace(" ", "-")}`
