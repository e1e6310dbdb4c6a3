/** Findings of `weir doctor` about targets. */
import { describe, expect, it } from "vitest"
import { targetFindings } from "../../../src/cli/commands/doctor-targets.ts"

const target = { vendor: "v", model: "m", handles: ["main"] }
const until = "2026-11-28T00:00:30.000Z"

describe("weir doctor", () => {
  it("fails for a target that its vendor refuses, with what it lacks and what helps", () => {
    const refused = { ...target, state: "cooling down", cause: "refused", reason: "credential", until } as const
    const [finding] = targetFindings({ data: [refused, { ...target, state: "healthy" }] })
    expect(finding).toMatchObject({ result: "failed" })
    expect(finding?.note).toBe(
      `v/m is refused by its vendor (credential): its key is wrong, revoked or expired; set another one; it is tried again at ${until}`,
    )
  })

  it("warns of a target that is busy, and passes where none cools down", () => {
    const busy = { ...target, state: "cooling down", cause: "busy", until } as const
    expect(targetFindings({ data: [busy] })).toEqual([
      { result: "warning", note: `v/m is cooling down until ${until} (the vendor is busy)` },
    ])
    expect(targetFindings({ data: [{ ...target, state: "suspect" }] })).toEqual([
      { result: "ok", note: "1 target, none is cooling down" },
    ])
  })
})
