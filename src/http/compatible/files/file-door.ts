/** How clients of one API write files: their ids, the fields of an upload, lists, and the objects that they get. */
import type { Effect, Schema } from "effect"
import type { ClientFile } from "../../../client-files/client-file.ts"
import type { FilePage } from "../../../client-files/file-directory.ts"
import type { ErrorWords } from "../../../dialects/client/whole-client.ts"
import type { JsonObject } from "../../../dialects/parse/json.ts"
import type { ServiceError } from "../../../protocol/error.ts"
import type { Decoded } from "../../../protocol/json/json-body.ts"
import type { Authenticated } from "../../caller-request.ts"

export interface UploadFields {
  readonly purpose: string
  /** The time for which it is kept, in milliseconds; undefined if it is kept until it is erased. */
  readonly keptMs: number | undefined
}

export interface FileDoor {
  readonly api: ErrorWords
  /** The paths of its versions. */
  readonly paths: ReadonlyArray<`/${string}`>
  /** Further paths at which content is read. */
  readonly downloadPaths?: ReadonlyArray<`/${string}`>
  /** The id in a path, as the API writes it. */
  readonly written: (inPath: string) => string
  /** @param fields of the form, without the file @param name of the file */
  readonly upload: (fields: Schema.JsonObject, name: string) => Decoded<UploadFields>
  readonly query: (call: Authenticated) => Effect.Effect<FilePage, ServiceError<"bad_request">>
  /** @param origin the public address of the gateway */
  readonly object: (file: ClientFile, origin: string) => JsonObject
  readonly list: (files: ReadonlyArray<ClientFile>, hasMore: boolean, origin: string) => JsonObject
  /** @param id as the client wrote it */
  readonly deleted: (id: string) => JsonObject
  readonly notFound: (id: string) => ServiceError<"not_found">
}

export const secondsOf = (date: Date): number => Math.floor(date.getTime() / 1000)
