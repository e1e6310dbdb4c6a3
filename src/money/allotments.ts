/**
 * The money and tokens that a node may hold against, in its memory: for each organisation and counter, the free part of its
 * allotment. No function here waits, so a hold that is covered is one step.
 */
import { type Amount, maxAmount } from "./amount.ts"
import type { Counter } from "./counters.ts"
import type { CounterNeed, Granted } from "./ledger-store.ts"
import { Movement, type Moving } from "./movement.ts"
import type { Period } from "./periods.ts"

/** The amount that a hold takes of one counter. */
export interface Need extends Counter {
  readonly amount: Amount
  /** The limit of a budget. */
  readonly limit?: Amount | undefined
  /** Counters whose use counts as well. */
  readonly beside?: ReadonlyArray<string> | undefined
  /** Whether it refuses nothing: then no hold waits for amounts of other nodes. */
  readonly isOnlyCounted?: boolean
}

/** The time for which a grant should last. */
const chunkMs = 2000
/** The time after which an unused amount is returned. */
const idleMs = 5000
/**
 * The time after which a small unused amount is returned (small beside the balance when it was granted): an occasional caller
 * comes again.
 */
const restMs = 60_000
const restShare = 64n
/** The time after which an empty and unused allotment is removed. */
const forgetMs = 60_000

/** The free part of an allotment, and the rate at which it is used. */
export class Allotment implements Moving, Counter {
  readonly orgId: string
  readonly counter: string
  readonly period: Period | undefined
  /** The amount free for holds; negative if costs exceeded the allotment. */
  free: Amount = 0n
  held: Amount = 0n
  /** The cost of settlements that the books do not have yet. */
  unbooked: Amount = 0n
  /** The organisation's balance, as last reported by the books. */
  balance: Amount = 0n
  /** Whether there is too little to keep more than the holds need. */
  isScarce = false
  /** Whether it is being refilled. */
  isRefilling = false
  #moving: Set<Movement> | undefined
  #moved = 0
  /** Whether the store has granted any, and under which limit: if the limit changes, holds ask again. */
  #isGranted = false
  #limit: Amount | undefined
  #burnt: Amount = 0n
  #burntBefore: Amount = 0n
  #burntSinceMs: number
  #lowest: Amount = 0n
  #lowestSinceMs: number
  #usedAtMs: number
  /** The amount that may stay unused for longer. */
  #small: Amount = 0n

  constructor(orgId: string, { counter, period }: Counter, nowMs: number) {
    this.orgId = orgId
    this.counter = counter
    this.period = period
    this.#burntSinceMs = nowMs
    this.#lowestSinceMs = nowMs
    this.#usedAtMs = nowMs
  }

  /** The amounts that the node held in the present {@link chunkMs} and in the one before. */
  chunk(nowMs: number): Amount {
    this.#turn(nowMs)
    return maxAmount(this.#burnt, this.#burntBefore)
  }

  covers({ amount, limit }: Need): boolean {
    return this.#isGranted && this.free >= amount && this.#limit === limit
  }

  /** Takes for a hold; the caller has checked that it is covered, or owes the rest. */
  receive(
    granted: Extract<Granted, { readonly _tag: "Granted" }>,
    limit: Amount | undefined,
    { owed, enough }: { readonly owed: Amount; readonly enough: Amount },
  ): void {
    const amount = granted.grants.get(this.counter) ?? 0n
    this.#isGranted = true
    this.#limit = limit
    this.free += amount - owed
    this.isScarce = granted.scarce.has(this.counter) && (amount < enough || amount === owed)
    this.balance = granted.balance
    this.#small = (granted.available.get(this.counter) ?? 0n) / restShare
  }

  /** Takes for a hold; the caller has looked whether it is covered, or owes the rest. */
  take(amount: Amount, nowMs: number): void {
    this.#turn(nowMs)
    this.#burnt += amount
    this.#usedAtMs = nowMs
    this.free -= amount
    this.held += amount
    if (this.free < this.#lowest) this.#lowest = this.free
  }

  /** Ends a hold, with or without a cost. */
  end(amount: Amount, cost: Amount, nowMs: number): void {
    this.#usedAtMs = nowMs
    this.held -= amount
    this.free += amount - cost
    if (this.free < this.#lowest) this.#lowest = this.free
  }

  /** Ends a hold whose settlement the books do not have yet. */
  endAhead(amount: Amount, cost: Amount, nowMs: number): void {
    this.end(amount, cost, nowMs)
    this.unbooked += cost
  }

  /** The settlement of a hold that was ended ahead is in the books, at its cost or for nothing. */
  booked(cost: Amount, isBilled: boolean, nowMs: number): void {
    this.unbooked -= cost
    if (!isBilled) this.end(0n, -cost, nowMs)
  }

  /**
   * The amount that was free for {@link idleMs} and not used, unless it may stay; a debt, once no hold is open. Starts a new
   * measurement.
   */
  idle(nowMs: number): Amount {
    if (nowMs - this.#lowestSinceMs < idleMs) return 0n
    this.#lowestSinceMs = nowMs
    const spare = this.#lowest < this.free ? this.#lowest : this.free
    this.#lowest = this.free
    if (spare > 0n) return this.#mayRest(nowMs) ? 0n : spare
    return this.held === 0n && nowMs - this.#usedAtMs >= idleMs ? this.free : 0n
  }

  #mayRest(nowMs: number): boolean {
    return this.free + this.held <= this.#small && nowMs - this.#usedAtMs < restMs
  }

  beginMovement(movement: Movement): void {
    this.#moved++
    this.#moving ??= new Set()
    this.#moving.add(movement)
  }

  endMovement(movement: Movement): void {
    this.#moving?.delete(movement)
    if (this.#moving?.size === 0) this.#moving = undefined
  }

  /** A number that stays the same as long as no amount has moved; undefined while one moves. */
  rest(): number | undefined {
    return this.#moving === undefined ? this.#moved : undefined
  }

  movements(): ReadonlyArray<Movement> {
    return this.#moving === undefined ? [] : [...this.#moving]
  }

  /** Whether it has nothing, in the books either. */
  get isEmpty(): boolean {
    return this.free === 0n && this.held === 0n && this.unbooked === 0n
  }

  isForgotten(nowMs: number): boolean {
    return this.isEmpty && !this.isRefilling && nowMs - this.#usedAtMs > forgetMs
  }

  #turn(nowMs: number): void {
    const passedMs = nowMs - this.#burntSinceMs
    if (passedMs < chunkMs) return
    this.#burntBefore = passedMs < 2 * chunkMs ? this.#burnt : 0n
    this.#burnt = 0n
    this.#burntSinceMs = nowMs
  }
}

/** The allotments of a node, from when it joined until it leaves. */
export class Allotments {
  readonly #byOrg = new Map<string, Map<string, Allotment>>()

  of(orgId: string, counter: Counter, nowMs: number): Allotment {
    let counters = this.#byOrg.get(orgId)
    if (counters === undefined) {
      counters = new Map()
      this.#byOrg.set(orgId, counters)
    }
    let allotment = counters.get(counter.counter)
    if (allotment === undefined) {
      allotment = new Allotment(orgId, counter, nowMs)
      counters.set(counter.counter, allotment)
    }
    return allotment
  }

  find(orgId: string, counter: string): Allotment | undefined {
    return this.#byOrg.get(orgId)?.get(counter)
  }

  *all(): Generator<Allotment> {
    for (const counters of this.#byOrg.values()) yield* counters.values()
  }

  forget({ orgId, counter }: Allotment): void {
    const counters = this.#byOrg.get(orgId)
    counters?.delete(counter)
    if (counters?.size === 0) this.#byOrg.delete(orgId)
  }

  /** Holds if every need is covered; otherwise changes nothing. */
  hold(orgId: string, needs: ReadonlyArray<Need>, nowMs: number): boolean {
    const counters = this.#byOrg.get(orgId)
    if (counters === undefined) return false
    for (const need of needs) if (counters.get(need.counter)?.covers(need) !== true) return false
    for (const { counter, amount } of needs) counters.get(counter)?.take(amount, nowMs)
    return true
  }

  /** Reserves the free amounts for a hold, and returns what is missing. */
  reserve(orgId: string, needs: ReadonlyArray<Need>, nowMs: number): Reservation {
    return new Reservation(
      needs.map((need) => [need, this.of(orgId, need, nowMs)]),
      nowMs,
    )
  }
}

interface Part {
  readonly need: Need
  readonly allotment: Allotment
  /** Whether it was unused before this hold took from it. */
  readonly rested: number | undefined
  /** Whether the store must be asked; otherwise the need is covered. */
  readonly isAsked: boolean
  /** Whether this hold asks for more than it needs. */
  readonly refills: boolean
  readonly owed: Amount
  /** The amount that it asks for, without the next hold. */
  readonly enough: Amount
}

/** A hold that waits for a grant: it has taken its amounts already, and owes what was missing. */
export class Reservation {
  readonly #parts: ReadonlyArray<Part>
  readonly #movement: Movement
  /** The amounts to ask for. */
  readonly counters: ReadonlyArray<CounterNeed>

  constructor(needs: ReadonlyArray<readonly [Need, Allotment]>, nowMs: number) {
    this.#parts = needs.map(([need, allotment]) => {
      const rested = allotment.rest()
      const isAsked = !allotment.covers(need)
      // A scarce counter is asked for the whole amount: a part that is taken here is missing to a smaller hold in the meantime.
      const isWhole = isAsked && allotment.isScarce
      const refills = isAsked && !isWhole && !allotment.isRefilling
      if (refills) allotment.isRefilling = true
      allotment.take(need.amount, nowMs)
      const owed = maxAmount(isWhole ? need.amount : 0n, -allotment.free)
      // The debt is this hold's to pay: another that comes in the meantime must not ask for it again.
      allotment.free += owed
      const enough = refills ? maxAmount(allotment.chunk(nowMs), owed) : owed
      return { need, allotment, rested, isAsked, refills, owed, enough }
    })
    this.#movement = new Movement(
      this.#parts.flatMap(({ need, allotment, refills, owed }) => (refills || owed < need.amount ? [allotment] : [])),
    )
    this.counters = this.#parts
      .filter(({ isAsked }) => isAsked)
      .map(({ need: { counter, period, amount, limit, beside }, refills, owed, enough }) => {
        // It asks for the next hold too: an occasional caller does not wait each time.
        return { counter, period, need: owed, want: refills ? maxAmount(enough, owed + amount) : owed, limit, beside }
      })
  }

  /** The grant has come. */
  grant(granted: Extract<Granted, { readonly _tag: "Granted" }>): void {
    for (const { need, allotment, isAsked, refills, owed, enough } of this.#parts) {
      if (refills) allotment.isRefilling = false
      if (isAsked) allotment.receive(granted, need.limit, { owed, enough })
    }
    this.#movement.end()
  }

  /** There is no grant: returns the amounts that were taken. */
  undo(nowMs: number): void {
    for (const { need, allotment, refills, owed } of this.#parts) {
      if (refills) allotment.isRefilling = false
      allotment.free -= owed
      allotment.end(need.amount, 0n, nowMs)
    }
    this.#movement.end()
  }

  /** Whether an amount of a counter has moved since this hold began to wait, by the hold itself or by others. */
  hasMoved(counter: string): boolean {
    const part = this.#parts.find(({ need }) => need.counter === counter)
    return part?.rested === undefined || part.rested !== part.allotment.rest()
  }
}
