/** Reranking: the kind `rerank`. */
import { Effect, Result } from "effect"
import type { Kind } from "../../calls/kind.ts"
import { modelFor, targetsFor } from "../../calls/model.ts"
import type { Bill } from "../../calls/settle/bill.ts"
import { tokensOfBytes } from "../../calls/tokens/tokens.ts"
import type { CallTarget } from "../../catalogue/snapshot.ts"
import type { RerankDialect, Reranked } from "../../dialects/whole-dialect.ts"
import { maxCharge, priceUsage, searchCharge } from "../../money/pricing.ts"
import type { RerankRequest, RerankResponse } from "../../protocol/kinds/rerank.ts"
import { bytesOf, InputTokens } from "../whole/input-tokens.ts"
import { encodeWhole, replyHead } from "../whole/whole-call.ts"
import { WholeTask, withoutMeta } from "../whole/whole-task.ts"
import { SearchUnits } from "./search-units.ts"

export const rerank: Kind<RerankRequest, RerankResponse> = {
  name: "rerank",
  purpose: "rerank",
  modelOf: ({ model }) => model,
  tokensAsked: ({ query, documents }) => ({
    prompt: tokensOfBytes(bytesOf(documents) + Buffer.byteLength(query) * documents.length),
    output: 0,
  }),
  reviewed: ({ query, documents }) => [query, ...documents].join("\n"),
  plan: (asked) => {
    const { services, request, caller, catalogue, nowMs } = asked
    const { model, query, documents, topN } = request
    // Some vendors refuse a number above that of the documents, and none has more results.
    const ranked = topN === undefined ? request : { ...request, topN: Math.min(topN, documents.length) }
    return Result.map(modelFor(model, "rerank", caller, catalogue, nowMs), ({ entry, price }) => {
      const searches = new SearchUnits(request)
      const [isByTokens, isBySearches] = [price.lacks?.includes("input") !== true, price.dims["searches"] !== undefined]
      // Models read the query beside each document.
      const tokens = new InputTokens(
        {
          text: () => documents.map((document) => `${query}\n${document}`).join("\n"),
          bytes: bytesOf(documents) + Buffer.byteLength(query) * documents.length,
          texts: documents.length,
        },
        services.tokenizer,
      )
      const bill = (parts: ReadonlyArray<Reranked>): Bill => {
        const { counts, estimatedReason } = tokens.bill(parts, isBySearches ? { searches: searches.of(parts) } : {})
        if (isByTokens) return { counts, ...(estimatedReason !== undefined && { estimatedReason }) }
        const doubt = searches.doubt(parts)
        // Tokens have no price: if the vendor does not report them, they are not counted.
        const inTokens = estimatedReason === undefined ? counts.inTokens : 0
        return { counts: { ...counts, inTokens }, ...(doubt !== undefined && { estimatedReason: doubt }) }
      }
      return new WholeTask<Reranked, RerankResponse>(
        {
          model,
          targets: targetsFor(caller, entry.targets),
          timeoutsOf: (target) => services.timeoutsOf(catalogue, target, entry),
          currency: price.currency,
          holdAmount: maxCharge(price, tokens.held, 0) + searchCharge(price, searches.expected),
          holdTokens: tokens.held,
          operation: "rerank",
          encode: (target) => encodeWhole(target, dialectAt(target), "rerank", ranked),
          decode: (target, body, _part, headers) => dialectAt(target)?.decode(body, ranked, headers),
          estimate: (parts) => (isByTokens ? tokens.estimate(parts) : Effect.void),
          bill,
          implausible: (parts) => tokens.implausible(parts),
          charge: ({ counts }) => priceUsage(price, counts),
          keeping: {
            sameness: () => withoutMeta(request),
            share: price.cachedReply,
            isPart: (part): part is Reranked => "results" in part,
          },
          finish: (parts, usage) => {
            const head = { ...replyHead(asked), results: parts.flatMap(({ results }) => results) }
            return (balance) => ({ ...head, usage: { ...usage, balance } })
          },
        },
        services,
      )
    })
  },
}

const dialectAt = ({ dialect }: CallTarget): RerankDialect | undefined => dialect.rerank
