/** Anthropic's citations. Source: https://platform.claude.com/docs/en/build-with-claude/citations */
import { type Citation, citationWith } from "../../protocol/citation.ts"
import { type JsonObject, numberAt, stringAt } from "../parse/json.ts"

/** They belong to the whole block. */
export const citationOf = (cited: JsonObject): Citation =>
  citationWith({
    url: stringAt(cited, "url"),
    title: stringAt(cited, "document_title") ?? stringAt(cited, "title"),
    text: stringAt(cited, "cited_text"),
    source: sourceOf(cited),
  })

/** A search result has its own name; a document has a number, and perhaps a file. */
const sourceOf = (cited: JsonObject): string | undefined => {
  const document = numberAt(cited, "document_index")
  const source = stringAt(cited, "source") ?? stringAt(cited, "file_id")
  return source ?? (document === undefined ? undefined : `document ${document}`)
}

/**
 * A citation of another vendor, as a result of a search. Anthropic's own have a seal, `encrypted_index`: these do not, and are
 * taken out before they come to Anthropic.
 */
export const foreignCitation = ({ url, title, text, source }: Citation) => ({
  type: "web_search_result_location",
  url: url ?? source ?? "",
  title: title ?? null,
  encrypted_index: "",
  cited_text: text ?? "",
})

/** Whether a client's citation was never Anthropic's. */
export const isForeignCitation = ({ type, encrypted_index: seal }: JsonObject): boolean =>
  type === "web_search_result_location" && seal === ""
