/** Gemini's grounding. Source: https://ai.google.dev/api/generate-content#GroundingMetadata */
import { type Citation, citationWith } from "../../protocol/citation.ts"
import { countAt, type JsonObject, objectAt, objectsAt, stringAt } from "../json.ts"
import { Utf8Places } from "./utf8-places.ts"

/** The place in the text, from one in its UTF-8; undefined if there is no such place. */
type PlaceOf = (byte: number) => number | undefined

/** The citations of a reply: those that support a part of the text, or else all sources. */
export const citationsIn = (candidate: JsonObject, placeOf: PlaceOf): ReadonlyArray<Citation> => {
  const grounding = objectAt(candidate, "groundingMetadata")
  const sources = objectsAt(grounding, "groundingChunks").map(sourceOf)
  const supported = objectsAt(grounding, "groundingSupports").flatMap((support) => {
    const place = placeIn(objectAt(support, "segment"), placeOf)
    const { groundingChunkIndices: chunks } = support
    const cited = Array.isArray(chunks) ? chunks : []
    return cited.flatMap((chunk: unknown) => {
      const source = typeof chunk === "number" ? sources[chunk] : undefined
      return source === undefined ? [] : [{ ...source, ...place }]
    })
  })
  return [...(supported.length > 0 ? supported : sources), ...recitationsIn(candidate, placeOf)]
}

/** Works that a text repeats: `citationSources` in Gemini's API, `citations` on Vertex AI. Source: https://ai.google.dev/api/generate-content#CitationMetadata */
const recitationsIn = (candidate: JsonObject, placeOf: PlaceOf): ReadonlyArray<Citation> => {
  const metadata = objectAt(candidate, "citationMetadata")
  return [...objectsAt(metadata, "citationSources"), ...objectsAt(metadata, "citations")].map((cited) => {
    const url = stringAt(cited, "uri")
    const title = stringAt(cited, "title")
    return citationWith({ url, title, ...placeIn(cited, placeOf) })
  })
}

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

/** Grounding for a client of Gemini. @param text that is cited; absent where it is not known any more */
export const groundingOf = (citations: ReadonlyArray<Citation>, text?: string): object => {
  if (citations.length === 0) return {}
  const sources = new Map(citations.map((citation) => [keyOf(citation), citation]))
  const numbers = new Map(Array.from(sources.keys(), (key, number) => [key, number]))
  const places = new Utf8Places()
  places.add(text ?? "")
  const supports = citations.flatMap((citation) => {
    const { start, end } = citation
    if (text === undefined || start === undefined || end === undefined) return []
    const segment = { startIndex: places.byteAt(start), endIndex: places.byteAt(end), text: text.slice(start, end) }
    return [{ segment, groundingChunkIndices: [numbers.get(keyOf(citation))] }]
  })
  return {
    groundingMetadata: {
      groundingChunks: Array.from(sources.values(), ({ url, title, source }) => ({
        web: { uri: url ?? source ?? "", title: title ?? source ?? "" },
      })),
      ...(supports.length > 0 && { groundingSupports: supports }),
    },
  }
}

const keyOf = ({ url, title, source }: Citation): string => JSON.stringify([url, title, source])
