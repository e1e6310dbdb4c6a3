/** A scenario: it measures its subjects, with some effort, and returns rows. */
import type { Subjects } from "./subjects.ts"

export interface Row {
  readonly what: string
  readonly unit: string
  readonly weir: number
  /** The floor's figure, or the one that the note names. */
  readonly floor?: number
  /** The largest difference between two rounds of Weir. */
  readonly spread?: number
  readonly note?: string
  /** The budget: for the ratio to the floor, or for Weir's figure. */
  readonly budget?: { readonly of: "ratio" | "value"; readonly max: number }
}

export interface Effort {
  readonly rounds: number
  /** Share of a round's requests; 1 is all of them. */
  readonly scale: number
  /** Open at once in `paced`. */
  readonly streams: number
}

export type Scenario = (subjects: Subjects, effort: Effort) => Promise<ReadonlyArray<Row>>
