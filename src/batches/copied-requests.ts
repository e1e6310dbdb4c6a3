/** The requests of a batch while they are copied: their parts, their sum, and their faults. */
import { createHash } from "node:crypto"
import type { Caller } from "../identity/caller.ts"
import type { NewChunk, Problem } from "./batch.ts"
import { addToChunks } from "./chunks.ts"
import type { LinePrice } from "./line-calls.ts"
import { VendorPlan } from "./vendor/vendor-plan.ts"

export class CopiedRequests {
  lines = 0
  amount = 0n
  tokens = 0
  readonly problems: Array<Problem> = []
  readonly chunks: Array<NewChunk> = []
  readonly models = new Set<string>()
  /** The tags of its calls. */
  tags: Caller["tags"]
  readonly vendor = new VendorPlan()
  /** The place of the next request in the file. */
  place = 0
  /** The time whose prices they have. */
  readonly pricedAtMs: number
  readonly #names = new Set<string>()

  constructor(nowMs: number) {
    this.pricedAtMs = nowMs
  }

  refuse(problem: Problem): void {
    this.problems.push(problem)
  }

  /** Names may be long: their hashes are kept. */
  isNew(id: string): boolean {
    const name = createHash("sha256").update(id).digest("base64url").slice(0, 22)
    if (this.#names.has(name)) return false
    this.#names.add(name)
    return true
  }

  /** @param price undefined if its route refuses it */
  add(bytes: number, price: LinePrice | undefined): void {
    this.lines++
    addToChunks(this.chunks, { number: this.lines, place: this.place, bytes })
    this.place += bytes
    if (price === undefined) return
    this.amount += price.amount
    this.tokens += price.tokens
    this.models.add(price.model)
    this.tags ??= price.caller.tags
  }
}
