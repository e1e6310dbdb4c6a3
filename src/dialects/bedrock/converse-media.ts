/** Pictures, documents, videos and sound of Converse towards clients: as data; other places are AWS's own. */
import { all, carried, type FieldReader, type FieldTable, isAbsent, own, present } from "../client/fields.ts"
import type { JsonObject } from "../parse/json.ts"
import { mimeOfAudio, mimeOfDocument, mimeOfImage, mimeOfVideo } from "./attachments.ts"
import { type MemberReaders, readMember } from "./converse-members.ts"

interface Medium {
  readonly t: "image" | "file" | "video" | "audio"
  readonly mimeOf: (format: string) => string | undefined
  readonly fields: FieldTable
  readonly sources: MemberReaders<Data>
}

/** The data in base64, and whether it was a text. */
interface Data {
  readonly data: string
  readonly isText: boolean
}

const ofText = (text: string): Data => ({ data: Buffer.from(text).toString("base64"), isText: true })

const bytes: MemberReaders<Data>[string] = (reader, value, path) => ({
  data: reader.string(value, path),
  isText: false,
})

const s3Location: MemberReaders<Data>[string] = (reader, _, path) => {
  reader.refuse(path, "is not supported: send the bytes")
  return { data: "", isText: false }
}

const inBytes = { bytes, s3Location }
const inTexts: MemberReaders<Data> = {
  ...inBytes,
  text: (reader, value, path) => ofText(reader.string(value, path)),
  content: (reader, value, path) =>
    ofText(
      reader
        .list(value, path)
        .map((part, index) => {
          const at = `${path}.${index}`
          return reader.string(reader.checked(all(carried, "text"), part, at)["text"], `${at}.text`)
        })
        .join("\n"),
    ),
}

const mediumFields = all(carried, "format", "source")
const documentFields: FieldTable = {
  ...mediumFields,
  ...all(carried, "name"),
  context: own(),
  citations: own({ enabled: false }),
}

const readMedium =
  ({ t, mimeOf, fields, sources }: Medium) =>
  (reader: FieldReader, value: unknown, path: string): ReadonlyArray<JsonObject> => {
    const media = reader.checked(fields, value, path)
    const source = readMember(reader, sources, reader.object(media["source"], `${path}.source`), `${path}.source`)
    const { format } = media
    // A document's text needs no format.
    const mime =
      source?.isText === true && isAbsent(format) ? "text/plain" : mimeOf(reader.string(format, `${path}.format`))
    if (mime === undefined) reader.refuse(`${path}.format`, "is not a format of the API")
    else if (source?.isText === true && !mime.startsWith("text/"))
      reader.refuse(`${path}.format`, "is not the format of a text")
    return [present({ t, mime, data: source?.data, name: media["name"] })]
  }

export const mediaReaders = {
  image: readMedium({ t: "image", mimeOf: mimeOfImage, fields: mediumFields, sources: inBytes }),
  document: readMedium({ t: "file", mimeOf: mimeOfDocument, fields: documentFields, sources: inTexts }),
  video: readMedium({ t: "video", mimeOf: mimeOfVideo, fields: mediumFields, sources: inBytes }),
  audio: readMedium({ t: "audio", mimeOf: mimeOfAudio, fields: mediumFields, sources: inBytes }),
}
