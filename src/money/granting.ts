/** Moves allotments to a node and back: grants that holds wait for, refills ahead of need, recalls if money is scarce. */
import { randomUUID } from "node:crypto"
import { Array as Arr, Cause, type Context, Effect, FiberSet, Option, Queue, type Scope } from "effect"
import { forAll, runAfter } from "../background.ts"
import { StoreUnavailable } from "../store/unavailable.ts"
import { recordHoldWait, recordLedgerEvent } from "../telemetry/metrics.ts"
import type { Allotment, Need } from "./allotments.ts"
import { type Amount, wholeAmount } from "./amount.ts"
import { kindOf } from "./counters.ts"
import type { CounterNeed, GivenBack, LedgerStore } from "./ledger-store.ts"
import { sendUnlocked } from "./locked-rows.ts"
import { Movement, waitForMovements } from "./movement.ts"
import type { Node, Nodes } from "./node.ts"
import { makeRecalls, type RecallChannel } from "./recalls.ts"

/** The amounts of a hold, of one organisation. */
export interface Wanted {
  readonly orgId: string
  readonly currency: string
  readonly needs: ReadonlyArray<Need>
}

/** A counter has too little, at all nodes together. */
export interface Short {
  readonly _tag: "Short"
  readonly counter: string
  readonly available: Amount
  /** The amount by which a budget's limit was raised. */
  readonly raised: Amount
}

type Answer =
  | { readonly _tag: "Held"; readonly node: Node }
  | (Short & {
      /** The number of nodes of other processes that may have some. */
      readonly others: number
      /** Whether an amount was moving, or was free and was returned: a second request may find more. */
      readonly mayFindMore: boolean
    })
  | { readonly _tag: "Lapsed" }

export interface Granting {
  /** Holds against this node's allotment if it covers all needs; waits for nothing. */
  readonly take: (wanted: Wanted) => Node | undefined
  /** Asks the store for the missing amounts, and the other nodes if the store has too little. */
  readonly takeSlowly: (wanted: Wanted) => Effect.Effect<Node | Short, StoreUnavailable>
  /** Returns the amounts that a hold has set free at once, if money is scarce. */
  readonly freed: (node: Node, allotment: Allotment) => void
  /** Returns amounts that were not used for a while. */
  readonly returnIdle: Effect.Effect<void, StoreUnavailable>
}

export const makeGranting = Effect.fnUntraced(function* (
  store: LedgerStore["Service"],
  nodes: Nodes,
  context: Context.Context<never>,
): Effect.fn.Return<Granting, never, RecallChannel | Scope.Scope> {
  /** Allotments with a free amount although there is too little for all. */
  const scarce = new Set<Allotment>()
  const wake = yield* Queue.sliding<void>(1)
  const refills = yield* FiberSet.make<void>()
  const runRefill = yield* FiberSet.runtime(refills)()
  // Refills that are under way end before their node does.
  yield* Effect.addFinalizer(() => FiberSet.awaitEmpty(refills))

  /** Sends parts back: all of them, or without those of an organisation whose rows are locked, which stay. */
  const send = (node: Node, parts: ReadonlyArray<Part>): Effect.Effect<void, StoreUnavailable> =>
    sendUnlocked(
      parts,
      ([{ orgId }]) => orgId,
      (some) =>
        Effect.suspend(() => store.giveBack(some.map((part) => givenBack(node, part)))).pipe(
          Effect.tapError(({ wasDone }) => Effect.sync(() => wasDone !== false && nodes.leave(node))),
        ),
      (refused) => {
        for (const [allotment, amount] of refused) allotment.free += amount
      },
    )

  /** Returns parts of allotments. If it is not known whether the store got them, the node is left. */
  const giveBack = (node: Node, partsOf: () => ReadonlyArray<Part>) =>
    Effect.uninterruptible(
      Effect.suspend(() => {
        const parts = partsOf()
        if (parts.length === 0 || node.isLeft) return Effect.void
        for (const [allotment, amount] of parts) allotment.free -= amount
        const movement = new Movement(parts.map(([allotment]) => allotment))
        return Effect.ensuring(
          Effect.asVoid(forAll(Arr.chunksOf(parts, mostParts), (some) => send(node, some))),
          Effect.sync(() => movement.end()),
        )
      }),
    )

  const giveFree = (node: Node, allotment: Allotment) =>
    giveBack(node, () => (allotment.free > 0n ? [[allotment, allotment.free]] : []))

  /** Waits until moving amounts have arrived, and returns free amounts to the store, where all parts meet. */
  const gather = (node: Node, allotment: Allotment) =>
    Effect.andThen(waitForMovements(allotment), giveFree(node, allotment))

  const recalls = yield* makeRecalls(randomUUID(), (orgId, counter) =>
    Effect.suspend(() => {
      const node = nodes.current(nodes.nowMs())
      const left = nodes.leftWith(orgId, counter)
      const allotment = node?.allotments.find(orgId, counter)
      if (node === undefined || allotment === undefined) return Effect.succeed(left)
      recordLedgerEvent(context, "recalled")
      return Effect.as(Effect.ignore(gather(node, allotment)), left + 1)
    }),
  )

  const returnScarce = Effect.suspend(() => {
    const node = nodes.current(nodes.nowMs())
    // A node that was left in the meantime returns nothing on its own.
    const due = [...scarce].filter((each) => node?.allotments.find(each.orgId, each.counter) === each)
    scarce.clear()
    const partsOf = () => due.flatMap((each) => (each.isScarce && each.free > 0n ? [[each, each.free] as const] : []))
    return node === undefined ? Effect.void : giveBack(node, partsOf)
  })
  yield* runAfter(Queue.take(wake), "Giving back what is scarce", returnScarce)

  /** Asks for a grant. If it is not known whether it was given, the node is left, and all its grants go back. */
  const allot = (node: Node, { orgId, currency }: Wanted, counters: ReadonlyArray<CounterNeed>) =>
    asking(node, store.allot({ node: node.id, orgId, currency, counters })).pipe(
      Effect.tap((answer) => Effect.sync(() => answer._tag === "Lapsed" && nodes.leave(node))),
      Effect.onError((cause) =>
        Effect.sync(() => {
          const error = Option.getOrUndefined(Cause.findErrorOption(cause))
          // The rows of its organisation are locked: nothing was granted.
          if (error?.wasDone !== false) nodes.leave(node)
        }),
      ),
    )

  /** Moves more to this node before it is needed, so that holds need not wait. */
  const refill = (node: Node, wanted: Wanted, { counter, period, limit, beside }: Need, nowMs: number) => {
    const allotment = node.allotments.find(wanted.orgId, counter)
    if (allotment === undefined || allotment.isRefilling || allotment.isScarce) return
    const chunk = allotment.chunk(nowMs)
    if (allotment.free >= chunk / 2n) return
    allotment.isRefilling = true
    const movement = new Movement([allotment])
    recordLedgerEvent(context, "refill")
    runRefill(
      allot(node, wanted, [{ counter, period, need: 0n, want: chunk, limit, beside }]).pipe(
        Effect.tap((answer) =>
          Effect.sync(() => answer._tag === "Granted" && allotment.receive(answer, limit, { owed: 0n, enough: chunk })),
        ),
        Effect.ensuring(
          Effect.sync(() => {
            allotment.isRefilling = false
            movement.end()
          }),
        ),
        Effect.ignore,
      ),
    )
  }

  const take = (wanted: Wanted): Node | undefined => {
    const nowMs = nodes.nowMs()
    const node = nodes.current(nowMs)
    if (node?.allotments.hold(wanted.orgId, wanted.needs, nowMs) !== true) return undefined
    for (const need of wanted.needs) refill(node, wanted, need, nowMs)
    return node
  }

  const allotmentFor = (node: Node, wanted: Wanted, counter: string): Allotment =>
    node.allotments.of(wanted.orgId, needOf(wanted, counter) ?? { counter }, nodes.nowMs())

  /** Allotments of the days before that have a free amount: it counts as used until it is given back. */
  const besideOf = (node: Node, wanted: Wanted, counter: string): ReadonlyArray<Allotment> =>
    (needOf(wanted, counter)?.beside ?? []).flatMap((name) => {
      const allotment = node.allotments.find(wanted.orgId, name)
      return allotment !== undefined && allotment.free > 0n ? [allotment] : []
    })

  const ask = Effect.fnUntraced(function* (wanted: Wanted): Effect.fn.Return<Answer, StoreUnavailable> {
    const { orgId, needs } = wanted
    const node = yield* nodes.enter
    if (node.allotments.hold(orgId, needs, nodes.nowMs())) return { _tag: "Held", node }
    const reservation = node.allotments.reserve(orgId, needs, nodes.nowMs())
    const granted = yield* Effect.onError(allot(node, wanted, reservation.counters), () =>
      Effect.sync(() => reservation.undo(nodes.nowMs())),
    )
    if (granted._tag === "Granted") {
      reservation.grant(granted)
      return { _tag: "Held", node }
    }
    reservation.undo(nodes.nowMs())
    if (granted._tag === "Lapsed") return granted
    // The free amount here is too small alone: all parts must meet in the store.
    const { counter } = granted
    const allotment = allotmentFor(node, wanted, counter)
    const { free } = allotment
    allotment.isScarce = true
    const before = besideOf(node, wanted, counter)
    const mayFindMore = reservation.hasMoved(counter) || free > 0n || before.length > 0
    yield* giveFree(node, allotment)
    for (const each of before) yield* giveFree(node, each)
    // Nodes of this process that are left behind are not waited for: they return nothing.
    const others = Math.max(0, granted.others - nodes.leftWith(orgId, counter))
    return { ...granted, others, available: granted.available + free, mayFindMore }
  })

  const takeSlowly = Effect.fnUntraced(function* (wanted: Wanted): Effect.fn.Return<Node | Short, StoreUnavailable> {
    const beganMs = nodes.nowMs()
    let rounds = 0
    let answer = yield* ask(wanted)
    if (answer._tag === "Lapsed") answer = yield* ask(wanted)
    while (answer._tag === "Short" && rounds < mostRounds) {
      const { counter, others, mayFindMore } = answer
      if (needOf(wanted, counter)?.isOnlyCounted === true) {
        // No call is refused: the amounts of other nodes arrive for a later hold, and this one does not wait.
        if (others > 0) runRefill(Effect.ignore(recalls.recall(wanted.orgId, counter, others)))
        break
      }
      // Nodes do not return what they hold: they are asked again only if an amount has moved in the meantime.
      if (!mayFindMore && (others === 0 || rounds > 0)) break
      if (others > 0) {
        recordLedgerEvent(context, "recall")
        yield* recalls.recall(wanted.orgId, counter, others)
      }
      const node = yield* nodes.enter
      yield* gather(node, allotmentFor(node, wanted, counter))
      rounds++
      answer = yield* ask(wanted)
    }
    recordHoldWait(context, nodes.nowMs() - beganMs)
    if (answer._tag === "Held") return answer.node
    if (answer._tag === "Short") return answer
    return yield* new StoreUnavailable({ store: "postgres", cause: "the node's lease runs out before it is answered" })
  })

  return {
    take,
    takeSlowly,
    freed: (node, allotment) => {
      if (!allotment.isScarce || allotment.free <= 0n || node.isLeft) return
      scarce.add(allotment)
      Queue.offerUnsafe(wake, undefined)
    },
    returnIdle: Effect.suspend(() => {
      const nowMs = nodes.nowMs()
      const node = nodes.current(nowMs)
      if (node === undefined) return Effect.void
      const idle: Array<readonly [Allotment, Amount]> = []
      for (const allotment of node.allotments.all()) {
        const amount = allotment.isRefilling ? 0n : allotment.idle(nowMs)
        if (amount !== 0n) idle.push([allotment, amount])
        else if (allotment.isForgotten(nowMs)) node.allotments.forget(allotment)
      }
      return giveBack(node, () => idle)
    }),
  }
})

/** Parts that are sent back in one statement: all of them arrive, or none. */
const mostParts = 256

/** A part of an allotment that moves. */
type Part = readonly [allotment: Allotment, amount: Amount]

const givenBack = (node: Node, [{ orgId, counter, period, isEmpty, isRefilling }, amount]: Part): GivenBack => {
  return { node: node.id, orgId, counter, period, amount, isLast: isEmpty && !isRefilling }
}

const needOf = ({ needs }: Wanted, counter: string): Need | undefined => needs.find((need) => need.counter === counter)

/** The number of times that a hold asks again if parts of its amounts were moving while it asked. */
const mostRounds = 3

/** The amounts of nodes for all organisations, by currency and state; the tokens of all days are one counter. */
export const sumsOf = (nodes: Iterable<Node>): IteratorObject<readonly [[string, "free" | "held"], number]> => {
  const sums = new Map<string, { free: Amount; held: Amount }>()
  for (const { allotments } of nodes) {
    for (const { counter, free, held, unbooked } of allotments.all()) {
      const name = kindOf(counter)
      const sum = sums.get(name) ?? { free: 0n, held: 0n }
      sums.set(name, { free: sum.free + free, held: sum.held + held + unbooked })
    }
  }
  return sums
    .entries()
    .flatMap(([name, { free, held }]) => [
      [[name, "free"], unitsOf(free)] as const,
      [[name, "held"], unitsOf(held)] as const,
    ])
}

/** For a metric only: not exact. */
const unitsOf = (amount: Amount): number => Number(amount) / Number(wholeAmount(1))

/** A node that waits for an answer must not end. */
const asking = <A, E>(node: Node, effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.suspend(() => {
    node.holds++
    return Effect.ensuring(
      effect,
      Effect.sync(() => {
        node.holds--
      }),
    )
  })
