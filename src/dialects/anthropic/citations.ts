/** Anthropic's citations. Source: https://platform.claude.com/docs/en/build-with-claude/citations */
import type { Citation } from "../../protocol/citation.ts"
import { type JsonObject, numberAt, stringAt } from "../json.ts"

/** They belong to the whole block. */
export const citationOf = (cited: JsonObject): Citation => ({
  ...textAt(cited, "url", "url"),
  ...textAt(cited, "title", "title"),
  ...textAt(cited, "title", "document_title"),
  ...textAt(cited, "text", "cited_text"),
  ...sourceOf(cited),
})

const textAt = <Name extends keyof Citation>(cited: JsonObject, name: Name, theirs: string) => {
  const text = stringAt(cited, theirs)
  return text === undefined ? {} : { [name]: text }
}

/** A search result has its own name; a document has a number, and perhaps a file. */
const sourceOf = (cited: JsonObject): Pick<Citation, "source"> => {
  const document = numberAt(cited, "document_index")
  const source = stringAt(cited, "source") ?? stringAt(cited, "file_id")
  if (source !== undefined) return { source }
  return document === undefined ? {} : { source: `document ${document}` }
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
