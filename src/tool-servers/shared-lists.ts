/** Lists of the same content as one object: each session has its own list, and most have the same content. */
import { createHash } from "node:crypto"
import type { ServerList } from "./list-pages.ts"

export class SharedLists {
  readonly #most: number
  readonly #lists = new Map<string, WeakRef<ServerList>>()

  /** @param most names of lists that are kept */
  constructor(most: number) {
    this.#most = most
  }

  /** The list of the same content that is in use, or this one. */
  of(list: ServerList): ServerList {
    const name = createHash("sha256").update(JSON.stringify(list)).digest("base64url")
    const known = this.#lists.get(name)?.deref()
    // The newest is the last.
    this.#lists.delete(name)
    this.#lists.set(name, new WeakRef(known ?? list))
    const [oldest] = this.#lists.keys()
    if (this.#lists.size > this.#most && oldest !== undefined) this.#lists.delete(oldest)
    return known ?? list
  }
}
