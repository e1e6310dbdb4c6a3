/**
 * Documents of Cohere's clients, which other APIs have no place for: they are text, in the message that they belong to.
 * Source: https://docs.cohere.com/docs/retrieval-augmented-generation-rag
 */
import { textBlock } from "../client/client-parts.ts"
import { all, carried, type FieldReader } from "../client/fields.ts"
import { isObject, type JsonObject } from "../parse/json.ts"

/** The text of a document, or its members as JSON. */
export const documentText = (data: unknown): string => {
  if (typeof data === "string") return data
  const isText = isObject(data) && Object.keys(data).length === 1 && typeof data["text"] === "string"
  return isText ? String(data["text"]) : JSON.stringify(data)
}

/** A document of a message, which has its data and perhaps an id. */
export const documentIn = (reader: FieldReader, value: unknown, path: string): JsonObject => {
  const document = reader.checked(all(carried, "data", "id"), value, path)
  const { data } = document
  if (!isObject(data) && typeof data !== "string") reader.refuse(`${path}.data`, "must be an object or a string")
  return document
}

/** Documents, one in a line, under the ids that the client gave them. */
const documentsText = (documents: ReadonlyArray<unknown>): string =>
  ["Documents, as JSON, one in a line:", ...documents.map((document) => JSON.stringify(document))].join("\n")

/**
 * A thread with documents before the words of its last user, who asks about them.
 * @param documents each a text, or an object
 */
export const withDocuments = (
  reader: FieldReader,
  thread: ReadonlyArray<JsonObject>,
  documents: ReadonlyArray<unknown>,
): ReadonlyArray<JsonObject> => {
  if (documents.length === 0) return thread
  const last = thread.findLastIndex(({ role }) => role === "user")
  if (last < 0) reader.refuse("documents", "need a message of a user")
  const block = textBlock(`${documentsText(documents)}\n\n`)
  return thread.map((message, at) =>
    at === last && Array.isArray(message["blocks"]) ? { ...message, blocks: [block, ...message["blocks"]] } : message,
  )
}
