/**
 * Citations as OpenAI's APIs write them: responses with an annotation's fields beside its type, chat completions below it.
 * Source: https://platform.openai.com/docs/guides/tools-web-search#output-and-citations
 */
import { type Citation, citationWith } from "../../protocol/citation.ts"
import type { PlacedCitation } from "../parse/joined-text.ts"
import { type JsonObject, numberAt, objectAt, objectsAt, stringAt } from "../parse/json.ts"

export const citationsAt = (value: JsonObject | undefined): ReadonlyArray<Citation> =>
  objectsAt(value, "annotations").flatMap((annotation) => citationOf(annotation) ?? [])

/** Undefined if it is of another kind. */
export const citationOf = (annotation: JsonObject): Citation | undefined => {
  const type = stringAt(annotation, "type") ?? ""
  const cited = objectAt(annotation, type) ?? annotation
  const url = stringAt(cited, "url")
  const title = stringAt(cited, "title")
  const text = stringAt(cited, "content")
  const source = stringAt(cited, "filename") ?? stringAt(cited, "file_id")
  if (url === undefined && source === undefined) return undefined
  const start = numberAt(cited, "start_index")
  const end = numberAt(cited, "end_index")
  return citationWith({ url, title, text, source, ...(isPlace(start) && isPlace(end) && { start, end }) })
}

const isPlace = (place: number | undefined): place is number => Number.isSafeInteger(place) && Number(place) >= 0

/** Addresses beside the choices, as Perplexity and xAI send them. */
export const citedAddresses = (reply: JsonObject): ReadonlyArray<Citation> => {
  const results = objectsAt(reply, "search_results").flatMap((result) => citationOf(result) ?? [])
  const { citations } = reply
  if (results.length > 0 || !Array.isArray(citations)) return results
  return citations.flatMap((url: unknown) => (typeof url === "string" ? [{ url }] : []))
}

/** An annotation of chat completions. */
export const chatAnnotation = ({ url, title, text, start, end, source }: PlacedCitation) => ({
  type: "url_citation",
  url_citation: {
    url: url ?? source ?? "",
    title: title ?? source ?? "",
    start_index: start,
    end_index: end,
    ...(text !== undefined && { content: text }),
  },
})

/** An annotation of responses. @param length the length of the text, which is used if the citation has no position */
export const responsesAnnotation = ({ url, title, start = 0, end, source = "" }: Citation, length: number) =>
  url === undefined
    ? { type: "file_citation", file_id: source, filename: title ?? source, index: end ?? length }
    : { type: "url_citation", url, title: title ?? "", start_index: start, end_index: end ?? length }
