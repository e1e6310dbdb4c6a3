/**
 * The requirements of a vendor beyond the form of its API, as data: each dialect has a table of requirements, which is read
 * from the top down. A requirement is met by a change that keeps the meaning; otherwise the target is skipped. Requests that
 * are carried to a vendor of their own API stay as their client wrote them: they are edited only if their model takes a
 * parameter differently, and translated only if replies of other vendors in their thread break a requirement.
 */
import { Result } from "effect"
import type { Carry, VendorRequest } from "../chat-dialect.ts"
import type { EncodeRefusal } from "../wire.ts"

export interface Requirement {
  /** The rule's name; the vendor's twin of the test kit has a rule of the same name. */
  readonly rule: string
  /** The vendor's documentation of the rule. */
  readonly source: string
  /**
   * The request as the vendor takes it, or the reason why the vendor does not take it. Absent if all requests that are
   * written meet the rule.
   */
  readonly meet?: (request: VendorRequest) => Met
  /** Whether replies of other vendors in a thread can break it. The change then returns the same request if there are none. */
  readonly ofThreads?: true
  /**
   * Whether it is about the model: carried requests meet it too, and the client gets a warning that names the changed
   * parameters.
   */
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

/** Fits a request to its model, before it is carried or translated. */
export const fitsModel = (requirements: ReadonlyArray<Requirement>): ((request: VendorRequest) => Met) => {
  const ofModel = requirements.filter((requirement) => requirement.ofModel === true)
  return (request) => meetAll(ofModel, request)
}

/** A way to carry requests, except for those whose thread a vendor would refuse: they are translated. */
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

/** Skips a target for the reason that is found. */
export const refuses =
  (find: (request: VendorRequest) => EncodeRefusal | undefined) =>
  (request: VendorRequest): Met => {
    const refusal = find(request)
    return refusal === undefined ? Result.succeed(request) : Result.fail(refusal)
  }
