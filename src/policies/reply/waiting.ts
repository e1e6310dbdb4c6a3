/** Events of a stream that wait until their text is clear. */
import type { VendorFrame } from "../../dialects/carry/vendor-frame.ts"
import type { Delta, ToolResultDelta } from "../../protocol/event.ts"
import type { JsonPath } from "../../protocol/json/json-edit.ts"
import type { Channel } from "./channel.ts"

/** A part of a channel's text. */
export interface Piece {
  readonly channel: Channel
  readonly at: number
  readonly text: string
  /** Its position in a frame. */
  readonly path?: JsonPath
}

export interface WaitingDelta {
  readonly kind: "delta"
  readonly delta: Delta
  readonly json: string | undefined
  readonly piece: Piece | undefined
}

/** An event that waits until its text is clear. */
export type Waiting =
  | WaitingDelta
  | { readonly kind: "result"; readonly delta: ToolResultDelta; readonly piece: undefined }
  | { readonly kind: "frame"; readonly frame: VendorFrame; readonly pieces: ReadonlyArray<Piece> }

/** Adds a text to its channel. */
export const pieceOf = (channel: Channel, text: string, path?: JsonPath): Piece => {
  const at = channel.length
  channel.push(text)
  return { channel, at, text, ...(path !== undefined && { path }) }
}
