/** Files of Anthropic's API. Source: https://docs.anthropic.com/en/api/files-create */
import { Effect, Result, Schema } from "effect"
import type { ClientFile } from "../../../client-files/client-file.ts"
import { readFileId, writtenFileId } from "../../../client-files/file-id.ts"
import { messagesApi } from "../../../dialects/anthropic/client.ts"
import { serviceError } from "../../../protocol/error.ts"
import { invalidInput, issuesOf } from "../../../protocol/json/issues.ts"
import { decodeQuery } from "../responses/list-query.ts"
import type { FileDoor } from "./file-door.ts"

const Upload = Schema.Struct({
  expires_in_seconds: Schema.optionalKey(
    Schema.FiniteFromString.check(
      Schema.isInt(),
      Schema.isBetween({ minimum: 3600, maximum: 7_776_000 }, { expected: "a number of seconds from 3600 to 7776000" }),
    ),
  ),
})
const decodeUpload = Schema.decodeUnknownResult(Upload, { onExcessProperty: "error", errors: "all" })

/** Lists go on from the newest: other ways to ask are refused, and not answered with other files. */
const Refused = Schema.optionalKey(Schema.Never.annotate({ expected: "a list by limit and page" }))
const Id = Schema.optionalKey(Schema.String.check(Schema.isMaxLength(64)))

/** `page` is the newer form, `after_id` the older. */
const Query = Schema.Struct({
  limit: Schema.NumberFromString.check(Schema.isInt(), Schema.isBetween({ minimum: 1, maximum: 1000 })).pipe(
    Schema.withDecodingDefaultKey(Effect.succeed("20")),
  ),
  page: Id,
  after_id: Id,
  before_id: Refused,
  "ids[]": Refused,
})

const idOf = ({ id }: Pick<ClientFile, "id">) => writtenFileId("anthropic", id)

const object: FileDoor["object"] = (file) => ({
  id: idOf(file),
  type: "file",
  filename: file.name,
  mime_type: file.mime,
  size_bytes: file.bytes,
  created_at: file.createdAt.toISOString(),
  expires_at: file.eraseAt?.toISOString() ?? null,
  downloadable: true,
})

export const anthropicFiles: FileDoor = {
  api: messagesApi,
  paths: ["/anthropic/v1/files"],
  written: (id) => id,
  upload: (fields) =>
    Result.mapBoth(decodeUpload(fields), {
      onSuccess: ({ expires_in_seconds: seconds }) => ({
        purpose: "user_data",
        keptMs: seconds === undefined ? undefined : seconds * 1000,
      }),
      onFailure: (error) => invalidInput(issuesOf(error)),
    }),
  query: (call) =>
    Effect.flatMap(decodeQuery(Query, call), ({ limit, page, after_id }) => {
      const after = page ?? after_id
      const last = after === undefined ? undefined : readFileId(after)
      return after !== undefined && last === undefined
        ? Effect.fail(invalidInput([{ path: "page", message: "is no page" }]))
        : Effect.succeed({ limit, after: last, order: "desc" as const, purpose: undefined })
    }),
  object,
  list: (files, hasMore, origin) => {
    const [first] = files
    const last = files.at(-1)
    const lastId = last === undefined ? null : idOf(last)
    return {
      data: files.map((file) => object(file, origin)),
      next_page: hasMore ? lastId : null,
      has_more: hasMore,
      first_id: first === undefined ? null : idOf(first),
      last_id: lastId,
    }
  },
  deleted: (id) => ({ id, type: "file_deleted" }),
  notFound: (id) => serviceError("not_found", `File not found: ${id.slice(0, 128)}`),
}
