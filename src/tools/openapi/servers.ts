/** The URL of a document's server. */
import { isObject, type JsonObject, objectAt, objectsAt, stringAt } from "../../dialects/parse/json.ts"

/**
 * The URL of the first server, without its last slash; undefined if it is no absolute one of HTTP.
 * @param owners objects with `servers`, of which the first that has some counts
 * @param documentUrl the URL against which a relative one is resolved
 */
export const serverUrlOf = (owners: ReadonlyArray<JsonObject>, documentUrl?: string): string | undefined => {
  const server = owners.map((owner) => objectsAt(owner, "servers")[0]).find((found) => found !== undefined)
  const template = server === undefined ? "/" : stringAt(server, "url")
  if (template === undefined) return undefined
  const variables = objectAt(server, "variables") ?? {}
  const text = template.replace(/\{([^{}]+)\}/g, (whole, name: string) => {
    const variable = Object.hasOwn(variables, name) ? variables[name] : undefined
    const value = isObject(variable) ? variable["default"] : undefined
    return typeof value === "string" || typeof value === "number" ? String(value) : whole
  })
  const url = URL.parse(text, documentUrl)
  if (url === null || text.includes("{") || !/^https?:$/.test(url.protocol)) return undefined
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") return undefined
  return `${url.origin}${url.pathname.replace(/\/+$/, "")}`
}
