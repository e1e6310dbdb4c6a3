/** Consequences of a failed call: for its target, for other targets, and for the client. */
import { describe, expect, it } from "vitest"
import {
  type AttemptError,
  coolingReasonOf,
  errorForClient,
  isWorthFailover,
  mostTelling,
  outlookOf,
  tierTimeout,
  VendorRejected,
  verdictOf,
} from "../../../src/calls/vendor/errors.ts"
import type { VendorFault } from "../../../src/dialects/vendor/faults.ts"
import { serviceError } from "../../../src/protocol/error.ts"
import { UpstreamBroken } from "../../../src/upstream/client.ts"
import { EgressBlocked } from "../../../src/upstream/egress.ts"
import { TargetCoolingDown } from "../../../src/upstream/health.ts"

const rejected = (status: number, blame: VendorFault["blame"], more: Partial<VendorFault> = {}) =>
  new VendorRejected({ status, code: "", blame, ...more })
const broken = (cause: unknown) => new UpstreamBroken({ cause })
const system = (code: string) => Object.assign(new Error(code), { code })

describe("a failed call", () => {
  it.each([
    ["a connection that was reset", broken(system("ECONNRESET")), "failing", true],
    ["no file for a connection", broken(system("EMFILE")), "ignored", false],
    ["no port for one of several addresses", broken(new AggregateError([system("EADDRNOTAVAIL")])), "ignored", false],
    ["no memory, as the cause of another error", broken(new Error("x", { cause: system("ENOMEM") })), "ignored", false],
    ["an address that is refused", broken(new EgressBlocked({ reason: "address" })), "ignored", false],
    ["a vendor's failure", rejected(500, "moment"), "failing", true],
    ["a vendor's timeout", rejected(408, "moment"), "failing", true],
    ["a busy vendor", rejected(429, "moment"), "ignored", true],
    ["a refused request", rejected(400, "request"), "ignored", false],
    ["a content filter", rejected(400, "filter"), "ignored", false],
    ["a revoked key", rejected(401, "credential"), "ignored", true],
    ["no credit", rejected(429, "credit"), "ignored", true],
    [
      "a vendor without a credential here",
      rejected(401, "credential", { code: "credential_missing" }),
      "ignored",
      true,
    ],
    ["a first frame that does not come", tierTimeout("ttfb", 1000), "failing", true],
    ["a stream that stops", tierTimeout("idle", 1000), "failing", false],
    ["no room on the disk", serviceError("internal_error", "full"), "ignored", false],
  ] as const)("by %s", (_, error, verdict, another) => {
    expect([verdictOf(error), isWorthFailover(error)]).toEqual([verdict, another])
  })

  it("is worth another target where no request can be at fault, or the model says so, but for a filter", () => {
    const request = rejected(400, "request")
    expect([isWorthFailover(request, true), isWorthFailover(request, false)]).toEqual([true, false])
    expect(isWorthFailover(rejected(400, "filter"), true)).toBe(false)
  })

  it.each<[string, VendorRejected, object | undefined]>([
    ["a revoked key", rejected(401, "credential"), { cause: "refused", reason: "credential" }],
    [
      "no credit, whatever it asks",
      rejected(429, "credit", { retryAfterMs: 5 }),
      { cause: "refused", reason: "credit" },
    ],
    ["a busy vendor", rejected(429, "moment"), { cause: "busy" }],
    ["a busy vendor that asks for no wait", rejected(429, "moment", { retryAfterMs: 0 }), { cause: "busy" }],
    ["a vendor that asks to wait", rejected(503, "moment", { retryAfterMs: 5 }), { cause: "vendor", forMs: 5 }],
    ["a failing vendor", rejected(500, "moment"), undefined],
    ["a refused request", rejected(400, "request", { retryAfterMs: 5 }), undefined],
    ["a content filter", rejected(400, "filter"), undefined],
    ["a credential that is missing here", rejected(401, "credential", { code: "credential_missing" }), undefined],
  ])("cools its target down or does not: %s", (_, error, why) => {
    expect(coolingReasonOf(error)).toEqual(why)
  })
})

describe("what a client is told", () => {
  it.each<[string, AttemptError, object]>([
    ["a filter's refusal", rejected(400, "filter"), { code: "content_blocked", detail: { reason: "vendor_filter" } }],
    ["that a request is refused for good", rejected(400, "request"), { code: "upstream_error", retry: "never" }],
    ["that a target is refused for good", rejected(401, "credential"), { code: "upstream_error", retry: "never" }],
    ["that a vendor is busy", rejected(429, "moment"), { code: "upstream_error", retry: "later", retryAfterMs: 7 }],
    ["that a vendor fails", rejected(500, "moment"), { code: "upstream_error", retry: undefined }],
  ])("is %s", (_, error, told) => {
    expect(
      errorForClient(error, 0, { waitMs: error instanceof VendorRejected && error.status === 429 ? 7 : undefined }),
    ).toMatchObject(told)
  })

  const unfit = serviceError("bad_request", "no such tool", { detail: { capability: "tools" } })
  const cooling = (cause: "vendor" | "busy" | "refused", untilMs: number) => new TargetCoolingDown({ cause, untilMs })
  it.each<[string, ReadonlyArray<AttemptError>, number]>([
    ["of calls, the last", [rejected(500, "moment"), rejected(403, "permission")], 1],
    ["a busy vendor before a revoked key", [rejected(429, "moment"), rejected(401, "credential")], 0],
    ["a target that will be free before a revoked key", [rejected(401, "credential"), cooling("vendor", 9)], 1],
    ["a revoked key before the cooldown of another", [rejected(401, "credential"), cooling("refused", 9)], 0],
    ["a call that failed before a target that does not fit", [rejected(500, "moment"), unfit], 0],
    ["a target that does not fit where there is no other", [unfit], 0],
    ["of cooldowns, the one that ends first", [cooling("vendor", 9), cooling("busy", 3), cooling("vendor", 5)], 1],
  ])("is %s", (_, errors, at) => {
    expect(mostTelling(errors)).toBe(errors[at])
  })

  it.each<[string, ReadonlyArray<AttemptError>, "never" | "later" | undefined]>([
    ["never, if each target refuses for good", [rejected(401, "credential"), rejected(400, "request")], "never"],
    ["never, if none can be asked for this", [serviceError("bad_request", "no")], "never"],
    ["later, if all that may pass are busy", [rejected(401, "credential"), cooling("vendor", 9)], "later"],
    ["at any time, if one fails", [rejected(500, "moment"), rejected(401, "credential")], undefined],
    ["at any time, if one is out of reach", [broken("x"), rejected(429, "moment")], undefined],
  ])("may succeed %s", (_, errors, outlook) => {
    expect(outlookOf(errors)).toBe(outlook)
  })
})
