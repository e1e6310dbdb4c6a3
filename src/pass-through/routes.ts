/** The routes of a catalogue, ready for use, and the one that a request is for. Pure. */
import { type Amount, parseAmount } from "../money/amount.ts"
import type { Mount, PassThrough } from "../protocol/catalogue/pass-through.ts"
import { isInList, type ReplyPlace, readPlace } from "./reply-path.ts"
import { isMoreExact, matchPath, type PathPattern, type PathSegment, parsePattern } from "./route-path.ts"
import { type RoutePrices, readRoutePrices } from "./route-price.ts"

/** The place of a count that the vendor reports. */
export type UsagePlace = { readonly header: string } | { readonly place: ReplyPlace }

export interface Route<Target> {
  readonly declared: PassThrough
  /** The name of the route in lists of models and in usage. */
  readonly handle: string
  readonly target: Target
  readonly pattern: PathPattern
  /** Undefined if it is free. */
  readonly prices: RoutePrices | undefined
  readonly hold: Amount
  readonly usage: ReadonlyMap<string, UsagePlace>
  /** Places of ids in a reply. */
  readonly ids: ReadonlyArray<ReplyPlace>
  /** The same in elements of lists. */
  readonly listed: ReadonlyArray<ReplyPlace>
  readonly headers: ReadonlySet<string>
}

/** The name of a route in lists of models. */
export const handleOfRoute = (id: string): string => `pass/${id}`

/** Headers of requests that every route passes on. */
const commonHeaders = ["accept", "content-type", "openai-beta", "anthropic-version", "anthropic-beta"]

export const readRoute = <Target>(declared: PassThrough, target: Target): Route<Target> => {
  const { id, path, price, hold = "0", usage = {}, owners = [], headers = [] } = declared
  const places = owners.map(readPlace)
  return {
    declared,
    handle: handleOfRoute(id),
    target,
    pattern: parsePattern(path),
    prices: readRoutePrices(price),
    hold: parseAmount(hold) ?? 0n,
    usage: new Map(
      Object.entries(usage).map(([unit, at]) => [
        unit,
        at.startsWith("header:") ? { header: at.slice("header:".length) } : { place: readPlace(at) },
      ]),
    ),
    ids: places.filter((place) => !isInList(place)),
    listed: places.filter(isInList),
    headers: new Set([...commonHeaders, ...headers]),
  }
}

/** The base of each API below which routes are served too. */
export const baseOf: Readonly<Record<Mount, string>> = {
  openai: "/openai/v1",
  anthropic: "/anthropic",
  gemini: "/gemini",
  cohere: "/cohere",
}

/** A route, and what it passes on. */
export interface FoundRoute<Target> {
  readonly route: Route<Target>
  /** The path below the vendor's base URL, as the client sent it. */
  readonly path: string
  readonly segments: ReadonlyArray<PathSegment>
}

/** Methods of the routes at a path, if none takes the method of a request. */
export interface OtherMethods {
  readonly methods: ReadonlyArray<string>
}

/**
 * The most exact route for a request; undefined if no route has its path. Below the place of a route its vendor's other routes
 * take what they fit more exactly: a search that has a price has it everywhere.
 */
export const findRoute = <Target>(
  routes: ReadonlyArray<Route<Target>>,
  method: string,
  url: string,
): FoundRoute<Target> | OtherMethods | undefined => {
  let best: FoundRoute<Target> | undefined
  const others = new Set<string>()
  const take = (route: Route<Target>, path: string, segments: ReadonlyArray<PathSegment>) => {
    if (!route.declared.methods.some((each) => each === method)) {
      for (const each of route.declared.methods) others.add(each)
    } else if (best === undefined || isMoreExact(route.pattern, best.route.pattern)) best = { route, path, segments }
  }
  for (const route of routes) {
    const path = pathBelow(route, url)
    const segments = path === undefined ? undefined : matchPath(route.pattern, path)
    if (path === undefined || segments === undefined) continue
    take(route, path, segments)
    for (const other of routes) {
      const fits = other.declared.vendor === route.declared.vendor ? matchPath(other.pattern, path) : undefined
      if (fits !== undefined && isMoreExact(other.pattern, route.pattern)) take(other, path, fits)
    }
  }
  if (best !== undefined) return best
  return others.size === 0 ? undefined : { methods: [...others] }
}

/** The path of a request below the place of a route. */
const pathBelow = ({ declared: { id, mount } }: Route<unknown>, url: string): string | undefined => {
  const bases = [`/pass/${id}`, ...(mount === undefined ? [] : [baseOf[mount]])]
  const base = bases.find((each) => url.startsWith(`${each}/`))
  return base === undefined ? undefined : url.slice(base.length)
}
