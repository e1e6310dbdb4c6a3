/**
 * A request that names files of its caller, with their content in the place of their ids: vendors do not know these files, and
 * policies, prices and limits see what is in them.
 */
import { isUtf8 } from "node:buffer"
import { Effect, Result, Semaphore, Stream } from "effect"
import { Catalogue } from "../../../catalogue/catalogue.ts"
import type { ClientFile } from "../../../client-files/client-file.ts"
import { ClientFiles } from "../../../client-files/client-files.ts"
import { readFileId } from "../../../client-files/file-id.ts"
import type { InlinedFile } from "../../../client-files/vendor-files.ts"
import { contentOf64 } from "../../../client-files/vendor-references.ts"
import { WeirConfig } from "../../../config.ts"
import type { ClientApi } from "../../../dialects/client/client-api.ts"
import { generateApi } from "../../../dialects/gemini/client.ts"
import { isObject } from "../../../dialects/parse/json.ts"
import type { Caller } from "../../../identity/caller.ts"
import { ownerOf } from "../../../kept-responses/kept-response.ts"
import { partsInclude } from "../../../media/parts-include.ts"
import { bodyTooLarge, type ServiceError, serviceError } from "../../../protocol/error.ts"
import { parseBody } from "../../../protocol/json/json-body.ts"
import { cut, editJson, type JsonEdit, type JsonPath, set } from "../../../protocol/json/json-edit.ts"
import type { StoreUnavailable } from "../../../store/unavailable.ts"

/** Without one of these, a request is not read here. */
const marks = ['"file_id"']
const geminiMarks = ['"fileUri"', '"file_uri"']

/** Whether a request of an API may name files. */
export const namesFiles = (api: Pick<ClientApi, "name">, parts: ReadonlyArray<Uint8Array>): boolean =>
  partsInclude(parts, api.name === generateApi.name ? geminiMarks : marks)

/** The requests of a node whose files are read at a time: each may be as large as a body. */
const mostReading = 8

export const makeInlineFiles = Effect.gen(function* () {
  const files = yield* ClientFiles
  const catalogue = yield* Catalogue
  const { bodyMaxBytes } = yield* WeirConfig
  const reading = yield* Semaphore.make(mostReading)

  const contentOf = Effect.fnUntraced(function* (file: ClientFile) {
    const bytes = yield* files.content(file)
    const parts = yield* Effect.mapError(Stream.runCollect(bytes), (cause) =>
      serviceError("internal_error", "A file of the request could not be read now", { cause, retryAfterMs: 1000 }),
    )
    return Buffer.concat(parts)
  })

  /** Whether any vendor keeps files itself. */
  const areKeptByVendors = () =>
    catalogue.current().document.vendors?.some((vendor) => vendor.files === "vendor") === true

  /** @param found receives each file, if vendors may keep it */
  const inlined = Effect.fnUntraced(function* (
    caller: Caller,
    body: Uint8Array,
    found?: (file: InlinedFile) => void,
  ): Effect.fn.Return<Uint8Array, ServiceError | StoreUnavailable> {
    if (!hasId(body)) return body
    const parsed = parseBody(body)
    // A body that is too large to be read here may name files too.
    if (Result.isFailure(parsed)) return yield* parsed.failure
    const places = placesIn(parsed.success)
    return places.length === 0 ? body : yield* reading.withPermit(withContents(caller, body, places, found))
  })

  const withContents = Effect.fnUntraced(function* (
    caller: Caller,
    body: Uint8Array,
    places: ReadonlyArray<Place>,
    found?: (file: InlinedFile) => void,
  ): Effect.fn.Return<Uint8Array, ServiceError | StoreUnavailable> {
    const contents = new Map<string, FileContent>()
    let left = bodyMaxBytes - body.length
    const edits: Array<JsonEdit> = []
    for (const { id, written, edit } of places) {
      const known = contents.get(id)
      const file = known === undefined ? yield* files.find(caller.org.id, ownerOf(caller), id) : undefined
      if (known === undefined && file === undefined) return yield* fileNotFound(written)
      // Base64 has four characters for three bytes.
      left -= Math.ceil((known?.bytes.length ?? file?.bytes ?? 0) / 3) * 4
      if (left < 0) return yield* bodyTooLarge(bodyMaxBytes)
      const content = known ?? {
        name: file?.name ?? id,
        mime: file?.mime ?? "",
        bytes: file ? yield* contentOf(file) : empty,
      }
      contents.set(id, content)
      if (file !== undefined && found !== undefined && areKeptByVendors()) {
        found({ file, content: contentOf64(content.bytes.toString("base64")) })
      }
      edits.push(...edit(content))
    }
    const whole = editJson(body, edits)
    return whole.length > bodyMaxBytes ? yield* bodyTooLarge(bodyMaxBytes) : whole
  })
  return inlined
})

const empty = Buffer.alloc(0)

interface FileContent {
  readonly name: string
  readonly mime: string
  readonly bytes: Buffer
}

interface Place {
  readonly id: string
  /** The id as its client wrote it. */
  readonly written: string
  readonly edit: (file: FileContent) => ReadonlyArray<JsonEdit>
}

const dataUrl = ({ mime, bytes }: FileContent) => `data:${mime};base64,${bytes.toString("base64")}`

const hasId = (body: Uint8Array): boolean =>
  /"(?:[^"]{0,200}\/)?(?:file[-_]|files\/)[a-z2-7]{26}"/.test(
    Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("latin1"),
  )

/** The places of a request, in any of the APIs, that have ids of files of ours. Other ids are those of vendors. */
const placesIn = (body: unknown): ReadonlyArray<Place> => {
  const places: Array<Place> = []
  const add = (written: unknown, edit: Place["edit"]) => {
    const name = typeof written === "string" ? /(?:file[-_]|files\/)[a-z2-7]+$/.exec(written)?.[0] : undefined
    const id = name === undefined ? undefined : readFileId(name)
    if (id !== undefined && name !== undefined) places.push({ id, written: name, edit })
  }
  const walk = (value: unknown, path: JsonPath): void => {
    if (Array.isArray(value)) for (const [at, each] of value.entries()) walk(each, [...path, at])
    if (!isObject(value)) return
    const { type, file, source, fileData, file_data: fileDataToo } = value
    const drop = cut(...path, "file_id")
    if (type === "input_file") {
      const named = value["filename"] === undefined
      add(value["file_id"], (content) => [
        drop,
        set(dataUrl(content), ...path, "file_data"),
        ...(named ? [set(content.name, ...path, "filename")] : []),
      ])
    }
    if (type === "input_image") add(value["file_id"], (content) => [drop, set(dataUrl(content), ...path, "image_url")])
    // OpenAI's chat.
    if (type === "file" && isObject(file)) {
      add(file["file_id"], (content) => [
        set({ filename: content.name, ...file, file_id: undefined, file_data: dataUrl(content) }, ...path, "file"),
      ])
    }
    // Anthropic.
    if (isObject(source) && source["type"] === "file") {
      add(source["file_id"], (content) => [set(sourceOf(content), ...path, "source")])
    }
    // Gemini, in both spellings.
    for (const [name, data] of [
      ["fileData", fileData],
      ["file_data", fileDataToo],
    ] as const) {
      if (!isObject(data)) continue
      const mime = data["mimeType"] ?? data["mime_type"]
      add(data["fileUri"] ?? data["file_uri"], (content) => [
        cut(...path, name),
        set(
          { mimeType: typeof mime === "string" ? mime : content.mime, data: content.bytes.toString("base64") },
          ...path,
          "inlineData",
        ),
      ])
    }
    for (const [member, each] of Object.entries(value)) walk(each, [...path, member])
  }
  walk(body, [])
  return places
}

/** Texts are texts for Anthropic, and no documents in base64. */
const sourceOf = ({ mime, bytes }: FileContent) =>
  mime.startsWith("text/") && isUtf8(bytes)
    ? { type: "text", media_type: "text/plain", data: bytes.toString("utf8") }
    : { type: "base64", media_type: mime, data: bytes.toString("base64") }

const fileNotFound = (written: string) =>
  serviceError("not_found", `No such File object: ${written}`, { detail: { file: written } })
