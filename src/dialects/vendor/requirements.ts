/**
 * The requirements of a vendor beyond the form of its API, as data: each dialect has a table of requirements, which is
 * read from the top down. A requirement is met by a change that keeps the meaning, or the target is passed over. Requests that
 * are carried to a vendor of their own API are their client's own: they are edited only where their model takes a parameter
 * differently, and written anew only where replies of other vendors in their thread break a requirement.
 */
import { Result } from "effect"
import type { Carry, VendorRequest } from "../chat-dialect.ts"
import type { EncodeRefusal } from "../wire.ts"

export interface Requirement {
  /** The rule's name; the vendor's twin of the test kit has a rule of the same name. */
  readonly rule: string
  /** The vendor's documentation that says so. */
  readonly source: string
  /** The request as the vendor takes it, or why it takes none. Absent if all requests that are written meet it. */
  readonly meet?: (request: VendorRequest) => Met
  /** Whether what other vendors said in a thread can break it. The change is then the same request if there is none. */
  readonly ofThreads?: true
  /** Whether it is about the model: carried requests meet it too, and the client is told which parameters were changed. */
  readonly ofModel?: true
}

export type Met = Result.Result<VendorRequest, EncodeRefusal>

/** The request as a vendor takes it. */
export const meetAll = (requirements: ReadonlyArray<Requirement>, request: VendorRequest): Met => {
  let met: Met = Result.succeed(request)
  for (const { meet } of requirements) {
    if (meet !== undefined && Result.isSuccess(met)) met = meet(met.success)
  }
  return met
}

/** Fits a request to its model, before it is carried or written anew. */
export const fitsModel = (requirements: ReadonlyArray<Requirement>): ((request: VendorRequest) => Met) => {
  const ofModel = requirements.filter((requirement) => requirement.ofModel === true)
  return (request) => meetAll(ofModel, request)
}

/** A way to carry requests, but for those whose thread a vendor would refuse: they are written anew. */
export const carryUnless = (requirements: ReadonlyArray<Requirement>, carry: Carry): Carry => ({
  ...carry,
  encode: (request, sent) => (isBroken(requirements, request) ? undefined : carry.encode(request, sent)),
})

const isBroken = (requirements: ReadonlyArray<Requirement>, request: VendorRequest): boolean =>
  requirements.some(({ meet, ofThreads }) => {
    if (ofThreads !== true || meet === undefined) return false
    const met = meet(request)
    return Result.isFailure(met) || met.success !== request
  })

/** A change that no request is refused for. */
export const mends =
  (change: (request: VendorRequest) => VendorRequest) =>
  (request: VendorRequest): Met =>
    Result.succeed(change(request))

/** Passes a target over for what is found. */
export const refuses =
  (find: (request: VendorRequest) => EncodeRefusal | undefined) =>
  (request: VendorRequest): Met => {
    const refusal = find(request)
    return refusal === undefined ? Result.succeed(request) : Result.fail(refusal)
  }
