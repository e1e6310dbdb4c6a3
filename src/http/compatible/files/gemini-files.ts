/** Files of Gemini's API. Source: https://ai.google.dev/api/files */
import { Effect, Result, Schema } from "effect"
import { readFileId, writtenFileId } from "../../../client-files/file-id.ts"
import { generateApi } from "../../../dialects/gemini/client.ts"
import { serviceError } from "../../../protocol/error.ts"
import { invalidInput } from "../../../protocol/json/issues.ts"
import { geminiVersions } from "../model-path.ts"
import { decodeQuery } from "../responses/list-query.ts"
import type { FileDoor } from "./file-door.ts"

/** The time for which files of this API are kept. */
export const geminiFileMs = 48 * 3_600_000

const Query = Schema.Struct({
  pageSize: Schema.NumberFromString.check(Schema.isInt(), Schema.isBetween({ minimum: 1, maximum: 100 })).pipe(
    Schema.withDecodingDefaultKey(Effect.succeed("10")),
  ),
  pageToken: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(64))),
})

const object: FileDoor["object"] = (file, origin) => {
  const name = writtenFileId("gemini", file.id)
  return {
    name,
    displayName: file.name,
    mimeType: file.mime,
    sizeBytes: String(file.bytes),
    createTime: file.createdAt.toISOString(),
    updateTime: file.createdAt.toISOString(),
    ...(file.eraseAt !== undefined && { expirationTime: file.eraseAt.toISOString() }),
    uri: `${origin}/gemini/v1beta/${name}`,
    state: "ACTIVE",
    source: "UPLOADED",
  }
}

export const geminiFiles: FileDoor = {
  api: generateApi,
  paths: geminiVersions.map((version) => `/gemini/${version}/files` as const),
  /** Source: https://ai.google.dev/gemini-api/docs/batch-api */
  downloadPaths: geminiVersions.map((version) => `/gemini/download/${version}/files` as const),
  written: (name) => `files/${name}`,
  upload: () => Result.fail(invalidInput([{ path: "", message: "is no form" }])),
  query: (call) =>
    Effect.flatMap(decodeQuery(Query, call), ({ pageSize, pageToken }) => {
      const after = pageToken === undefined ? undefined : readFileId(`files/${pageToken}`)
      return pageToken !== undefined && after === undefined
        ? Effect.fail(invalidInput([{ path: "pageToken", message: "is no page" }]))
        : Effect.succeed({ limit: pageSize, after, order: "desc" as const, purpose: undefined })
    }),
  object,
  list: (files, hasMore, origin) => {
    const last = hasMore ? files.at(-1) : undefined
    return {
      files: files.map((file) => object(file, origin)),
      ...(last !== undefined && { nextPageToken: last.id }),
    }
  },
  deleted: () => ({}),
  notFound: (id) => serviceError("not_found", `File ${id.slice(0, 128)} not found.`),
}
