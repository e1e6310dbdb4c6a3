/** A source of a text, as its vendor reports it. */
import { Schema } from "effect"

const Place = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

export const Citation = Schema.Struct({
  url: Schema.optionalKey(Schema.String),
  title: Schema.optionalKey(Schema.String),
  /** The text of the source. */
  text: Schema.optionalKey(Schema.String),
  /**
   * The part of the reply's text that is based on it: its begin and its end, in UTF-16 code units of its block; all of the
   * text if absent.
   */
  start: Schema.optionalKey(Place),
  end: Schema.optionalKey(Place),
  /** A source without an address: a document, a file, a result of a tool. */
  source: Schema.optionalKey(Schema.String),
})
export type Citation = typeof Citation.Type

/** A citation of the fields that a vendor reports; the others are absent. A location has its begin and its end, or is absent. */
export const citationWith = ({ url, title, text, start, end, source }: Told<Citation>): Citation => ({
  ...(url !== undefined && { url }),
  ...(title !== undefined && { title }),
  ...(text !== undefined && { text }),
  ...(start !== undefined && end !== undefined && { start, end }),
  ...(source !== undefined && { source }),
})

type Told<A> = { readonly [Name in keyof A]?: A[Name] | undefined }

/** The maximum number of citations of a text block. */
export const mostCitations = 1000

export const citations = Schema.optionalKey(Schema.Array(Citation).check(Schema.isMaxLength(mostCitations)))
