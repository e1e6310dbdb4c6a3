/** Vector stores of the simulated vendor, for routes that are passed through: names in memory, gone with the process. */
import { randomBytes } from "node:crypto"
import { stringAt } from "../dialects/parse/json.ts"
import type { VendorCall } from "../testing/scripted-vendor.ts"

interface Store {
  readonly id: string
  readonly object: "vector_store"
  readonly name: string
  readonly created_at: number
}

/** The most stores; the oldest goes. */
const mostStores = 1000

const stores = new Map<string, Store>()

/** The answer to a call about vector stores; undefined if it is about something else. */
export const answerStores = ({
  method,
  path,
  body,
}: VendorCall): { readonly status: number; readonly json: object } | undefined => {
  const [, id, below] = /^\/v1\/vector_stores(?:\/([\w-]+))?(?:\/(\w+))?(?:\?.*)?$/.exec(path) ?? []
  if (!path.startsWith("/v1/vector_stores")) return undefined
  if (id === undefined) {
    if (method !== "POST") return { status: 200, json: { object: "list", data: [...stores.values()], has_more: false } }
    const store: Store = {
      id: `vs_${randomBytes(12).toString("hex")}`,
      object: "vector_store",
      name: stringAt(body, "name") ?? "",
      created_at: Math.floor(Date.now() / 1000),
    }
    if (stores.size >= mostStores) stores.delete([...stores.keys()][0] ?? "")
    stores.set(store.id, store)
    return { status: 200, json: store }
  }
  const store = stores.get(id)
  if (store === undefined)
    return { status: 404, json: { error: { message: "No such vector store", code: "not_found" } } }
  if (below !== undefined) return { status: 200, json: { object: "list", data: [], has_more: false } }
  if (method !== "DELETE") return { status: 200, json: store }
  stores.delete(id)
  return { status: 200, json: { id, object: "vector_store.deleted", deleted: true } }
}
