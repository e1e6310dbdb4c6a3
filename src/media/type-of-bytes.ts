/** The type of a file by its content. */
import { Effect } from "effect"
import { type FileTypeResult, fileTypeFromBuffer } from "file-type"
import type { MediaFile } from "./media-file.ts"

/** The type of a file by its beginning; undefined if it is unknown or broken. */
export const typeOfBytes = ({ head }: Pick<MediaFile, "head">): Effect.Effect<FileTypeResult | undefined> =>
  Effect.orElseSucceed(
    Effect.tryPromise(() => fileTypeFromBuffer(head)),
    () => undefined,
  )
