/** Known answers for request signatures, computed apart from this code (openssl). */
import { describe, expect, it } from "vitest"
import { sign, verifySignature } from "../../../src/identity/signature.ts"
import { sha256 } from "../../../src/secrets.ts"

const body = Buffer.from(`{"model":"main"}`)
const parts = { method: "POST", target: "/t1/exchange?x=1", ts: "1767225600", nonce: "0123456789abcdef", body }
const known = "7e1c41a93046c38aaf0b2e36386863a2730fe989b3655f8c75b665dcd8d9d8c1"

describe("sign", () => {
  it("is HMAC-SHA256 over the six parts, keyed by the raw digest of the secret", () => {
    expect(sign(sha256("wk_secret"), parts)).toBe(known)
  })

  it("verifies at the edges of the skew and not past them", () => {
    const verdict = (nowMs: number) =>
      verifySignature({ ts: parts.ts, nonce: parts.nonce, sign: known }, parts, sha256("wk_secret"), nowMs)._tag
    const at = Number(parts.ts) * 1000
    expect([at - 300_000, at, at + 300_000].map(verdict)).toEqual(["Signed", "Signed", "Signed"])
    expect([at - 300_001, at + 300_001].map(verdict)).toEqual(["Invalid", "Invalid"])
  })
})
