/** The review of the reply of one call, by the policies that are enforced on it. */
import { Effect } from "effect"
import type { Caller } from "../../identity/caller.ts"
import { Marks, markKey } from "../../policies/masks/marks.ts"
import { editJsonTexts } from "../../policies/reply/reply-blocks.ts"
import { type ReplyEngines, ReplyReview } from "../../policies/reply/reply-review.ts"
import type { ReviewAbout } from "../../policies/review.ts"
import type { WholeReply } from "../connection.ts"
import type { CallServices } from "../services.ts"
import type { ClientReply } from "./reply.ts"

type ReviewServices = Pick<CallServices, "config" | "review" | "deadlines" | "context">

/**
 * Reviews a reply from now on; undefined if nothing is enforced on it.
 * @param restored the marks of the request, which are put back
 * @param about for its engines
 */
export const reviewOf = <Body extends object>(
  reply: ClientReply<Body>,
  { policies: { outbound }, org }: Pick<Caller, "policies" | "org">,
  restored: Marks | undefined,
  { config: { masterKey, policyPieceMs }, review: { judge }, deadlines, context }: ReviewServices,
  about: ReviewAbout | undefined,
): CallReview | undefined => {
  if (restored === undefined && !outbound.some(({ isEnforced }) => isEnforced)) return undefined
  let marks: Marks | undefined
  const made = () => {
    marks ??= new Marks(markKey(masterKey, org.id))
    return marks
  }
  const asked = outbound.filter(({ isEnforced, check }) => isEnforced && check.kind === "engine")
  const engines: ReplyEngines = {
    policies: asked,
    judge: (policies, text) =>
      Effect.runPromiseWith(context)(judge(policies, "reply", () => Effect.succeed(text), about)),
    later: (due) => void deadlines.after(policyPieceMs, due),
  }
  const review = new CallReview({
    policies: outbound,
    restored,
    marks: made,
    onDenied: () => review.onDenied(),
    inTurns: setImmediate,
    ...(asked.length > 0 && { engines }),
  })
  review.rest = reply.review(review)
  return review
}

/** A stored reply with the values behind the marks of the request. */
export const withValues = (reply: WholeReply<never>, marks: Marks | undefined): WholeReply<never> => {
  const { body } = reply
  if (marks === undefined || typeof body !== "string") return reply
  const review = new ReplyReview({ policies: none, restored: marks, marks: () => marks, onDenied: () => {} })
  return { ...reply, body: editJsonTexts(body, (text, part, isJson) => review.masked(text, part, isJson, true)) }
}

const none: ReadonlyArray<never> = []

export class CallReview extends ReplyReview {
  /** Writes the events that wait at the end of a stream, once engines have answered. */
  rest: () => Promise<void> = async () => {}
  /** Called when a text is denied. */
  onDenied: () => void = () => {}
}
