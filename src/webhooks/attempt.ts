/** One attempt to deliver an event: the request, the meaning of the answer, and the time of the next attempt. */
import { Effect } from "effect"
import {
  isShortage,
  type UpstreamBroken,
  type UpstreamCall,
  type UpstreamHead,
  type UpstreamRequest,
  type VendorClient,
} from "../upstream/client.ts"
import { EgressBlocked } from "../upstream/egress.ts"
import { retryAfterOf } from "../upstream/retry-after.ts"
import type { Outcome } from "./delivery-store.ts"
import type { Event } from "./message.ts"

/** The body of a delivery: the same at every attempt. */
export const bodyOf = ({ type, at, org_id, data }: Event): string =>
  JSON.stringify({ type, timestamp: at.toISOString(), data: { ...(org_id !== "" && { org: org_id }), ...data } })

/** The outcome by status: 2xx accepts the delivery; 410 asks for no more deliveries (Standard Webhooks). */
export const outcomeOf = (status: number): Outcome => {
  if (status >= 200 && status < 300) return "delivered"
  return status === 410 ? "failed" : "again"
}

const waits = [5, 30, 120, 600, 1800, 3600].map((seconds) => seconds * 1000)

/** The last attempt is made this time before a delivery is given up, even if its receiver asks for a later one. */
const lastTryMs = 60_000

/** The wait that a receiver asks for: with 429 and 503, and not beyond the time until which the delivery is tried. */
export const askedWaitMs = ({ status, headers }: Answer, givesUpAt: Date, nowMs: number): number => {
  if (status !== 429 && status !== 503) return 0
  const mostMs = Math.max(0, givesUpAt.getTime() - nowMs - lastTryMs)
  return Math.min(retryAfterOf(headers, nowMs) ?? 0, mostMs)
}

/**
 * The wait before a delivery is tried again, in milliseconds.
 * @param attempts so far
 * @param random in [0, 1)
 */
export const againAfter = (attempts: number, random: number): number =>
  (waits[Math.min(attempts, waits.length) - 1] ?? 0) * (0.8 + 0.4 * random)

/** The reason why no answer came, for the webhook's owner: without anything that the receiver sent. */
export const problemOf = (broken: UpstreamBroken): string => {
  if (isShortage(broken)) return "this gateway has no connection to spare"
  return isBlocked(broken.cause) ? "the address is not allowed" : "the address cannot be reached"
}

const isBlocked = (cause: unknown): boolean =>
  cause instanceof EgressBlocked || (cause instanceof Error && isBlocked(cause.cause))

export type Answer = Pick<UpstreamHead, "status" | "headers">

/** The head of the answer, as soon as it is there; its body is not read. */
export const answerOf = (
  client: VendorClient["Service"],
  request: UpstreamRequest,
): Effect.Effect<Answer, UpstreamBroken> =>
  Effect.callback((resume) => {
    const call: UpstreamCall = client.start(request, {
      connected: () => {},
      head: (head) => {
        call.leave()
        resume(Effect.succeed(head))
      },
      bytes: () => {},
      ended: () => {},
      broken: (error) => resume(Effect.fail(error)),
    })
    return Effect.sync(() => call.abort())
  })
