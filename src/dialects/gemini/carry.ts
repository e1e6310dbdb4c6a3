/** Calls of generateContent that are carried to Gemini, and to Gemini on Vertex AI. */
import { Result } from "effect"
import { cut, type JsonEdit, type JsonPath, set } from "../../protocol/json-edit.ts"
import type { SentBody } from "../carried-request.ts"
import { commonEdits, limitEdit, losesReasoning, type ParamPlaces, paramEdits } from "../carry.ts"
import type { Carry, VendorRequest } from "../dialect.ts"
import { encodeExtras } from "../extras.ts"
import { isAbsent } from "../fields.ts"
import { geminiBypass } from "../signature.ts"
import type { WireRequest } from "../wire.ts"
import { nameIn } from "./client-reader.ts"
import { needsSignatures } from "./requirements.ts"
import { words } from "./vendor-request.ts"

/** @param wire the request with a body */
export const carryGenerate = (
  wire: <Body extends string | Uint8Array>(request: VendorRequest, body: Body) => WireRequest<Body>,
): Carry => ({
  api: "gemini",
  encode: (request, sent) => {
    const { serviceTier: _tier, vendorOptions: _options, ...extras } = request.extras ?? {}
    return Result.map(encodeExtras(extras, words), () => wire(request, sent.edited(editsOf(request, sent))))
  },
})

const editsOf = (request: VendorRequest, sent: SentBody): ReadonlyArray<JsonEdit> => {
  const { head, asked } = sent
  const config = nameIn(head, "generationConfig")
  const inConfig = (name: string): JsonPath => [config, nameIn(head[config], name)]
  const places: ParamPlaces = {
    temperature: [inConfig("temperature")],
    topP: [inConfig("topP")],
    stop: [inConfig("stopSequences")],
    seed: [inConfig("seed")],
    frequencyPenalty: [inConfig("frequencyPenalty")],
    presencePenalty: [inConfig("presencePenalty")],
    topK: [inConfig("topK")],
    logprobs: [inConfig("logprobs"), inConfig("responseLogprobs")],
    n: [inConfig("candidateCount")],
    serviceTier: [[nameIn(head, "serviceTier")]],
  }
  const unsigned = sent.own.places?.["unsigned"] ?? []
  return [
    // Signatures of other vendors are taken out where none are needed.
    ...unsigned.map((path) => (needsSignatures(request.model) ? set(geminiBypass, ...path) : cut(...path))),
    // The path names it.
    ...(isAbsent(head["model"]) ? [] : [cut("model")]),
    ...limitEdit(request, asked, inConfig("maxOutputTokens")),
    ...paramEdits(request, asked, places),
    ...commonEdits(request, sent, { toolChoice: nameIn(head, "toolConfig") }),
    ...(losesReasoning(request, sent) ? [cut(...inConfig("thinkingConfig"))] : []),
  ]
}
