/** Reads a form (`multipart/form-data`, RFC 7578) while it arrives: fields into memory, files into the spool. */
import { ByteSize, Effect, type Scope } from "effect"
import { MultipartParser } from "effect/http"
import { bodyTooLarge, type ServiceError, serviceError } from "../protocol/error.ts"
import { invalidInput } from "../protocol/json/issues.ts"
import type { NamedFile } from "./media-file.ts"
import type { FileWriter, Spool } from "./spool.ts"
import { notStored, type SpoolError } from "./spooled-bytes.ts"

/** A form may name a field several times. */
export interface Form {
  readonly fields: ReadonlyMap<string, ReadonlyArray<string>>
  readonly files: ReadonlyMap<string, ReadonlyArray<NamedFile>>
}

export type FormError = SpoolError | ServiceError<"bad_request" | "payload_too_large" | "internal_error">

const maxParts = 64
const maxFieldBytes = 256 * 1024
const maxNameLength = 255

interface OpenFile {
  readonly field: string
  readonly mime: string
  readonly name: string | undefined
  readonly chunks: Array<Uint8Array>
  isWhole: boolean
}

export const readForm = (
  spool: Spool["Service"],
  contentType: string,
  body: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Effect.Effect<Form, FormError, Scope.Scope> =>
  Effect.gen(function* () {
    const fields = new Map<string, Array<string>>()
    const files = new Map<string, Array<NamedFile>>()
    let problem: FormError | undefined
    let isDone = false
    // Parts of files that were read and are not in the spool yet, in order.
    const open: Array<OpenFile> = []
    const parser = MultipartParser.make({
      headers: { "content-type": contentType },
      maxParts,
      maxFieldSize: ByteSize.bytes(maxFieldBytes),
      onField: (info, value) => {
        problem ??= longName(info.name)
        fields.set(info.name, [...(fields.get(info.name) ?? []), MultipartParser.decodeField(info, value)])
      },
      onFile: ({ name: field, filename: name, contentType: mime }) => {
        problem ??= longName(field) ?? longName(name ?? "")
        const file: OpenFile = { field, mime, name, chunks: [], isWhole: false }
        open.push(file)
        return (chunk) => {
          if (chunk === null) file.isWhole = true
          else file.chunks.push(chunk)
        }
      },
      onError: (error) => {
        problem ??= refused(error)
      },
      onDone: () => {
        isDone = true
      },
    })

    let writer: FileWriter | undefined
    const store = Effect.gen(function* () {
      for (let file = open[0]; file !== undefined; file = open[0]) {
        const into: FileWriter = writer ?? (yield* spool.create)
        writer = into
        for (const chunk of file.chunks.splice(0)) into.add(chunk)
        yield* Effect.tryPromise({ try: () => into.flush(), catch: (cause) => notStored("A file", cause) })
        if (!file.isWhole) return
        const { field, mime, name } = file
        files.set(field, [...(files.get(field) ?? []), { file: into.file(), mime, name }])
        writer = undefined
        open.shift()
      }
    })

    const chunks = body[Symbol.asyncIterator]()
    let bytes = 0
    while (problem === undefined) {
      const next = yield* Effect.tryPromise({ try: () => chunks.next(), catch: () => unreadable() })
      if (next.done === true) break
      bytes += next.value.length
      if (bytes > maxBytes) return yield* bodyTooLarge(maxBytes)
      parser.write(next.value)
      yield* store
    }
    if (problem === undefined) {
      parser.end()
      yield* store
    }
    if (problem !== undefined) return yield* problem
    if (!isDone) return yield* refused({ _tag: "EndNotReached" })
    return { fields, files }
  })

const unreadable = () => serviceError("bad_request", "The body could not be read")

const longName = (name: string) =>
  name.length > maxNameLength
    ? invalidInput([{ path: "", message: `the name of a part has at most ${maxNameLength} characters` }])
    : undefined

const refused = (error: MultipartParser.MultipartError) => invalidInput([{ path: "", message: wordsOf(error) }])

const wordsOf = (error: MultipartParser.MultipartError): string => {
  switch (error._tag) {
    case "InvalidBoundary":
      return "the content type of a form must name its boundary"
    case "BadHeaders":
      return "the headers of a part are not valid"
    case "InvalidDisposition":
      return "a part of the form has no name"
    case "ReachedLimit":
      return error.limit === "MaxParts"
        ? `a form has at most ${maxParts} parts`
        : `a field of a form has at most ${maxFieldBytes} bytes`
    case "EndNotReached":
      return "the form ended before its last boundary"
  }
}
