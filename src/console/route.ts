/** The page and its parameters in the address's fragment, e.g. `#/exchanges?model=main`. */
import { useEffect, useMemo, useState } from "preact/hooks"

export interface Route {
  /** Parts of the path. */
  readonly parts: ReadonlyArray<string>
  readonly query: Readonly<Record<string, string>>
}

export const readRoute = (): Route => {
  const [path = "", query = ""] = location.hash.replace(/^#\/?/, "").split("?")
  return {
    parts: path.split("/").filter(Boolean).map(decodeURIComponent),
    query: Object.fromEntries(new URLSearchParams(query)),
  }
}

/** The address of a page. Empty parameters are left out. */
export const linkTo = (
  parts: ReadonlyArray<string>,
  query: Readonly<Record<string, string | undefined>> = {},
): string => {
  const known = Object.entries(query).flatMap(([name, value]) => (value ? [[name, value]] : []))
  const text = new URLSearchParams(known).toString()
  return `#/${parts.map(encodeURIComponent).join("/")}${text === "" ? "" : `?${text}`}`
}

export const goTo = (parts: ReadonlyArray<string>, query: Readonly<Record<string, string | undefined>> = {}): void => {
  location.hash = linkTo(parts, query)
}

/** Replaces parameters of the present page without a step in the browser's history. */
export const setQuery = (changes: Readonly<Record<string, string | undefined>>): void => {
  const { parts, query } = readRoute()
  history.replaceState(null, "", linkTo(parts, { ...query, ...changes }))
  dispatchEvent(new HashChangeEvent("hashchange"))
}

export const useRoute = (): Route => {
  const [hash, setHash] = useState(() => location.hash)
  useEffect(() => {
    const follow = () => setHash(location.hash)
    addEventListener("hashchange", follow)
    // The address may have changed since this was drawn.
    follow()
    return () => removeEventListener("hashchange", follow)
  }, [])
  return useMemo(readRoute, [hash])
}
