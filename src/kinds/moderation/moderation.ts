/** Moderation: the kind `moderation`. */
import { Result } from "effect"
import type { Kind } from "../../calls/kind.ts"
import { modelFor, targetsFor } from "../../calls/model.ts"
import { tokensOfBytes } from "../../calls/tokens/tokens.ts"
import type { CallTarget } from "../../catalogue/snapshot.ts"
import type { Moderated, ModerationAsked, ModerationDialect } from "../../dialects/whole-dialect.ts"
import { maxCharge, priceUsage } from "../../money/pricing.ts"
import type { ModerationRequest, ModerationResponse } from "../../protocol/kinds/moderation.ts"
import { bytesOf, InputTokens } from "../whole/input-tokens.ts"
import { encodeWhole, replyHead } from "../whole/whole-call.ts"
import { WholeTask, withoutMeta } from "../whole/whole-task.ts"

const textsOf = ({ input }: ModerationAsked): ReadonlyArray<string> =>
  input.filter((part): part is string => typeof part === "string")

export const moderation: Kind<ModerationRequest, ModerationResponse> = {
  name: "moderation",
  purpose: "moderation",
  modelOf: ({ model }) => model,
  tokensAsked: (request) => ({ prompt: tokensOfBytes(bytesOf(textsOf(request))), output: 0 }),
  reviewed: (request) => textsOf(request).join("\n"),
  plan: (asked) => {
    const { services, request, caller, catalogue, nowMs } = asked
    const { model } = request
    return Result.map(modelFor(model, "moderation", caller, catalogue, nowMs), ({ entry, price }) => {
      const texts = textsOf(request)
      const tokens = new InputTokens(
        { text: () => texts.join("\n"), bytes: bytesOf(texts), texts: request.input.length },
        services.tokenizer,
      )
      return new WholeTask<Moderated, ModerationResponse>(
        {
          model,
          targets: targetsFor(caller, entry.targets),
          timeoutsOf: (target) => services.timeoutsOf(catalogue, target, entry),
          currency: price.currency,
          holdAmount: maxCharge(price, tokens.held, 0),
          holdTokens: tokens.held,
          operation: "moderation",
          encode: (target) => encodeWhole(target, dialectAt(target), "moderation", request),
          decode: (target, body, _part, headers) => dialectAt(target)?.decode(body, request, headers),
          estimate: (parts) => tokens.estimate(parts),
          bill: (parts) => tokens.bill(parts),
          implausible: (parts) => tokens.implausible(parts),
          charge: ({ counts }) => priceUsage(price, counts),
          keeping: {
            sameness: () => (hasLinks(request) ? undefined : withoutMeta(request)),
            share: price.cachedReply,
            isPart: (part): part is Moderated => "results" in part,
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

/** Whether the content of an input may change later. */
const hasLinks = ({ input }: ModerationAsked): boolean =>
  input.some((part) => typeof part !== "string" && part.data === undefined)

const dialectAt = ({ dialect }: CallTarget): ModerationDialect | undefined => dialect.moderation
