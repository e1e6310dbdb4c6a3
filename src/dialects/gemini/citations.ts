/** Gemini's grounding. Source: https://ai.google.dev/api/generate-content#GroundingMetadata */
import { type Citation, citationWith } from "../../protocol/citation.ts"
import type { PlacedCitation } from "../parse/joined-text.ts"
import { countAt, type JsonObject, objectAt, objectsAt, stringAt } from "../parse/json.ts"
import { Utf8Places } from "./utf8-places.ts"

/** The position in the text for a position in its UTF-8; undefined if there is no such position. */
type PlaceOf = (byte: number) => number | undefined

/** The sources of a reply, of which each part of the reply reports some. */
export class Grounding {
  #sources: ReadonlyArray<JsonObject> = []
  #supports: ReadonlyArray<JsonObject> = []
  readonly #works = new Map<string, JsonObject>()
  #isTaken = false

  /** A later part repeats the sources of an earlier one, or adds to them. */
  add(candidate: JsonObject): void {
    const grounding = objectAt(candidate, "groundingMetadata")
    const sources = objectsAt(grounding, "groundingChunks")
    const supports = objectsAt(grounding, "groundingSupports")
    if (sources.length > 0) this.#sources = sources
    if (supports.length > 0) this.#supports = supports
    for (const work of worksIn(candidate)) this.#works.set(JSON.stringify(work), work)
  }

  /** The citations, once: those that support a part of the text, or else all sources; and works that it repeats. */
  take(placeOf: PlaceOf): ReadonlyArray<Citation> {
    if (this.#isTaken) return []
    const sources = this.#sources.map(sourceOf)
    const supported = this.#supports.flatMap((support) => {
      const place = placeIn(objectAt(support, "segment"), placeOf)
      const { groundingChunkIndices: chunks } = support
      const cited = Array.isArray(chunks) ? chunks : []
      return cited.flatMap((chunk: unknown) => {
        const source = typeof chunk === "number" ? sources[chunk] : undefined
        return source === undefined ? [] : [{ ...source, ...place }]
      })
    })
    const citations = [
      ...(supported.length > 0 ? supported : sources),
      ...Array.from(this.#works.values(), (work) => workOf(work, placeOf)),
    ]
    this.#isTaken = citations.length > 0
    return citations
  }
}

/** Works that a text repeats: `citationSources` in Gemini's API, `citations` on Vertex AI. Source: https://ai.google.dev/api/generate-content#CitationMetadata */
const worksIn = (candidate: JsonObject): ReadonlyArray<JsonObject> => {
  const metadata = objectAt(candidate, "citationMetadata")
  return [...objectsAt(metadata, "citationSources"), ...objectsAt(metadata, "citations")]
}

const workOf = (work: JsonObject, placeOf: PlaceOf): Citation =>
  citationWith({ url: stringAt(work, "uri"), title: stringAt(work, "title"), ...placeIn(work, placeOf) })

/** The place of a segment; an empty segment has none. */
const placeIn = (segment: JsonObject | undefined, placeOf: PlaceOf): Pick<Citation, "start" | "end"> => {
  const start = placeOf(countAt(segment, "startIndex"))
  const end = placeOf(countAt(segment, "endIndex"))
  return start !== undefined && end !== undefined && end > start ? { start, end } : {}
}

const sourceOf = (chunk: JsonObject): Citation => {
  const web = objectAt(chunk, "web") ?? objectAt(chunk, "retrievedContext") ?? objectAt(chunk, "maps")
  return citationWith({ url: stringAt(web, "uri"), title: stringAt(web, "title"), text: stringAt(web, "text") })
}

/** Grounding for a client of Gemini. @param text that is cited: that of all parts, which clients read as one */
export const groundingOf = (citations: ReadonlyArray<PlacedCitation>, text: string): object => {
  if (citations.length === 0) return {}
  const sources = new Map(citations.map((citation) => [keyOf(citation), citation]))
  const numbers = new Map(Array.from(sources.keys(), (key, number) => [key, number]))
  const places = new Utf8Places()
  places.add(text)
  const supports = citations.map((citation) => {
    const { start, end } = citation
    const segment = { startIndex: places.byteAt(start), endIndex: places.byteAt(end), text: text.slice(start, end) }
    return { segment, groundingChunkIndices: [numbers.get(keyOf(citation))] }
  })
  return {
    groundingMetadata: {
      groundingChunks: Array.from(sources.values(), ({ url, title, source }) => ({
        web: { uri: url ?? source ?? "", title: title ?? source ?? "" },
      })),
      groundingSupports: supports,
    },
  }
}

const keyOf = ({ url, title, source }: Citation): string => JSON.stringify([url, title, source])
