/** A source of a text, as its vendor tells it. Source: fidelity "New words of twp/1". */
import { Schema } from "effect"

const Place = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

export const Citation = Schema.Struct({
  url: Schema.optionalKey(Schema.String),
  title: Schema.optionalKey(Schema.String),
  /** The words of the source. */
  text: Schema.optionalKey(Schema.String),
  /** Where the text of the reply that is based on it begins and ends, in UTF-16 code units of its block; all of it if absent. */
  start: Schema.optionalKey(Place),
  end: Schema.optionalKey(Place),
  /** A source without an address: a document, a file, a result of a tool. */
  source: Schema.optionalKey(Schema.String),
})
export type Citation = typeof Citation.Type

/** A citation of all that a vendor tells; the rest is absent. A place has its begin and its end, or is none. */
export const citationWith = ({ url, title, text, start, end, source }: Told<Citation>): Citation => ({
  ...(url !== undefined && { url }),
  ...(title !== undefined && { title }),
  ...(text !== undefined && { text }),
  ...(start !== undefined && end !== undefined && { start, end }),
  ...(source !== undefined && { source }),
})

type Told<A> = { readonly [Name in keyof A]?: A[Name] | undefined }

/** The most that a text block has. */
export const mostCitations = 1000

export const citations = Schema.optionalKey(Schema.Array(Citation).check(Schema.isMaxLength(mostCitations)))
