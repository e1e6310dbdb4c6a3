/** Rows of responses in memory, with the rules of those in PostgreSQL (`migrations/functions/books/responses.sql`). */
import { Effect } from "effect"
import type { BackgroundStore, Taken } from "../../src/kept-responses/background-store.ts"
import type { StoreUnavailable } from "../../src/store/unavailable.ts"
import type { MemoryBooks } from "../../src/testing/ledger-store-memory.ts"

type State = "in_progress" | "completed" | "failed" | "cancelled"

interface Row {
  state: State
  /** The call that makes it. */
  ref: string
  isRepeated: boolean
  leaseUntilMs: number
  content: Uint8Array
  /** The events of its end, as webhooks get them. */
  readonly ends: Array<State>
}

/** Runs a statement of a node. */
type Send = <A>(statement: () => A) => Effect.Effect<A, StoreUnavailable>

export class ResponseRows {
  readonly #rows = new Map<string, Row>()
  /** Rows that were erased: they still count. */
  readonly #erased = new Map<string, Row>()

  stateOf(id: string): State | undefined {
    return this.#rows.get(id)?.state
  }

  /** The events of the end of a response. */
  endsOf(id: string): Array<State> | undefined {
    return this.#rows.get(id)?.ends
  }

  begin(id: string, content: Uint8Array, leaseUntilMs: number): void {
    const row: Row = { state: "in_progress", ref: refOf(id), isRepeated: false, leaseUntilMs, content, ends: [] }
    if (!this.#rows.has(id)) this.#rows.set(id, row)
  }

  /** Ends a response that runs. @param ref the call that makes it; undefined for any @returns whether it ran */
  end(id: string, state: "completed" | "failed" | "cancelled", content?: Uint8Array, ref?: string): boolean {
    const row = this.#rows.get(id)
    if (row?.state !== "in_progress" || (ref !== undefined && row.ref !== ref)) return false
    row.state = state
    row.ends.push(state)
    if (content !== undefined) row.content = content
    return true
  }

  erase(id: string): void {
    const row = this.#rows.get(id)
    if (row === undefined) return
    this.#rows.delete(id)
    this.#erased.set(id, row)
  }

  /** Rows whose lease is over. */
  lost(nowMs: number): ReadonlyArray<readonly [id: string, row: Row]> {
    return [...this.#rows].filter(([, { state, leaseUntilMs }]) => state === "in_progress" && leaseUntilMs < nowMs)
  }

  /** Takes a lost response for another call, once. */
  repeat(id: string, ref: string, books: MemoryBooks, nowMs: number, leaseMs: number): Taken {
    const row = this.#rows.get(id)
    if (row?.state !== "in_progress" || row.isRepeated || row.leaseUntilMs >= nowMs) return { _tag: "Gone" }
    if (!books.takeOver({ ref: row.ref, orgId: "org", keyId: "key", requestId: row.ref }, ref)) return { _tag: "Spent" }
    row.ref = ref
    row.isRepeated = true
    row.leaseUntilMs = nowMs + leaseMs
    return { _tag: "Taken", part: 1 }
  }

  /** The number of responses that were made once more. */
  get repeated(): number {
    return [...this.#rows.values()].filter(({ isRepeated }) => isRepeated).length
  }

  /** The numbers of responses in each state. */
  counts(): Readonly<Record<State, number>> {
    const counts = { in_progress: 0, completed: 0, failed: 0, cancelled: 0 }
    for (const { state } of this.#rows.values()) counts[state]++
    return counts
  }

  /** A response that has ended more than once. */
  problem(): string | undefined {
    for (const [id, { ends }] of [...this.#rows, ...this.#erased]) {
      if (ends.length > 1) return `${id} has ended ${ends.length} times: ${ends.join(", ")}`
    }
    return undefined
  }

  /** A response that has not ended. */
  unended(): string | undefined {
    for (const [id, { state }] of this.#rows) if (state === "in_progress") return `${id} has not ended`
    return undefined
  }

  /** The store of a node. */
  storeOver(
    send: Send,
    now: () => number,
    books: MemoryBooks,
    again: (id: string) => Uint8Array,
  ): BackgroundStore["Service"] {
    return {
      begin: (_, { id, sealed }, leaseMs) => send(() => this.begin(id, Buffer.from(sealed, "base64"), now() + leaseMs)),
      end: ({ id, content }, state, ref) => send(() => this.end(id, state, content, ref)),
      cancelled: (_, id) =>
        send(() => {
          const row = this.#rows.get(id)
          return row?.state === "cancelled" ? { content: row.content, object: undefined } : undefined
        }),
      amend: ({ id, content }) =>
        send(() => {
          const row = this.#rows.get(id)
          if (row?.state !== "cancelled") return false
          row.content = content
          return true
        }),
      renew: (running, leaseMs) => {
        const refs = new Map(running.map(({ id, ref }) => [id, ref]))
        const ids = new Set(refs.keys())
        const renewed = send(() => {
          for (const id of [...ids]) {
            const row = this.#rows.get(id)
            if (row?.state === "in_progress" && row.ref === refs.get(id)) row.leaseUntilMs = now() + leaseMs
            else ids.delete(id)
          }
          return ids
        })
        return Effect.catch(renewed, () => Effect.succeed(new Set(running.map(({ id }) => id))))
      },
      lost: (most) =>
        send(() =>
          this.lost(now())
            .slice(0, most)
            .map(([id, row]) => ({
              orgId: "org",
              id,
              content: row.content,
              object: undefined,
              ref: row.ref,
              owner: { app: "app", person: "", endUser: "" },
              counts: books.holds.get(row.ref)?.settlement?.record.counts,
              again: row.isRepeated ? undefined : { keyId: "key", sealed: again(id) },
              work: undefined,
              requestId: refOf(id),
              createdAt: new Date(now()),
            })),
        ),
      repeat: ({ id }, ref, leaseMs) => send(() => this.repeat(id, ref, books, now(), leaseMs)),
      works: () => send(() => false),
      addEvents: () => send(() => undefined),
      events: () => send(() => []),
    }
  }
}

/** The first call of a response. */
export const refOf = (id: string): string => `req_${id.slice("resp_".length, -4)}`
