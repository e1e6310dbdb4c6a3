/** Fits a request to the model that is asked, and names the parameters that change. */
import { Result } from "effect"
import { extraNames } from "../../protocol/extra-params.ts"
import type { ChatDialect, VendorRequest } from "../chat-dialect.ts"
import type { EncodeRefusal } from "../wire.ts"
import { isAsked } from "./extras.ts"

interface Fitted {
  readonly request: VendorRequest
  /** Parameters that the model takes with other values, or not at all; undefined if there are none. */
  readonly clamped: ReadonlyArray<string> | undefined
}

export const fitTo = (chat: ChatDialect, asked: VendorRequest): Result.Result<Fitted, EncodeRefusal> => {
  if (chat.fit === undefined) return Result.succeed({ request: asked, clamped: undefined })
  return Result.map(chat.fit(asked), (request) => ({ request, clamped: changed(asked, request) }))
}

const names = ["temperature", "topP", "reasoning", "reasoningBudget", "effort"] as const

/** The value of a sampler that changes nothing. */
const neutral = 1

const isSampler = (name: (typeof names)[number]): boolean => name === "temperature" || name === "topP"

const changed = (asked: VendorRequest, fitted: VendorRequest): ReadonlyArray<string> | undefined => {
  if (asked === fitted) return undefined
  const all = [
    ...names.filter((name) => asked[name] !== fitted[name] && !(isSampler(name) && asked[name] === neutral)),
    ...extraNames.filter((name) => isAsked(name, asked.extras) && asked.extras?.[name] !== fitted.extras?.[name]),
  ]
  return all.length === 0 ? undefined : all
}
