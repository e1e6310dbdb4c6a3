/** A conversation: its metadata and its items, each sealed alone. */
import { Option, Schema } from "effect"
import { compress, decompressAtMost } from "../files/zstd.ts"
import type { AppendedItems } from "../money/settlement.ts"
import type { Sealer } from "../store/seal.ts"

export type Metadata = Readonly<Record<string, string>>

/** Whether an id is that of a conversation. */
export const isConversationId = (id: string): boolean => /^conv_[0-9a-f]{32}$/.test(id)

/** An item as a text of JSON, as it was sent or made. */
export interface ConversationItem {
  readonly id: string
  readonly text: string
}

/** A sealed item. */
export interface SealedItem {
  readonly id: string
  readonly content: Uint8Array
}

const MetadataJson = Schema.fromJsonString(Schema.Record(Schema.String, Schema.String))
const encodeMetadata = Schema.encodeSync(MetadataJson)
const decodeMetadata = Schema.decodeUnknownOption(MetadataJson)

/** The largest metadata: 16 names of 64 characters with texts of 512. */
const mostMetadataBytes = 256 * 1024

/** The organisation and the ids: content of another entry cannot be opened in its place. */
const itemContext = (orgId: string, conversationId: string, id: string) =>
  `conversation item ${orgId} ${conversationId} ${id}`
const metadataContext = (orgId: string, id: string) => `conversation ${orgId} ${id}`

export const sealItem = (
  sealer: Sealer,
  orgId: string,
  conversationId: string,
  { id, text }: ConversationItem,
): Buffer => sealer.sealBytes(compress(text), itemContext(orgId, conversationId, id))

/** Undefined if it was sealed with another key, or is larger than so many bytes. */
export const openItem = (
  sealer: Sealer,
  orgId: string,
  conversationId: string,
  { id, content }: SealedItem,
  mostBytes: number,
): ConversationItem | undefined => {
  const opened = sealer.openBytes(content, itemContext(orgId, conversationId, id))
  const text = opened && decompressAtMost(opened, mostBytes)
  return text === undefined ? undefined : { id, text }
}

export const sealMetadata = (sealer: Sealer, orgId: string, id: string, metadata: Metadata): Buffer =>
  sealer.sealBytes(compress(encodeMetadata(metadata)), metadataContext(orgId, id))

export const openMetadata = (sealer: Sealer, orgId: string, id: string, content: Uint8Array): Metadata | undefined => {
  const opened = sealer.openBytes(content, metadataContext(orgId, id))
  const text = opened && decompressAtMost(opened, mostMetadataBytes)
  return text === undefined ? undefined : Option.getOrUndefined(decodeMetadata(text))
}

/** The items that a response adds to a conversation, for its settlement. */
export const appendedItems = (
  sealer: Sealer,
  orgId: string,
  conversationId: string,
  items: ReadonlyArray<ConversationItem>,
): AppendedItems => ({
  id: conversationId,
  items: items.map((item) => ({
    id: item.id,
    sealed: sealItem(sealer, orgId, conversationId, item).toString("base64"),
  })),
})
