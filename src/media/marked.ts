/** Long parts of a reply, for which its JSON has placeholders. */

/** A part whose chunks are made when they are written. */
export interface StoredPart {
  readonly bytes: number
  /** Bytes of memory that it takes until it is written. */
  readonly heldBytes: number
  /** Each chunk belongs to its reader. */
  readonly chunks: () => AsyncGenerator<Uint8Array>
}

/** A part of the written reply. */
export type WrittenPart = string | Uint8Array | StoredPart

export const isStored = (part: WrittenPart): part is StoredPart => typeof part === "object" && "chunks" in part

export const bytesOfParts = (parts: ReadonlyArray<WrittenPart>): number =>
  parts.reduce((sum, part) => sum + (isStored(part) ? part.bytes : Buffer.byteLength(part)), 0)

export interface Marked {
  /** Whether the written reply has no placeholder. */
  readonly isEmpty: boolean
  /** The parts of a text with placeholders, as they are written. */
  readonly partsOf: (marked: string) => ReadonlyArray<WrittenPart>
  /** Releases the storage of the parts; absent if that is memory alone. */
  readonly close?: () => Promise<void>
}

/** Takes the long parts out of a vendor's reply while it arrives. */
export interface LongParts {
  /**
   * Takes the bytes of one read.
   * @returns the bytes to parse as JSON
   */
  readonly take: (bytes: Uint8Array) => Uint8Array
  /** The end of the JSON, if it was waited for. */
  readonly rest?: () => Uint8Array
  /** @returns a promise of what is written to the disk now, if anything is; it fails where there is no room */
  readonly written?: () => Promise<unknown> | undefined
  /** Whether the rest cannot be read. */
  readonly isMalformed: boolean
}
