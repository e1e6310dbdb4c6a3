/**
 * Values that are added and removed with each call. They are not in a Set or a Map: V8 links the table of one to the table
 * that replaces it, so that once a table is in the old space, as the current one is after each full collection, the values of
 * all later ones stay, with all that they can reach, until the next full collection.
 */
import { Effect, Fiber, type Scope } from "effect"

export interface Member<A> {
  readonly value: A
  /** The index among the others; -1 after its removal. */
  place: number
}

/** Values in no particular order. */
export class Members<A> implements Iterable<A> {
  readonly #all: Array<Member<A>> = []

  get size(): number {
    return this.#all.length
  }

  add(value: A): Member<A> {
    const member = { value, place: this.#all.length }
    this.#all.push(member)
    return member
  }

  /** Does nothing if it has been removed before. */
  remove(member: Member<A>): void {
    const { place } = member
    if (place === -1) return
    member.place = -1
    const last = this.#all.pop()
    if (last === undefined || last === member) return
    this.#all[place] = last
    last.place = place
  }

  *[Symbol.iterator](): Iterator<A> {
    for (const { value } of [...this.#all]) yield value
  }
}

/** Values by a key, of any text. */
export class Keyed<A> {
  readonly #values: Record<string, A> = Object.create(null)
  #size = 0

  get size(): number {
    return this.#size
  }

  get(key: string | number): A | undefined {
    return this.#values[key]
  }

  has(key: string | number): boolean {
    return key in this.#values
  }

  set(key: string | number, value: A): void {
    if (!this.has(key)) this.#size++
    this.#values[key] = value
  }

  delete(key: string | number): void {
    if (!this.has(key)) return
    this.#size--
    delete this.#values[key]
  }

  /** Removes a value. @returns undefined if it is not there */
  take(key: string | number): A | undefined {
    const value = this.#values[key]
    this.delete(key)
    return value
  }

  values(): ReadonlyArray<A> {
    return Object.values(this.#values)
  }

  entries(): ReadonlyArray<readonly [key: string, value: A]> {
    return Object.entries(this.#values)
  }
}

/** Returns a function that runs an effect until the scope closes: then its fiber is interrupted, and waited for. */
export const makeForkIn: Effect.Effect<<A, E>(effect: Effect.Effect<A, E>) => Fiber.Fiber<A, E>, never, Scope.Scope> =
  Effect.gen(function* () {
    const fork = Effect.runForkWith(yield* Effect.context<never>())
    const running = new Members<Fiber.Fiber<unknown, unknown>>()
    let isClosed = false
    yield* Effect.addFinalizer(() => {
      isClosed = true
      return Fiber.interruptAll(running)
    })
    return (effect) => {
      const fiber = fork(effect)
      const member = running.add(fiber)
      fiber.addObserver(() => running.remove(member))
      if (isClosed) fiber.interruptUnsafe()
      return fiber
    }
  })
