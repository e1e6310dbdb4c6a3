/** Texts that are sealed at rest. */
import { describe, expect, it } from "vitest"
import { makeSealer } from "../../../src/store/seal.ts"

describe("a sealed text", () => {
  it("is sealed at rest, and opens with its own key only", () => {
    const sealer = makeSealer("master")
    const sealed = sealer.seal("the answer")
    expect(Buffer.from(sealed.split(".")[1] ?? "", "base64").toString("utf8")).not.toContain("answer")
    expect(sealer.seal("the answer")).not.toBe(sealed)
    expect(makeSealer("master").open(sealed)).toBe("the answer")
    expect(makeSealer("other").open(sealed)).toBeUndefined()
    const [id, bytes = ""] = sealed.split(".")
    const altered = Buffer.from(bytes, "base64")
    altered[20] = (altered[20] ?? 0) ^ 1
    expect(sealer.open(`${id}.${altered.toString("base64")}`)).toBeUndefined()
    for (const nonsense of ["", "AAAA", "not base64", `${id}.`, `${id}.AAAA`])
      expect(sealer.open(nonsense)).toBeUndefined()
  })

  it("may be bytes, with the same rules", () => {
    const bytes = Buffer.from([0, 1, 255])
    const sealed = makeSealer("old").sealBytes(bytes, "a")
    expect(makeSealer("new", "old").openBytes(sealed, "a")).toEqual(bytes)
    expect(makeSealer("old").openBytes(sealed, "b")).toBeUndefined()
    expect(makeSealer("new").openBytes(sealed, "a")).toBeUndefined()
    for (let length = 0; length < sealed.length; length++) {
      expect(makeSealer("old").openBytes(sealed.subarray(0, length), "a")).toBeUndefined()
    }
  })

  it("is bound to its context, and opens under the key before it was replaced", () => {
    const sealed = makeSealer("old").seal("secret", "org_a")
    const rotated = makeSealer("new", "old")
    expect(rotated.open(sealed, "org_a")).toBe("secret")
    expect(rotated.open(sealed, "org_b")).toBeUndefined()
    expect(rotated.isCurrent(sealed)).toBe(false)
    expect(rotated.isCurrent(rotated.seal("secret"))).toBe(true)
    expect(makeSealer("new").open(rotated.seal("secret"))).toBe("secret")
  })
})
