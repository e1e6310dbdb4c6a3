/**
 * One automaton for many patterns: after each character it knows whether a match may have ended, and whether one may still
 * go on. Its states are made when a text reaches them. It takes assertions such as `\b` as true, so it may name a match
 * that is none, and never misses one: RE2 decides. Pure.
 */
import { following, isAssertion, isMatch, type Pattern, rangesOf, takesRune } from "./program.ts"

/** The state after a character. */
export interface State {
  /** Instructions of matches that have begun and may go on. */
  readonly live: ReadonlyArray<number>
  /** The patterns of which a match may end here. */
  readonly ended: ReadonlyArray<number>
  /** The next state by class of character. */
  readonly next: Array<State | undefined>
}

/** An instruction of any of the patterns. */
interface Step {
  readonly takes: ReadonlyArray<readonly [from: number, to: number]> | undefined
  /** The instructions after it, without those that take no character; the patterns that end after it. */
  readonly after: Closure | undefined
}

interface Closure {
  readonly live: ReadonlyArray<number>
  readonly ended: ReadonlyArray<number>
}

/** The most states that are kept; beyond it they are made again. */
const mostStates = 2000

export class Automaton {
  readonly #steps: Array<Step> = []
  /** The instructions with which a match begins. */
  readonly #first: ReadonlyArray<number>
  /** The characters at which a class begins. */
  readonly #bounds: Int32Array
  readonly #latinClasses: Uint16Array
  #states = new Map<string, State>()
  /** The state in which no match has begun. */
  readonly fresh: State = { live: [], ended: [], next: [] }

  constructor(patterns: ReadonlyArray<Pattern>) {
    const first = patterns.flatMap((pattern, which) => this.#add(pattern, which).live)
    this.#first = [...new Set(first)].filter((at) => this.#steps[at]?.takes !== undefined)
    const bounds = new Set(this.#steps.flatMap(({ takes = [] }) => takes.flatMap(([from, to]) => [from, to + 1])))
    this.#bounds = Int32Array.from(bounds).sort()
    this.#latinClasses = Uint16Array.from({ length: 256 }, (_, rune) => this.#search(rune))
    this.#states.set("", this.fresh)
  }

  /** The state after a character. @param rune a code point */
  step(state: State, rune: number): State {
    const runeClass = rune < 256 ? (this.#latinClasses[rune] ?? 0) : this.#search(rune)
    const known = state.next[runeClass]
    if (known !== undefined) return known
    const made = this.#make(state, rune)
    state.next[runeClass] = made
    return made
  }

  #make({ live }: State, rune: number): State {
    const next = new Set<number>()
    const ended = new Set<number>()
    const take = (at: number) => {
      const step = this.#steps[at]
      if (step?.takes === undefined || !isIn(step.takes, rune)) return
      for (const each of step.after?.live ?? []) next.add(each)
      for (const each of step.after?.ended ?? []) ended.add(each)
    }
    live.forEach(take)
    this.#first.forEach(take)
    const sorted = Int32Array.from(next).sort()
    const ends = Int32Array.from(ended).sort()
    const key = ends.length === 0 && sorted.length === 0 ? "" : `${sorted.join()};${ends.join()}`
    const known = this.#states.get(key)
    if (known !== undefined) return known
    const made: State = { live: [...sorted], ended: [...ends], next: [] }
    if (this.#states.size >= mostStates) this.#forget()
    this.#states.set(key, made)
    return made
  }

  #forget(): void {
    this.fresh.next.length = 0
    this.#states = new Map([["", this.fresh]])
  }

  /** Adds a pattern's instructions. @returns those with which a match begins */
  #add({ program: { start, inst } }: Pattern, which: number): Closure {
    const base = this.#steps.length
    const closures = new Map<number, Closure>()
    const closureOf = (from: number): Closure => {
      const known = closures.get(from)
      if (known !== undefined) return known
      const seen = new Set<number>()
      const live: Array<number> = []
      let ends = false
      const pending = [from]
      for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
        const instruction = inst[at]
        if (instruction === undefined || seen.has(at)) continue
        seen.add(at)
        // The character after an assertion decides it: it is alive until then.
        if (takesRune(instruction) || isAssertion(instruction)) live.push(base + at)
        if (isMatch(instruction)) ends = true
        pending.push(...following(instruction))
      }
      const closure = { live, ended: ends ? [which] : [] }
      closures.set(from, closure)
      return closure
    }
    for (const instruction of inst) {
      const takes = takesRune(instruction) ? rangesOf(instruction) : undefined
      this.#steps.push({ takes, after: takes === undefined ? undefined : closureOf(instruction.out) })
    }
    return closureOf(start)
  }

  #search(rune: number): number {
    let low = 0
    let high = this.#bounds.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#bounds[middle] ?? 0) <= rune) low = middle + 1
      else high = middle
    }
    return low
  }
}

const isIn = (ranges: ReadonlyArray<readonly [from: number, to: number]>, rune: number): boolean =>
  ranges.some(([from, to]) => from <= rune && rune <= to)
