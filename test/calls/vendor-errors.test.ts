/** What a failed call says about its target, and whether another target is asked. */
import { describe, expect, it } from "vitest"
import { isWorthFailover, tierTimeout, VendorRejected, verdictOf } from "../../src/calls/vendor-errors.ts"
import { serviceError } from "../../src/protocol/error.ts"
import { UpstreamBroken } from "../../src/upstream/client.ts"
import { EgressBlocked } from "../../src/upstream/egress.ts"

const rejected = (status: number, code = "") => new VendorRejected({ status, code })
const broken = (cause: unknown) => new UpstreamBroken({ cause })
const system = (code: string) => Object.assign(new Error(code), { code })

describe("a failed call", () => {
  it.each([
    ["a connection that was reset", broken(system("ECONNRESET")), "failing", true],
    ["no file for a connection", broken(system("EMFILE")), "ignored", false],
    ["no port for one of several addresses", broken(new AggregateError([system("EADDRNOTAVAIL")])), "ignored", false],
    ["no memory, as the cause of another error", broken(new Error("x", { cause: system("ENOMEM") })), "ignored", false],
    ["an address that is refused", broken(new EgressBlocked({ reason: "address" })), "ignored", false],
    ["a vendor's failure", rejected(500), "failing", true],
    ["a busy vendor", rejected(429), "ignored", true],
    ["a refused request", rejected(400), "ignored", false],
    ["a vendor without a credential here", rejected(401, "credential_missing"), "ignored", true],
    ["a first frame that does not come", tierTimeout("ttfb", 1000), "failing", true],
    ["a stream that stops", tierTimeout("idle", 1000), "failing", false],
    ["no room on the disk", serviceError("internal_error", "full"), "ignored", false],
  ] as const)("by %s", (_, error, verdict, another) => {
    expect([verdictOf(error), isWorthFailover(error)]).toEqual([verdict, another])
  })

  it("that a vendor refused is worth another target where no request can be at fault", () => {
    expect([isWorthFailover(rejected(400), true), isWorthFailover(rejected(400), false)]).toEqual([true, false])
  })
})
