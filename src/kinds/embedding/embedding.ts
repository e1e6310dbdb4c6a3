/** Embeddings: the kind `embedding`. */
import { Result } from "effect"
import type { Kind } from "../../calls/kind.ts"
import { modelFor, targetsFor } from "../../calls/model.ts"
import { tokensOfBytes } from "../../calls/tokens/tokens.ts"
import type { CallTarget } from "../../catalogue/snapshot.ts"
import { WrittenVector } from "../../dialects/parse/written-vector.ts"
import { makersName } from "../../dialects/vendor/family.ts"
import { dimensionsOf, toBase64, toNumbers } from "../../dialects/vendor/vectors.ts"
import type { Embedded, EmbeddingDialect, Vector } from "../../dialects/whole-dialect.ts"
import { maxCharge, priceUsage } from "../../money/pricing.ts"
import type { EmbeddingRequest, EmbeddingResponse } from "../../protocol/kinds/embedding.ts"
import { bytesOf, InputTokens } from "../whole/input-tokens.ts"
import { encodeWhole, replyHead } from "../whole/whole-call.ts"
import { WholeTask, withoutMeta } from "../whole/whole-task.ts"
import { LongVectors, longReplyBytes } from "./long-vectors.ts"
import { WrittenVectors } from "./written-vectors.ts"

export const embedding: Kind<EmbeddingRequest, EmbeddingResponse> = {
  name: "embedding",
  purpose: "embedding",
  modelOf: ({ model }) => model,
  tokensAsked: ({ input }) => ({ prompt: tokensOfBytes(bytesOf(input)), output: 0 }),
  reviewed: ({ input }) => input.join("\n"),
  plan: (asked) => {
    const { services, request, caller, catalogue, nowMs } = asked
    const { model, input, inputType, dimensions, encoding = "float", truncate } = request
    return Result.map(modelFor(model, "embedding", caller, catalogue, nowMs), ({ entry, price }) => {
      const tokens = new InputTokens(
        { text: () => input.join("\n"), bytes: bytesOf(input), texts: input.length },
        services.tokenizer,
      )
      const partOf = (maxInputs: number, part: number) => ({
        input: input.slice(part * maxInputs, (part + 1) * maxInputs),
        encoding,
        ...(inputType !== undefined && { inputType }),
        ...(dimensions !== undefined && { dimensions }),
        ...(truncate !== undefined && { truncate }),
      })
      const lengths = new SameLength(dimensions)
      const written = new WrittenVectors()
      return new WholeTask<Embedded, EmbeddingResponse>(
        {
          model,
          targets: targetsFor(caller, entry.targets),
          timeoutsOf: (target) => services.timeoutsOf(catalogue, target, entry),
          currency: price.currency,
          holdAmount: maxCharge(price, tokens.held, 0),
          holdTokens: tokens.held,
          operation: "embeddings",
          partsAt: (target) => Math.ceil(input.length / (maxInputsAt(target) ?? input.length)),
          encode: (target, part) => {
            const dialect = dialectAt(target)
            return encodeWhole(target, dialect, "embedding", partOf(maxInputsAt(target) ?? input.length, part))
          },
          decode: (target, body, part, headers) => {
            const dialect = dialectAt(target)
            const got = dialect?.decode(body, partOf(maxInputsAt(target) ?? input.length, part), headers)
            return got !== undefined && lengths.are(got, part === 0) ? got : undefined
          },
          maxBodyBytes: leastBodyBytes + input.length * bodyBytesPerInput,
          long: {
            marked: written,
            taken: ({ headers }) =>
              Number(headers["content-length"]) <= longReplyBytes ? undefined : new LongVectors(written, encoding),
            restored: (json) => written.restored(json),
          },
          estimate: (parts) => tokens.estimate(parts),
          bill: (parts) => tokens.bill(parts),
          implausible: (parts) => tokens.implausible(parts),
          charge: ({ counts }) => priceUsage(price, counts),
          keeping: {
            sameness: () => withoutMeta(request),
            share: price.cachedReply,
            isPart: (part): part is Embedded => "vectors" in part,
          },
          finish: (parts, usage) => {
            const vectors = parts.flatMap((part) => part.vectors)
            const isLong = bytesOfJson(vectors) > longReplyBytes
            const tell = isLong ? (vector: WrittenVector) => written.tell(vector) : undefined
            const told = inEncoding(vectors, encoding, tell)
            const [first = ""] = vectors
            const head = { ...replyHead(asked), vectors: told, dimensions: dimensionsOf(first) }
            return (balance) => ({ ...head, usage: { ...usage, balance } })
          },
        },
        services,
      )
    })
  },
}

/** @param tell returns the placeholder of a written vector, which has the encoding already; the vector is read if absent */
const inEncoding = (
  vectors: ReadonlyArray<Vector>,
  encoding: "float" | "base64",
  tell: ((vector: WrittenVector) => string) | undefined,
): EmbeddingResponse["vectors"] =>
  vectors.map((vector) => {
    if (tell !== undefined && vector instanceof WrittenVector) return tell(vector)
    return encoding === "base64" ? toBase64(vector) : toNumbers(vector)
  })

/** A vector of 4,096 numbers of 15 characters has 64 KiB. */
const bodyBytesPerInput = 64 * 1024
const leastBodyBytes = 1024 * 1024

const bytesOfJson = (vectors: ReadonlyArray<Vector>): number =>
  vectors.reduce((sum, vector) => sum + (vector instanceof WrittenVector ? vector.json.length : 0), 0)

const dialectAt = ({ dialect }: CallTarget): EmbeddingDialect | undefined => dialect.embedding
const maxInputsAt = (target: CallTarget): number | undefined =>
  target.maxInputs ?? dialectAt(target)?.maxInputs(makersName(target))

/** All vectors of a target have one length: the one that was asked for, if one was. */
class SameLength {
  readonly #asked: number | undefined
  #length: number | undefined

  constructor(asked: number | undefined) {
    this.#asked = asked
  }

  are({ vectors }: Embedded, isFirst: boolean): boolean {
    const [first = ""] = vectors
    if (isFirst) this.#length = this.#asked ?? dimensionsOf(first)
    return vectors.every((vector) => dimensionsOf(vector) === this.#length)
  }
}
