/** The outcome of a call: whether it works, from the gateway's own answer and from the SDK that read it. */
import { routeNotFound } from "../../src/http/respond.ts"
import type { Recorded } from "./recorder.ts"

/** `missing`: neither a success nor a refusal that names an alternative. */
export type Outcome =
  | { readonly kind: "works" | "passed through" }
  | { readonly kind: "refused" | "missing"; readonly why: string }

/** A request that a gateway answered, or did not get. */
export interface Called {
  /** The replies of the gateway, in their order. */
  readonly replies: ReadonlyArray<Recorded>
  /** The reason why the SDK could not read them; undefined if it could. */
  readonly failure: string | undefined
}

/** A refusal by name ends with an alternative. */
export const refusal = /^.*?(?:(?:is|are) not (?:supported|stored)|has no dialect here): /

/**
 * Classifies a call.
 *
 * A method works if the SDK read a success. A route's absence never does: it is a 404 with a message of its own.
 *
 * @param isDeclared whether an operator declared a path, so that it is passed through
 */
export const outcomeOf = (
  { replies, failure }: Called,
  isDeclared: (method: string, path: string) => boolean,
): Outcome => {
  const reply = replies.at(-1)
  if (reply === undefined)
    return { kind: "missing", why: `no request was made: ${failure ?? "the SDK answers it alone"}` }
  const isSuccess = (reply.status >= 200 && reply.status < 300) || reply.status === 101
  if (isSuccess && failure === undefined)
    return { kind: isDeclared(reply.method, reply.path) ? "passed through" : "works" }
  const message = messageIn(reply.text)
  if (reply.status >= 400 && refusal.test(message)) return { kind: "refused", why: message }
  if (message.includes(routeNotFound.message)) return { kind: "missing", why: "there is no such route" }
  return { kind: "missing", why: `${reply.status} ${isSuccess ? failure : message}` }
}

/** The message of an error in the form of any API. */
const messageIn = (text: string): string => {
  const [, message] = /"message"\s*:\s*("(?:[^"\\]|\\.)*")/.exec(text) ?? []
  return message === undefined ? text.slice(0, 200) : String(JSON.parse(message))
}
