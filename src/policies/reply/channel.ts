/** One text of a streamed reply under review: the words of a reply, its reasoning, or the arguments of one call. */
import type { ReviewedPart } from "../../protocol/catalogue/policy.ts"
import { TextWindow } from "../text/window.ts"
import type { EngineGate } from "./engine-gate.ts"
import { type ReplyReview, type TextEdit, withEdits } from "./reply-review.ts"
import type { PartRules } from "./reply-rules.ts"

export class Channel {
  readonly #review: ReplyReview
  readonly #rules: PartRules
  readonly #window: TextWindow
  readonly #isJson: boolean
  #edits: ReadonlyArray<TextEdit> = []
  #maskedTo = 0
  /** Undefined if no engine is asked. */
  readonly #gate: EngineGate | undefined
  /** The end of the text so far. */
  length = 0
  /** The end of the text that the rules let go on. */
  #ruled = 0

  constructor(review: ReplyReview, part: ReviewedPart) {
    this.#review = review
    this.#isJson = part === "toolArguments"
    this.#rules = review.rulesOf(part)
    this.#window = new TextWindow(this.#rules.set, this.#isJson)
    this.#gate = review.gate(part)
  }

  /** The end of the text that may go on. */
  get clearTo(): number {
    return this.#gate === undefined ? this.#ruled : Math.min(this.#ruled, this.#gate.clearTo)
  }

  /** Waits for the engines, after the end of its text. */
  get settled(): Promise<void> | undefined {
    return this.#gate?.settled
  }

  push(text: string): void {
    this.length += text.length
    this.#window.push(text)
    this.#take()
    if (this.#review.denial === undefined) this.#gate?.push(text)
  }

  /** Its text has ended. */
  end(): void {
    this.#gate?.end()
    if (this.#ruled === this.length) return
    this.#window.end()
    this.#take()
  }

  /** Whether all of its text may go on as it is. */
  get isClear(): boolean {
    return this.clearTo === this.length && this.#edits.length === 0
  }

  #take(): void {
    const { clearTo, found } = this.#window
    if (this.#review.denial !== undefined) return
    if (found.length === 0) {
      this.#ruled = clearTo
      return
    }
    const { edits, deniedAt } = this.#review.decide(found, this.#rules, this.#isJson, this.#maskedTo)
    this.#edits = [...this.#edits, ...edits]
    this.#maskedTo = this.#edits.at(-1)?.end ?? this.#maskedTo
    this.#ruled = deniedAt ?? clearTo
  }

  /** The clear text of a part with its edits. @param at the offset of the part */
  written(text: string, at: number): string {
    if (this.#edits.length === 0) return text
    const made = withEdits(text, at, this.#edits)
    this.#edits = this.#edits.filter(({ end }) => end > at + text.length)
    return made
  }
}
