/**
 * Looks for matches of many patterns in a text that comes in pieces. A match is reported when no further text can change it,
 * and text is clear when no match can begin in it any more: however the text is cut, the matches are those of the whole. Pure.
 */
import { Automaton, type State } from "../pattern/automaton.ts"
import type { Pattern } from "../pattern/program.ts"
import type { Spelled, Speller } from "./spelling.ts"

/** A pattern with a check of its matches, e.g. of a card's last digit. */
export interface SearchedPattern extends Pattern {
  readonly verify?: ((match: string) => boolean) | undefined
  /** Whether text that fails the check has no other match in it. */
  readonly isWhole?: boolean | undefined
  /** Characters that a mark makes the first one of a match. */
  readonly bases?: ReadonlyArray<string>
}

/** Patterns that are looked for together. */
export interface PatternSet {
  readonly patterns: ReadonlyArray<SearchedPattern>
  readonly automaton: Automaton
  /** The most characters that may have to wait for those that follow; infinite if there is no limit. */
  readonly delay: number
  /** Characters that may become the first one of a match when a mark follows. */
  readonly bases: ReadonlySet<string>
  /** Whether a match can begin with a text, by texts of a character. */
  readonly begins: Map<string, boolean>
}

/** Whether a match can begin in a text of a character. */
const mayBegin = ({ automaton, bases, begins }: PatternSet, text: string): boolean => {
  const known = begins.get(text)
  if (known !== undefined) return known
  let { fresh: state } = automaton
  let may = false
  for (const character of text) {
    state = automaton.step(state, character.codePointAt(0) ?? 0)
    may ||= bases.has(character) || state.live.length > 0 || state.ended.length > 0
  }
  if (text.length === 1 && text < "\u0080") begins.set(text, may)
  return may
}

export const patternSet = (patterns: ReadonlyArray<SearchedPattern>): PatternSet => ({
  patterns,
  automaton: new Automaton(patterns),
  delay: Math.max(0, ...patterns.map(({ longest, looksBeside }) => longest - 1 + Number(looksBeside))),
  bases: new Set(patterns.flatMap(({ bases = [] }) => bases)),
  begins: new Map(),
})

export interface Match {
  /** The position of its pattern in the set. */
  readonly pattern: number
  /** Offsets in the text from its beginning. */
  readonly start: number
  readonly end: number
}

const nothing: ReadonlyArray<Match> = []

/** Text before the clear end that is kept, because `\b` and `^` look at it: one character. */
const kept = 2

export class Scan {
  readonly #set: PatternSet
  readonly #speller: Speller | undefined
  /** The spelled text that is not clear, with a character before it. */
  #text = ""
  /** The offset of its first unit in the own text; each unit's, if they do not follow one another. */
  #base = 0
  #starts: Array<number> | undefined
  #ownEnd = 0
  #state: State
  /** The first half of a pair whose other half is in the next piece. */
  #half = ""
  /** The end of the text that the automaton has seen, and the last place where no match was alive. */
  #seen = 0
  #freshAt = 0
  /** The place from which each pattern is searched for. */
  readonly #from: Array<number>
  /** The patterns of which a match may have ended. */
  readonly #ended = new Set<number>()
  #searchedTo = -1
  /** The offset before which no further match begins. */
  clearTo = 0
  /** The matches of the last push. */
  matches: ReadonlyArray<Match> = nothing

  constructor(set: PatternSet, speller?: Speller) {
    this.#set = set
    this.#speller = speller
    this.#state = set.automaton.fresh
    this.#from = set.patterns.map(() => 0)
  }

  push(piece: string): void {
    const speller = this.#speller
    if (speller === undefined) {
      this.#ownEnd += piece.length
      this.#run(piece)
    } else this.#add(speller.push(piece))
    const horizon = Math.max(this.#freshAt, this.#seen - this.#set.delay)
    this.#resolve(horizon)
    const clearTo = speller === undefined ? this.#ownAt(horizon) : this.#clearOf(speller, horizon)
    // A mark that follows a clear character changes no match.
    if (clearTo > this.clearTo) this.clearTo = clearTo
    this.#trim(horizon)
  }

  /** The text has ended. */
  end(): void {
    if (this.#speller !== undefined) this.#add(this.#speller.waiting())
    this.#resolve(this.#text.length + 1)
    this.clearTo = this.#ownEnd
  }

  #clearOf(speller: Speller, horizon: number): number {
    if (speller.isCut || this.#freshAt < this.#text.length) return this.#ownAt(horizon)
    // Characters that wait for a mark cannot begin a match, whether it comes or not.
    const waiting = speller.waiting()
    return mayBegin(this.#set, waiting.text) ? this.#ownAt(horizon) : waiting.end
  }

  #add({ text, starts, from, end }: Spelled): void {
    if (this.#text === "" && starts === undefined) {
      this.#base = from
      this.#starts = undefined
    } else if (this.#starts !== undefined || starts !== undefined || from !== this.#base + this.#text.length) {
      this.#starts ??= Array.from({ length: this.#text.length }, (_, at) => this.#base + at)
      for (let at = 0; at < text.length; at++) this.#starts.push(starts?.[at] ?? from + at)
    }
    this.#ownEnd = end
    this.#run(text)
  }

  /** Only the new text is read: what waits before it may be long. */
  #run(added: string): void {
    const { automaton } = this.#set
    const text = this.#half + added
    const from = this.#text.length - this.#half.length
    this.#text += added
    this.#half = ""
    let state = this.#state
    let at = 0
    while (at < text.length) {
      const rune = text.codePointAt(at) ?? 0
      if (at === text.length - 1 && rune >= 0xd800 && rune <= 0xdbff) {
        this.#half = text.slice(at)
        break
      }
      state = automaton.step(state, rune)
      at += rune > 0xffff ? 2 : 1
      if (state.live.length === 0) this.#freshAt = from + at
      if (state.ended.length > 0) for (const pattern of state.ended) this.#ended.add(pattern)
    }
    this.#state = state
    this.#seen = from + at
  }

  /** Finds the matches that begin before a place. */
  #resolve(horizon: number): void {
    this.matches = nothing
    if (this.#ended.size === 0 || horizon <= this.#searchedTo) return
    this.#searchedTo = horizon
    const matches: Array<Match> = []
    for (const pattern of this.#ended) this.#search(pattern, horizon, matches)
    this.matches = matches
  }

  #search(which: number, horizon: number, matches: Array<Match>): void {
    const pattern = this.#set.patterns[which]
    if (pattern === undefined) return
    // Whether there is a match is answered many times faster than where it is.
    if (!pattern.regex.test(this.#text)) {
      this.#ended.delete(which)
      return
    }
    const matcher = pattern.regex.matcher(this.#text)
    let from = this.#from[which] ?? 0
    while (from <= this.#text.length && matcher.find(from)) {
      const start = matcher.start()
      const end = matcher.end()
      if (start >= horizon) {
        this.#from[which] = Math.max(from, horizon)
        return
      }
      const isMatch = pattern.verify?.(this.#text.slice(start, end)) ?? true
      if (isMatch) matches.push({ pattern: which, start: this.#ownAt(start), end: this.#ownEndOf(end) })
      from = isMatch || pattern.isWhole === true ? Math.max(end, start + 1) : start + 1
    }
    this.#from[which] = from
    this.#ended.delete(which)
  }

  #ownAt(at: number): number {
    if (this.#starts === undefined) return Math.min(this.#base + at, this.#ownEnd)
    return this.#starts[at] ?? this.#ownEnd
  }

  /** The end of the own character that the last unit of a match belongs to. */
  #ownEndOf(end: number): number {
    const starts = this.#starts
    if (starts === undefined) return this.#base + end
    let at = end
    while (at < starts.length && starts[at] === starts[end - 1]) at++
    return this.#ownAt(at)
  }

  #trim(horizon: number): void {
    const cut = Math.min(horizon, this.#seen) - kept
    if (cut < trimmedAt) return
    this.#text = this.#text.slice(cut)
    this.#base += cut
    this.#starts = this.#starts?.slice(cut)
    this.#seen -= cut
    this.#freshAt = Math.max(0, this.#freshAt - cut)
    this.#searchedTo -= cut
    // A search begins after the text that is clear; before that there is only what its assertions look at.
    this.#from.forEach((from, at) => {
      this.#from[at] = Math.max(kept, from - cut)
    })
  }
}

/** Text is cut off in parts of this length. */
const trimmedAt = 256
