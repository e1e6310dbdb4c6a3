/** Frames of a stream as their vendor sent them. */

/** The bytes around the text of a frame, from its first byte to its blank line. */
export interface TextEnvelope {
  /** The bytes up to and including the opening quote. */
  readonly before: string
  /** The bytes from the closing quote on. */
  readonly after: string
  readonly block: number
}

/** A frame of a stream, or a whole body, as its vendor sent it. */
export interface VendorFrame {
  /** The name of its event; absent if it has none. */
  readonly name?: string | undefined
  /** Its JSON; with an envelope only that of the text in it. */
  readonly json: string
  /** The bytes around the text, if a frame before it had the same. */
  readonly envelope?: TextEnvelope | undefined
}
