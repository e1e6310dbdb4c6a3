/** The replies that a caller may share: the parts of a scope that must differ, and those that must not. */
import { describe, expect, it } from "vitest"
import { ownAddresses, scopeOf } from "../../../src/calls/reply/cache-scope.ts"

const app = { app: { id: "app_a" }, endUserId: undefined, keyId: "key_1" }
const person = { app: undefined, person: { id: "usr_a", teams: [] }, endUserId: undefined, keyId: "device_1" }

describe("a reply may be shared", () => {
  it.each([
    ["by all keys of an application", "app", app, { ...app, keyId: "key_2" }],
    ["by its end users, if applications share", "app", { ...app, endUserId: "a" }, { ...app, endUserId: "b" }],
    ["by a person's devices, if applications share", "app", person, { ...person, keyId: "device_2" }],
    ["by a person's devices, if people do", "person", person, { ...person, keyId: "device_2" }],
    ["by all, if the organisation does", "org", app, person],
  ] as const)("%s", (_, share, one, other) => {
    expect(scopeOf(one, share)).toEqual(scopeOf(other, share))
  })

  it.each([
    ["by two applications", "app", app, { ...app, app: { id: "app_b" } }],
    ["by two people", "app", person, { ...person, person: { id: "usr_b", teams: [] } }],
    ["by two end users", "person", { ...app, endUserId: "a" }, { ...app, endUserId: "b" }],
    [
      "by end users of one name in two applications",
      "person",
      { ...app, endUserId: "a" },
      { ...app, app: { id: "app_b" }, endUserId: "a" },
    ],
    ["by an end user and the application itself", "person", app, { ...app, endUserId: "a" }],
    ["by a person and an application", "app", app, person],
    ["by keys that belong to nobody", "app", { ...app, app: undefined }, { ...app, app: undefined, keyId: "key_2" }],
  ] as const)("not %s", (_, share, one, other) => {
    expect(scopeOf(one, share)).not.toEqual(scopeOf(other, share))
  })
})

describe("an organisation's own keys", () => {
  const entry = { targets: [{ vendor: { id: "openai" } }, { vendor: { id: "second" } }] }
  const at = (vendor: string, baseUrl?: string) => ({ upstreamKeys: new Map([[vendor, { baseUrl }]]) })

  it("make replies of their own, at each address, where a target uses them", () => {
    const all = [{}, at("openai"), at("second"), at("openai", "https://a.example"), at("openai", "https://b.example")]
    expect(new Set(all.map((caller) => JSON.stringify(ownAddresses(caller, entry)))).size).toBe(all.length)
    expect(ownAddresses(at("other", "https://a.example"), entry)).toEqual(ownAddresses({}, entry))
  })
})
