/** Long parts of a reply, for which marks stand in its JSON. */

/** A part whose chunks are made when they are written. */
export interface StoredPart {
  readonly bytes: number
  /** Bytes of memory that it takes until it is written. */
  readonly heldBytes: number
  /** Each chunk belongs to its reader. */
  readonly chunks: () => AsyncGenerator<Uint8Array>
}

/** A part of what is written. */
export type WrittenPart = string | Uint8Array | StoredPart

export const isStored = (part: WrittenPart): part is StoredPart => typeof part === "object" && "chunks" in part

export const bytesOfParts = (parts: ReadonlyArray<WrittenPart>): number =>
  parts.reduce((sum, part) => sum + (isStored(part) ? part.bytes : Buffer.byteLength(part)), 0)

export interface Marked {
  /** Whether there is no mark in what is written. */
  readonly isEmpty: boolean
  /** A text with marks as what is written of it. */
  readonly partsOf: (marked: string) => ReadonlyArray<WrittenPart>
  /** Gives back what the parts take; absent where that is memory alone. */
  readonly close?: () => Promise<void>
}

/** Takes the long parts out of a vendor's reply as it comes. */
export interface LongParts {
  /** Takes the bytes of one read. @returns what is read of them as JSON */
  readonly take: (bytes: Uint8Array) => Uint8Array
  /** The end of the JSON, if it was waited for. */
  readonly rest?: () => Uint8Array
  /** @returns a promise of what is written to the disk now, if anything is; it fails where there is no room */
  readonly written?: () => Promise<unknown> | undefined
  /** Whether the rest cannot be read. */
  readonly isMalformed: boolean
}
