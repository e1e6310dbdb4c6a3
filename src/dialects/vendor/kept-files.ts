/** Files that are stored at a vendor: they are sent by their id, and to that vendor alone. */
import type { Block, SealingDialect } from "../../protocol/block.ts"
import type { EncodeRefusal } from "../wire.ts"

/** Whether a block names a file that a target cannot have. @param dialect of the target; undefined if it stores none */
export const isKeptElsewhere = (block: Block, dialect: SealingDialect | undefined): boolean =>
  (block.t === "image" || block.t === "file") && block.kept !== undefined && block.kept.dialect !== dialect

export const keptElsewhere: EncodeRefusal = {
  capability: "file_id",
  message: "this model's vendor does not have this file: send it with the request",
}
