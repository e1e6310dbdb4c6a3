/** The time that a vendor asks to wait, in each of the forms that vendors document. */
import { describe, expect, it } from "vitest"
import { withWait } from "../../../src/upstream/retry-after.ts"

const nowMs = Date.parse("2026-11-28T00:00:00Z")

describe("the wait that a vendor asks for", () => {
  it.each<[string, Record<string, string>, number | undefined]>([
    ["seconds", { "retry-after": "2" }, 2000],
    ["parts of a second", { "retry-after": "1.5" }, 1500],
    ["a date", { "retry-after": "Sat, 28 Nov 2026 00:00:09 GMT" }, 9000],
    ["milliseconds, first", { "retry-after": "2", "retry-after-ms": "1250" }, 1250],
    ["AWS's milliseconds", { "x-amz-retry-after": "700" }, 700],
    ["a duration", { "x-ratelimit-reset-requests": "6m0s" }, 360_000],
    ["a short duration", { "x-ratelimit-reset-tokens": "120ms" }, 120],
    ["a duration with a fraction", { "x-ratelimit-reset-tokens": "2m59.56s" }, 179_560],
    ["bare seconds", { "x-ratelimit-reset-tokens-minute": "11.38" }, 11_380],
    ["milliseconds since 1970", { "x-ratelimit-reset": String(nowMs + 4000) }, 4000],
    ["seconds since 1970", { "x-ratelimit-reset": String(nowMs / 1000 + 4) }, 4000],
    ["Anthropic's instant", { "anthropic-ratelimit-tokens-reset": "2026-11-28T00:00:30Z" }, 30_000],
    [
      "that of the limit of which nothing remains",
      {
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-reset-requests": "7s",
        "x-ratelimit-remaining-tokens": "90",
        "x-ratelimit-reset-tokens": "6m0s",
      },
      7000,
    ],
    [
      "none of a limit of which something remains",
      { "x-ratelimit-remaining": "3", "x-ratelimit-reset": "9" },
      undefined,
    ],
    ["a Retry-After before limits", { "retry-after": "1", "x-ratelimit-reset-requests": "7s" }, 1000],
    ["what is past", { "x-ratelimit-reset": String(nowMs - 4000) }, 0],
    ["nothing that can be read", { "retry-after": "soon", "x-ratelimit-reset": "7 parsecs" }, undefined],
  ])("is %s", (_, headers, wait) => {
    const fault = { status: 429, code: "x", blame: "moment" } as const
    expect(withWait(fault, headers, nowMs).retryAfterMs).toBe(wait)
  })

  it("is the longer of its header's and its body's", () => {
    const fault = { status: 429, code: "x", blame: "moment", retryAfterMs: 5000 } as const
    expect(withWait(fault, { "retry-after": "2" }, nowMs).retryAfterMs).toBe(5000)
    expect(withWait(fault, { "retry-after": "8" }, nowMs).retryAfterMs).toBe(8000)
  })

  it("is not what a limit says beside another failure", () => {
    const fault = { status: 500, code: "x", blame: "moment" } as const
    expect(withWait(fault, { "x-ratelimit-reset-requests": "7s" }, nowMs).retryAfterMs).toBeUndefined()
  })
})
