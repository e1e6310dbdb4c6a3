/** The circumstances of the reviews of one caller's call or session: the account of its engines, and the text before a reply. */
import type { Caller } from "../identity/caller.ts"
import type { Parts } from "../policies/parts.ts"
import type { ReviewPolicy } from "../policies/policy.ts"
import type { ReviewAbout } from "../policies/review.ts"
import type { CallServices } from "./services.ts"
import { engineAccountOf } from "./settle/engine-account.ts"

/** Undefined if no engine reviews what the caller sends and gets. */
export const reviewAboutOf = (services: CallServices, caller: Caller): ReviewAbout | undefined => {
  const { inbound, outbound } = caller.policies
  if (!inbound.some(asksEngine) && !outbound.some(asksEngine)) return undefined
  return { account: engineAccountOf(services, caller), earlier: undefined }
}

const asksEngine = ({ check }: ReviewPolicy): boolean => check.kind === "engine"

/** The parts of a request that engines read beside replies: those of their policies. Empty if none does. */
export const earlierParts = (outbound: ReadonlyArray<ReviewPolicy>): Parts =>
  new Set(
    outbound.flatMap(({ check, parts }) =>
      check.kind === "engine" && check.engine.readsEarlier === true ? [...parts] : [],
    ),
  )

/** The most that an engine reads. */
const mostEarlier = 32 * 1024

/** The end of a text. The rest of a long one is not kept in memory, as it is by a part of a string. */
export const endOf = (text: string): string =>
  text.length <= mostEarlier
    ? text
    : Buffer.from(text.slice(-mostEarlier).toWellFormed(), "utf16le").toString("utf16le")
