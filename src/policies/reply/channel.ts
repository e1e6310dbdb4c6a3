/** One text of a streamed reply under review: the words of a reply, its reasoning, or the arguments of one call. */
import type { ReviewedPart } from "../../protocol/catalogue/policy.ts"
import { type Found, TextWindow } from "../text/window.ts"
import type { EngineGate } from "./engine-gate.ts"
import { JsonPlaces } from "./json-places.ts"
import { type ReplyReview, type TextEdit, withEdits } from "./reply-review.ts"
import type { PartRules } from "./reply-rules.ts"

/** Characters that are read in one turn. */
const turnLength = 16 * 1024
/** Characters that wait for the end of a match. */
const mostHeld = 64 * 1024

export interface ChannelKind {
  readonly part: ReviewedPart
  /** Whether its text is JSON. */
  readonly isJson: boolean
}

export class Channel {
  readonly #review: ReplyReview
  #rules: PartRules
  #window: TextWindow
  /** The offset at which the window's text begins. */
  #windowAt = 0
  readonly #isJson: boolean
  /** Undefined if its text is no JSON, or has no masks. */
  readonly #places: JsonPlaces | undefined
  /** Undefined if no engine is asked. */
  readonly #gate: EngineGate | undefined
  /** The end of the text that was written before this channel. */
  readonly #writtenTo: number
  /** Edits in their order, of which the first ones are done. */
  readonly #edits: Array<TextEdit> = []
  #done = 0
  #maskedTo: number
  /** The end of the text so far. */
  length: number
  /** The end of the text that the rules let go on. */
  #ruled = 0
  /** Text that is read in later turns. */
  #unread = ""
  #hasEnded = false
  #read: (() => void) | undefined

  /** @param before the end of the same text, which was written when other text came; a match may begin in it */
  constructor(review: ReplyReview, { part, isJson }: ChannelKind, before = "") {
    this.#review = review
    this.#isJson = isJson
    this.#rules = review.rulesOf(part)
    if (isJson && this.#rules.policies.some((policy) => policy?.action === "mask")) this.#places = new JsonPlaces()
    this.#window = new TextWindow(this.#rules.set, isJson)
    this.#gate = review.gate(part, before.length)
    this.#writtenTo = before.length
    this.#maskedTo = before.length
    this.length = before.length
    if (before === "") return
    this.#window.push(this.#complete(before))
    this.#take()
  }

  /** The text without a number of JSON that may go on. */
  #complete(text: string): string {
    return this.#places?.push(text) ?? text
  }

  /** No more comes of a number of JSON. */
  #pushRest(): void {
    const rest = this.#places?.end() ?? ""
    if (rest === "") return
    this.#window.push(rest)
    this.#take()
  }

  /** The end of the text that may go on. */
  get clearTo(): number {
    return this.#gate === undefined ? this.#ruled : Math.min(this.#ruled, this.#gate.clearTo)
  }

  /** Whether all of its text may go on as it is. */
  get isClear(): boolean {
    return this.clearTo === this.length && this.#done === this.#edits.length
  }

  /** Waits for later turns and for the engines, after the end of its text. */
  get settled(): Promise<void> | undefined {
    if (this.#unread === "") return this.#gate?.settled
    const read = new Promise<void>((resolve) => {
      this.#read = resolve
    })
    return read.then(() => this.#gate?.settled)
  }

  push(text: string): void {
    this.length += text.length
    const { inTurns } = this.#review
    if (inTurns === undefined || (this.#unread === "" && text.length <= turnLength)) {
      this.#add(text)
      return
    }
    const isFirst = this.#unread === ""
    this.#unread += text
    if (isFirst) inTurns(() => this.#turn(inTurns))
  }

  /** Its text has ended. */
  end(): void {
    this.#hasEnded = true
    if (this.#unread === "") this.#finish()
  }

  /** Other text comes: nothing waits any more. @returns the text that was not clear */
  pause(): string {
    if (this.#unread !== "") this.#add(this.#unread)
    this.#unread = ""
    this.#pushRest()
    const waiting = this.#window.after(this.#ruled - this.#windowAt)
    this.end()
    return waiting
  }

  #turn(inTurns: (turn: () => void) => void): void {
    if (this.#unread === "") return
    this.#add(this.#unread.slice(0, turnLength))
    this.#unread = this.#review.denial === undefined ? this.#unread.slice(turnLength) : ""
    if (this.#unread !== "") inTurns(() => this.#turn(inTurns))
    else {
      if (this.#hasEnded) this.#finish()
      this.#read?.()
    }
    this.#review.onAnswer()
  }

  #finish(): void {
    this.#pushRest()
    this.#gate?.end()
    if (this.#ruled === this.length) return
    this.#window.end()
    this.#take()
  }

  #add(text: string): void {
    this.#window.push(this.#complete(text))
    this.#take()
    this.#bound()
    if (this.#review.denial === undefined) this.#gate?.push(text)
  }

  /** A match that goes on without end would hold all that follows. */
  #bound(): void {
    const isShort = this.length - this.#unread.length - this.#ruled <= mostHeld
    if (isShort || this.#review.denial !== undefined) return
    const held = this.#window.after(this.#ruled - this.#windowAt)
    const rules = this.#review.withoutLong(this.#rules, mostHeld)
    if (rules === undefined) return
    this.#rules = rules
    this.#window = new TextWindow(rules.set, this.#isJson)
    this.#windowAt = this.#ruled
    this.#window.push(held)
    this.#take()
  }

  #take(): void {
    if (this.#review.denial !== undefined) return
    const at = this.#windowAt
    const clearTo = at + this.#window.clearTo
    const found =
      at === 0
        ? this.#window.found
        : this.#window.found.map((match) => ({ ...match, start: at + match.start, end: at + match.end }))
    const fresh = this.#writtenTo === 0 ? found : found.filter((match) => this.#isFresh(match))
    if (fresh.length === 0) {
      this.#ruled = this.#wordFrom(clearTo)
      return
    }
    const { edits, deniedAt } = this.#review.decide(
      fresh,
      this.#rules,
      this.#isJson,
      this.#maskedTo,
      false,
      this.#places,
    )
    for (const edit of edits) this.#edits.push(edit)
    this.#maskedTo = this.#edits.at(-1)?.end ?? this.#maskedTo
    this.#ruled = deniedAt ?? this.#wordFrom(clearTo)
  }

  /** A number of JSON goes on whole, because a match in it replaces all of it. */
  #wordFrom(clearTo: number): number {
    return this.#places?.wordFrom(clearTo) ?? clearTo
  }

  /** Whether a match is not all in the text that was written before; a mark that begins there cannot be put back. */
  #isFresh({ start, end, rule }: Found): boolean {
    return end > this.#writtenTo && (start >= this.#writtenTo || this.#rules.policies[rule] !== undefined)
  }

  /** The clear text of a part with its edits. @param at the offset of the part */
  written(text: string, at: number): string {
    if (this.#done === this.#edits.length) return text
    const made = withEdits(text, at, this.#edits, this.#done)
    while ((this.#edits[this.#done]?.end ?? Number.POSITIVE_INFINITY) <= at + text.length) this.#done++
    return made
  }
}
