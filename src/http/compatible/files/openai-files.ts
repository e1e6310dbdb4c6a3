/** Files of OpenAI's API. Source: https://platform.openai.com/docs/api-reference/files */
import { Effect, Result, Schema } from "effect"
import type { ClientFile } from "../../../client-files/client-file.ts"
import { readFileId, writtenFileId } from "../../../client-files/file-id.ts"
import { chatApi } from "../../../dialects/openai-chat/client.ts"
import { serviceError } from "../../../protocol/error.ts"
import { invalidInput, issuesOf } from "../../../protocol/json/issues.ts"
import { decodeQuery } from "../responses/list-query.ts"
import { type FileDoor, secondsOf } from "./file-door.ts"

export const purposes = ["assistants", "batch", "fine-tune", "vision", "user_data", "evals"] as const

/** The time after which files for batches are erased if their client names none. */
export const batchMs = 30 * 86_400_000

const Seconds = Schema.FiniteFromString.check(
  Schema.isInt(),
  Schema.isBetween({ minimum: 3600, maximum: 2_592_000 }, { expected: "a number of seconds from 3600 to 2592000" }),
)

/** In JSON. */
export const ExpiresAfter = Schema.Struct({
  anchor: Schema.Literal("created_at"),
  seconds: Schema.Int.check(
    Schema.isBetween({ minimum: 3600, maximum: 2_592_000 }, { expected: "a number of seconds from 3600 to 2592000" }),
  ),
})

const Upload = Schema.Struct({
  purpose: Schema.Literals(purposes),
  expires_after: Schema.optionalKey(
    Schema.Struct({ anchor: Schema.Literal("created_at"), seconds: Seconds }).annotate({
      expected: "expires_after[anchor] and expires_after[seconds]",
    }),
  ),
})
const decodeUpload = Schema.decodeUnknownResult(Upload, { onExcessProperty: "error", errors: "all" })

const Query = Schema.Struct({
  limit: Schema.NumberFromString.check(Schema.isInt(), Schema.isBetween({ minimum: 1, maximum: 10_000 })).pipe(
    Schema.withDecodingDefaultKey(Effect.succeed("10000")),
  ),
  after: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(64))),
  order: Schema.Literals(["asc", "desc"]).pipe(Schema.withDecodingDefaultKey(Effect.succeed("desc" as const))),
  purpose: Schema.optionalKey(Schema.Literals(purposes)),
})

/** A file for batches has lines: its name says so, and its content is read when a batch is made of it. */
export const fitsPurpose = (purpose: (typeof purposes)[number], name: string): boolean =>
  purpose !== "batch" || name.toLowerCase().endsWith(".jsonl")
export const noLines = serviceError("bad_request", "Invalid file format for Batch API. Must be .jsonl")

const idOf = ({ id }: Pick<ClientFile, "id">) => writtenFileId("openai", id)

const object: FileDoor["object"] = (file) => ({
  id: idOf(file),
  object: "file",
  bytes: file.bytes,
  created_at: secondsOf(file.createdAt),
  expires_at: file.eraseAt === undefined ? null : secondsOf(file.eraseAt),
  filename: file.name,
  purpose: file.purpose,
  status: "processed",
  status_details: null,
})

export const openaiFiles: FileDoor = {
  api: chatApi,
  paths: ["/openai/v1/files"],
  written: (id) => id,
  upload: (fields, name) =>
    Result.flatMap(
      Result.mapError(decodeUpload(fields), (error) => invalidInput(issuesOf(error))),
      ({ purpose, expires_after }) => {
        if (!fitsPurpose(purpose, name)) return Result.fail(noLines)
        const keptMs =
          expires_after === undefined ? (purpose === "batch" ? batchMs : undefined) : expires_after.seconds * 1000
        return Result.succeed({ purpose, keptMs })
      },
    ),
  query: (call) =>
    Effect.flatMap(decodeQuery(Query, call), ({ after, purpose, ...page }) => {
      const last = after === undefined ? undefined : readFileId(after)
      return after !== undefined && last === undefined
        ? Effect.fail(invalidInput([{ path: "after", message: "is the id of no file" }]))
        : Effect.succeed({ ...page, purpose, after: last })
    }),
  object,
  list: (files, hasMore, origin) => {
    const [first] = files
    const last = files.at(-1)
    return {
      object: "list",
      data: files.map((file) => object(file, origin)),
      first_id: first === undefined ? null : idOf(first),
      last_id: last === undefined ? null : idOf(last),
      has_more: hasMore,
    }
  },
  deleted: (id) => ({ id, object: "file", deleted: true }),
  notFound: (id) => serviceError("not_found", `No such File object: ${id.slice(0, 128)}`),
}
