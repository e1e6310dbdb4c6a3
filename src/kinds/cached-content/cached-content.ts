/**
 * Cached content: the kind `cache`. A vendor keeps the beginning of prompts for a time; a job has its money until it ends.
 * `dims.cache_hours` are its tokens times its hours.
 */
import { Result } from "effect"
import type { Kind } from "../../calls/kind.ts"
import { modelFor, targetsFor } from "../../calls/model.ts"
import type { Bill } from "../../calls/settle/bill.ts"
import { tokensOfBytes } from "../../calls/tokens/tokens.ts"
import type { KeptContent } from "../../dialects/cache-dialect.ts"
import { isObject } from "../../dialects/parse/json.ts"
import { ownerOf } from "../../kept-responses/kept-response.ts"
import { formatAmount } from "../../money/amount.ts"
import { hasUnitPrice, maxCharge, noTokens, priceUsage, unitCharge } from "../../money/pricing.ts"
import { type ServiceError, serviceError } from "../../protocol/error.ts"
import type { CachedContent, CachedContentRequest } from "../../protocol/kinds/cached-content.ts"
import { jobIdOf } from "../video/video.ts"
import { WholeTask } from "../whole/whole-task.ts"

/** Jobs of this kind. */
export const cacheKind = "cache"

const hourS = 3600

/** The tokens of content, times the hours for which they are kept. */
export const tokenHours = (tokens: number, seconds: number): number => Math.ceil((tokens * seconds) / hourS)

/** Files by their address can fill the context window. */
const largestContextWindow = 2_000_000

export const cachedContent: Kind<CachedContentRequest, CachedContent> = {
  name: cacheKind,
  purpose: cacheKind,
  modelOf: ({ model }) => model,
  reviewed: ({ content }) => textsIn(content).join("\n"),
  plan: ({ services, request, requestId, caller, catalogue, nowMs }) => {
    const { model, content, ttlSeconds, displayName } = request
    return Result.flatMap(modelFor(model, "chat", caller, catalogue, nowMs), ({ entry, price }) => {
      const targets = targetsFor(caller, entry.targets).filter(({ dialect }) => dialect.cache !== undefined)
      if (targets.length === 0) return Result.fail(keepsNone)
      if (!hasUnitPrice(price, "cache_hours")) return Result.fail(unpriced)
      const text = JSON.stringify(content)
      const mostTokens = entry.model.contextWindow ?? largestContextWindow
      const estimate = Math.min(
        text.includes('"fileUri"') ? mostTokens : tokensOfBytes(Buffer.byteLength(text)),
        mostTokens,
      )
      const hoursOf = (tokens: number) => ({ cache_hours: tokenHours(tokens, ttlSeconds) })
      const tokensOf = ([kept]: ReadonlyArray<KeptContent>) => kept?.tokens ?? estimate
      const view = (tokens: number) => ({
        id: jobIdOf(requestId),
        model,
        ...(displayName !== undefined && { displayName }),
        tokens,
        createdAt: new Date(nowMs).toISOString(),
        expiresAt: new Date(nowMs + ttlSeconds * 1000).toISOString(),
      })
      const task = new WholeTask<KeptContent, CachedContent>(
        {
          model,
          targets,
          timeoutsOf: (target) => services.timeoutsOf(catalogue, target, entry),
          currency: price.currency,
          holdAmount: maxCharge(price, estimate, 0) + unitCharge(price, hoursOf(estimate)),
          holdTokens: estimate,
          operation: cacheKind,
          encode: ({ dialect, model: targetModel }) =>
            dialect.cache === undefined
              ? Result.fail({ capability: "caches", message: "this vendor keeps no content" })
              : Result.succeed(dialect.cache.encode({ content, ttlSeconds }, targetModel)),
          decode: ({ dialect }, body) => dialect.cache?.decode(body),
          bill: (parts): Bill => ({
            counts: { ...noTokens, cacheWriteTokens: tokensOf(parts), dims: hoursOf(tokensOf(parts)) },
            ...(parts[0]?.tokens === undefined && { estimatedReason: "upstream_usage_missing" }),
          }),
          charge: ({ counts }) => priceUsage(price, counts),
          job: (parts, target) =>
            parts[0] && {
              id: jobIdOf(requestId),
              kind: cacheKind,
              endUserId: caller.endUserId,
              targetModel: target.model,
              vendorJob: parts[0].name,
              isOwn: target.isOwn,
              view: {
                owner: JSON.stringify(ownerOf(caller)),
                tokens: tokensOf(parts),
                seconds: ttlSeconds,
                hours: formatAmount(unitCharge(price, hoursOf(tokensOf(parts)))),
                ...(displayName !== undefined && { displayName }),
              },
              timeoutMs: ttlSeconds * 1000,
            },
          finish: (parts) => () => view(tokensOf(parts)),
        },
        services,
      )
      return Result.succeed(task)
    })
  },
}

const keepsNone: ServiceError = serviceError("bad_request", "No vendor of this model keeps content")
const unpriced: ServiceError = serviceError("pricing_guard_tripped", "This model has no price for cache_hours")

/** The words of content. */
const textsIn = (value: unknown): ReadonlyArray<string> => {
  if (Array.isArray(value)) return value.flatMap(textsIn)
  if (!isObject(value)) return []
  return Object.entries(value).flatMap(([name, inner]) =>
    name === "text" && typeof inner === "string" ? [inner] : textsIn(inner),
  )
}
