/** A request of a batch as its target's API of batches would get it. */
import { Effect, Result } from "effect"
import type { CallTarget } from "../../catalogue/snapshot.ts"
import type { BatchDialect, BatchLine, BatchWire } from "../../dialects/batch-dialect.ts"
import type { SentRequest } from "../../dialects/wire.ts"
import type { LinePrice } from "../line-calls.ts"

export interface VendorLine extends BatchLine {
  readonly target: CallTarget
  readonly dialect: BatchDialect
}

/**
 * Undefined if its target does not run batches, or cannot run this request in one. A request that policies review is not sent ahead
 * of its review.
 * @param key of the target; the first one's if absent
 */
export const vendorLine = Effect.fnUntraced(function* (
  { work, caller }: LinePrice,
  name: string,
  key?: string,
): Effect.fn.Return<VendorLine | undefined> {
  // A vendor's batch makes no calls of tools between requests.
  if (caller.policies.inbound.length > 0 || work.goesOn !== undefined) return undefined
  const target = key === undefined ? work.targets[0] : work.targets.find((each) => each.key === key)
  const dialect = target?.dialect.batch
  if (target?.batch !== "vendor" || dialect === undefined || (work.partsAt?.(target) ?? 1) !== 1) return undefined
  const { prepare } = work
  const prepared = prepare === undefined || (yield* Effect.isSuccess(prepare(target)))
  if (!prepared) return undefined
  const line = Result.flatMap(work.encode(target, 0), (request) => dialect.line(wireOf(request), name))
  return Result.isFailure(line) ? undefined : { ...line.success, target, dialect }
})

/** Bytes are no files. */
const wireOf = (request: SentRequest): BatchWire => {
  const { body } = request
  return typeof body === "string" || body instanceof Uint8Array ? { ...request, body } : { ...request, body }
}
