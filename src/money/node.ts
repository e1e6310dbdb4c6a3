/**
 * This process as a node of the ledger: its lease, and the allotments that go with it. A node whose lease may have run
 * out, or that does not know what the store did with its request, is left behind: its holds end, then everything that it
 * has goes back. A new one takes its place.
 */
import { randomBytes } from "node:crypto"
import { type Clock, Effect, Semaphore } from "effect"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { Allotments } from "./allotments.ts"
import type { LedgerStore } from "./ledger-store.ts"

/** The share of a lease that a node trusts: the database's clock may be ahead of its own, or jump. */
const trustedShare = 0.75

export class Node {
  /** A short random id, because every transfer contains it. */
  readonly id = randomBytes(6).toString("base64url")
  readonly allotments = new Allotments()
  /** Holds that have not ended. */
  holds = 0
  /** The time until which no other node may declare it dead, on the monotonic clock. */
  leaseEndsMs: number
  isLeft = false

  constructor(leaseEndsMs: number) {
    this.leaseEndsMs = leaseEndsMs
  }
}

/** The present node, and those that are left behind and still have holds. */
export class Nodes {
  readonly #store: LedgerStore["Service"]
  readonly #leaseMs: number
  readonly #trustedMs: number
  readonly #clock: Clock.Clock
  readonly #joining = Semaphore.makeUnsafe(1)
  #current: Node | undefined
  readonly #left = new Set<Node>()

  constructor(store: LedgerStore["Service"], leaseMs: number, clock: Clock.Clock) {
    this.#store = store
    this.#leaseMs = leaseMs
    this.#trustedMs = leaseMs * trustedShare
    this.#clock = clock
  }

  /** Milliseconds that no change of the system's time moves. */
  nowMs(): number {
    return Number(this.#clock.monotonicTimeNanosUnsafe() / 1_000_000n)
  }

  /** The node to hold with; undefined before it has joined, and after its lease may have run out. */
  current(nowMs: number): Node | undefined {
    const node = this.#current
    if (node === undefined || node.leaseEndsMs > nowMs) return node
    this.leave(node)
    return undefined
  }

  /** The present node, and those that are left behind. */
  all(): ReadonlyArray<Node> {
    return [...(this.#current === undefined ? [] : [this.#current]), ...this.#left]
  }

  /** The node to hold with; joins if there is none. */
  readonly enter: Effect.Effect<Node, StoreUnavailable> = Effect.suspend(() =>
    this.#joining.withPermit(
      Effect.suspend(() => {
        const present = this.current(this.nowMs())
        if (present !== undefined) return Effect.succeed(present)
        const node = new Node(this.nowMs() + this.#trustedMs)
        return Effect.as(
          Effect.tap(this.#store.join(node.id, this.#leaseMs), () =>
            Effect.sync(() => {
              this.#current = node
            }),
          ),
          node,
        )
      }),
    ),
  )

  /** The number of nodes left behind that still have some of a counter. They return nothing until their holds have ended. */
  leftWith(orgId: string, counter: string): number {
    let count = 0
    for (const { allotments } of this.#left) {
      const allotment = allotments.find(orgId, counter)
      if (allotment !== undefined && allotment.free + allotment.held > 0n) count++
    }
    return count
  }

  /** Stops new holds on this node. */
  leave(node: Node): void {
    if (this.#current === node) this.#current = undefined
    if (!node.isLeft) this.#left.add(node)
    node.isLeft = true
  }

  /** Renews the leases; ends nodes that are left behind and have no holds. */
  readonly renew: Effect.Effect<void, StoreUnavailable> = Effect.suspend(() =>
    Effect.forEach(this.all(), (node) => this.#renewOne(node), { discard: true }),
  )

  /** Ends every node that has no holds; the others are left to their leases. */
  readonly end: Effect.Effect<void, StoreUnavailable> = Effect.suspend(() => {
    if (this.#current !== undefined) this.leave(this.#current)
    return Effect.forEach([...this.#left], (node) => (node.holds === 0 ? this.#endOne(node) : Effect.void), {
      discard: true,
    })
  })

  #renewOne(node: Node): Effect.Effect<void, StoreUnavailable> {
    if (node.isLeft && node.holds === 0) return this.#endOne(node)
    const leaseEndsMs = this.nowMs() + this.#trustedMs
    return Effect.map(this.#store.renew(node.id, this.#leaseMs), (isAlive) => {
      if (isAlive) node.leaseEndsMs = leaseEndsMs
      else {
        this.leave(node)
        this.#left.delete(node)
      }
    })
  }

  #endOne(node: Node): Effect.Effect<void, StoreUnavailable> {
    return Effect.andThen(
      this.#store.leave(node.id),
      Effect.sync(() => this.#left.delete(node)),
    )
  }
}
