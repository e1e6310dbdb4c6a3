/**
 * The texts of a reply's blocks as one text, as some clients read it, and its citations with their positions in it. A
 * citation without a position means all of its block: its position is known when the block has ended.
 */
import type { Citation } from "../../protocol/citation.ts"

export type PlacedCitation = Citation & Required<Pick<Citation, "start" | "end">>

interface JoinedBlock {
  readonly begin: number
  length: number
}

const none: ReadonlyArray<PlacedCitation> = []

export class JoinedText {
  #length = 0
  readonly #blocks = new Map<number, JoinedBlock>()
  /** The block that may go on, and its number. */
  #open: JoinedBlock | undefined
  #number = -1
  /** Citations of the open block that are returned when it ends. */
  #waiting: Array<Citation> = []

  /** @returns the citations of a block that ended with it */
  add(block: number, text: string): ReadonlyArray<PlacedCitation> {
    const ended = block === this.#number ? none : this.#moveTo(block)
    this.#length += text.length
    if (this.#open !== undefined) this.#open.length += text.length
    return ended
  }

  /** @returns the citations whose positions are known, and those of a block that ended with them */
  cite(block: number, citations: ReadonlyArray<Citation>): ReadonlyArray<PlacedCitation> {
    const known = this.#blocks.get(block)
    if (known !== undefined && known !== this.#open) return citations.map((citation) => placedIn(known, citation))
    const ended = this.#moveTo(block)
    const begun = this.#open
    if (begun === undefined) return ended
    const isFirst = this.#waiting.length === 0
    const firstWhole = citations.findIndex(({ end }) => end === undefined)
    const placed = isFirst ? citations.slice(0, firstWhole < 0 ? citations.length : firstWhole) : []
    this.#waiting.push(...citations.slice(placed.length))
    return [...ended, ...placed.map((citation) => placedIn(begun, citation))]
  }

  /** Ends the open block. @returns the citations that waited for it */
  end(): ReadonlyArray<PlacedCitation> {
    const ended = this.#open
    this.#open = undefined
    this.#number = -1
    if (ended === undefined || this.#waiting.length === 0) return none
    const waiting = this.#waiting
    this.#waiting = []
    return waiting.map((citation) => placedIn(ended, citation))
  }

  #moveTo(block: number): ReadonlyArray<PlacedCitation> {
    const known = this.#blocks.get(block)
    if (known !== undefined && known === this.#open) return none
    const ended = this.end()
    this.#open = known ?? { begin: this.#length, length: 0 }
    this.#number = block
    this.#blocks.set(block, this.#open)
    return ended
  }
}

const placedIn = ({ begin, length }: JoinedBlock, citation: Citation): PlacedCitation => {
  const { start = 0, end = length } = citation
  return { ...citation, start: begin + start, end: begin + end }
}
