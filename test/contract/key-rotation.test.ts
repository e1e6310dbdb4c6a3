/** Keys with two secrets: rotation with a grace, requests that are sent again, names, limits and the last use. */
import { randomUUID } from "node:crypto"
import { Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import { sign } from "../../src/identity/signature.ts"
import { KeyList, KeyMinted, KeyRotated } from "../../src/protocol/control/admin-directory.ts"
import { sha256 } from "../../src/secrets.ts"
import { hello, newTestIds, testCatalogue } from "../../src/testing/index.ts"
import { errorOf, eventually, useGateway } from "../support/gateway.ts"

const ids = newTestIds()
const tag = randomUUID().slice(0, 8)
const ownerAt = `owner.${tag}@example.com`
const gateway = useGateway({
  ids,
  backgroundSpeed: 100,
  catalogue: (urls) =>
    testCatalogue(urls, ids, `users:\n  - { id: own_${tag}, email: ${ownerAt}, org: ${ids.org}, role: owner }`),
})

const admin = (method: string, path: string, body?: unknown) =>
  gateway().call(method, path, body, {
    "x-svc-key-id": undefined,
    "x-svc-key": undefined,
    "x-svc-admin-key": gateway().adminKey,
  })
const minted = Schema.decodeUnknownSync(KeyMinted, { onExcessProperty: "error" })
const rotated = Schema.decodeUnknownSync(KeyRotated, { onExcessProperty: "error" })
const listed = Schema.decodeUnknownSync(KeyList, { onExcessProperty: "error" })
const mint = async (more: object = {}) =>
  minted(await (await admin("POST", "/v1/admin/keys", { app: ids.app, ...more })).json())
const rotate = async (id: string, asked: object = {}) => admin("POST", `/v1/admin/keys/${id}/rotate`, asked)
const statusOf = async (keyId: string, key: string) =>
  (await gateway().call("GET", "/t1/config", undefined, { "x-svc-key-id": keyId, "x-svc-key": key })).status
const keyIn = async (id: string) =>
  listed(await (await admin("GET", `/v1/admin/keys?search=${id}`)).json()).data.find((each) => each.id === id)

describe("a key that is rotated", () => {
  it("works with both secrets until the grace has ended, and keeps its budgets, rates and records", async () => {
    const { keyId, key } = await mint({ rates: [{ requests: 3, per: "60s" }] })
    const call = (secret: string) =>
      gateway().call("POST", "/t1/exchange", hello, { "x-svc-key-id": keyId, "x-svc-key": secret })
    expect((await call(key)).status).toBe(200)
    const second = rotated(await (await rotate(keyId, { graceS: 60 })).json())
    expect(second.keyId).toBe(keyId)
    expect(second.key).not.toBe(key)
    expect([(await call(key)).status, (await call(second.key)).status]).toEqual([200, 200])
    // The rate is the key's, whichever secret is used.
    expect([(await call(key)).status, (await call(second.key)).status]).toEqual([429, 429])
    expect((await keyIn(keyId))?.formerUntil).toBe(second.formerUntil)
    // A third secret ends the first.
    const third = rotated(await (await rotate(keyId)).json())
    expect(await Promise.all([key, second.key, third.key].map((secret) => statusOf(keyId, secret)))).toEqual([
      401, 200, 200,
    ])
  })

  it("keeps both secrets when it is renamed, limited or disabled for a while", async () => {
    const { keyId, key } = await mint()
    const { key: next } = rotated(await (await rotate(keyId, { graceS: 600 })).json())
    const both = async () => [await statusOf(keyId, key), await statusOf(keyId, next)]
    const change = (body: object) => admin("PATCH", `/v1/admin/keys/${keyId}`, body)
    expect((await change({ name: "Renamed", rates: [{ requests: 1000, per: "60s" }] })).status).toBe(204)
    expect(await both()).toEqual([200, 200])
    expect((await change({ disabled: true })).status).toBe(204)
    expect(await both()).toEqual([403, 403])
    expect((await change({ disabled: false })).status).toBe(204)
    expect(await both()).toEqual([200, 200])
    expect((await admin("POST", `/v1/admin/keys/${keyId}/revoke`)).status).toBe(204)
    expect(await both()).toEqual([401, 401])
  })

  it("without a grace works with the new secret only", async () => {
    const { keyId, key } = await mint()
    const { key: next } = rotated(await (await rotate(keyId, { graceS: 0 })).json())
    expect([await statusOf(keyId, key), await statusOf(keyId, next)]).toEqual([401, 200])
    expect(await keyIn(keyId)).not.toHaveProperty("formerUntil")
  })

  it("by the same request again gets another new secret; the former one stays the former one", async () => {
    const { keyId, key } = await mint()
    const lost = rotated(await (await rotate(keyId, { graceS: 60, requestId: "r1" })).json())
    const again = rotated(await (await rotate(keyId, { graceS: 60, requestId: "r1" })).json())
    expect(again.formerUntil).toBe(lost.formerUntil)
    expect(await Promise.all([key, lost.key, again.key].map((secret) => statusOf(keyId, secret)))).toEqual([
      200, 401, 200,
    ])
  })

  it("by the same request id long after its grace keeps the present secret for another grace", async () => {
    const { keyId } = await mint()
    const first = rotated(await (await rotate(keyId, { requestId: "monthly" })).json())
    await Effect.runPromise(
      gateway().sql`update app_keys set former_until = now() - interval '25 hours' where id = ${keyId}`,
    )
    const second = rotated(await (await rotate(keyId, { requestId: "monthly" })).json())
    expect(Date.parse(second.formerUntil ?? "")).toBeGreaterThan(Date.now())
    expect([await statusOf(keyId, first.key), await statusOf(keyId, second.key)]).toEqual([200, 200])
  })

  it("accepts signatures of both secrets", async () => {
    const { keyId, key } = await mint()
    const { key: next } = rotated(await (await rotate(keyId, { graceS: 60 })).json())
    const signed = (secret: string) => {
      const [ts, nonce] = [String(Math.floor(Date.now() / 1000)), randomUUID()]
      const parts = { method: "GET", target: "/t1/config", ts, nonce, body: new Uint8Array() }
      const headers = { "x-svc-ts": ts, "x-svc-nonce": nonce, "x-svc-sign": sign(sha256(secret), parts) }
      return gateway().call("GET", "/t1/config", undefined, { "x-svc-key-id": keyId, "x-svc-key": secret, ...headers })
    }
    expect([(await signed(key)).status, (await signed(next)).status]).toEqual([200, 200])
  })

  it("of the catalogue is refused if the catalogue has its secret, and unknown or revoked ones are not found", async () => {
    expect(await errorOf(await rotate(ids.key))).toMatchObject({ status: 409, code: "conflict" })
    expect(await errorOf(await rotate("key_nobody"))).toMatchObject({ status: 404 })
    const { keyId } = await mint()
    await admin("POST", `/v1/admin/keys/${keyId}/revoke`)
    expect(await errorOf(await rotate(keyId))).toMatchObject({ status: 404 })
  })

  it.each([[{ graceS: -1 }], [{ graceS: 1.5 }], [{ graceS: 2_592_001 }], [{ requestId: "" }], [{ grace: 5 }]])(
    "is refused for %j",
    async (asked) => {
      const { keyId, key } = await mint()
      expect((await rotate(keyId, asked)).status).toBe(400)
      expect(await statusOf(keyId, key)).toBe(200)
    },
  )
})

describe("a key", () => {
  it("by the same request again is the same key with another secret", async () => {
    const requestId = randomUUID()
    const [lost, again] = [await mint({ requestId, name: "CI" }), await mint({ requestId, name: "CI" })]
    expect(again.keyId).toBe(lost.keyId)
    expect([await statusOf(lost.keyId, lost.key), await statusOf(again.keyId, again.key)]).toEqual([401, 200])
    const many = await Promise.all(Array.from({ length: 5 }, () => mint({ requestId: "at once" })))
    expect(new Set(many.map(({ keyId }) => keyId)).size).toBe(1)
  })

  it.each([{}, { requestId: "turn" }])(
    "that was rotated (%j) is not made again by its first request",
    async (asked) => {
      const requestId = randomUUID()
      const { keyId } = await mint({ requestId })
      const { key } = rotated(await (await rotate(keyId, asked)).json())
      const again = await admin("POST", "/v1/admin/keys", { app: ids.app, requestId })
      expect(await errorOf(again)).toMatchObject({ status: 409, code: "conflict" })
      expect(await statusOf(keyId, key)).toBe(200)
    },
  )

  it("is changed: name, models, rates and end; null removes", async () => {
    const { keyId, key } = await mint({ models: ["main"] })
    expect(await keyIn(keyId)).toMatchObject({ models: ["main"], madeBy: expect.stringMatching(/^service:/) })
    const change = (body: object) => admin("PATCH", `/v1/admin/keys/${keyId}`, body)
    expect((await change({ name: "Laptop", models: [], rates: [{ concurrent: 1 }] })).status).toBe(204)
    expect(await keyIn(keyId)).toMatchObject({ name: "Laptop", models: [], rates: [{ concurrent: 1 }] })
    const ask = () => gateway().call("POST", "/t1/exchange", hello, { "x-svc-key-id": keyId, "x-svc-key": key })
    expect((await ask()).status).toBe(403)
    expect((await change({ models: null })).status).toBe(204)
    expect((await ask()).status).toBe(200)
    expect((await change({ disabled: true })).status).toBe(204)
    expect((await ask()).status).toBe(403)
    expect((await change({ disabled: false, expiresAt: "2020-01-01" })).status).toBe(204)
    expect((await ask()).status).toBe(401)
    expect((await change({ models: ["two words"] })).status).toBe(400)
    expect(await errorOf(await admin("PATCH", `/v1/admin/keys/${ids.key}`, { name: "x" }))).toMatchObject({
      status: 409,
    })
  })

  it("has the minute of its last use", async () => {
    const { keyId, key } = await mint()
    expect(await keyIn(keyId)).not.toHaveProperty("lastUsedAt")
    await statusOf(keyId, key)
    await eventually(async () => (await keyIn(keyId))?.lastUsedAt !== undefined)
    const { lastUsedAt = "" } = (await keyIn(keyId)) ?? {}
    expect(Date.now() - Date.parse(lastUsedAt)).toBeLessThan(120_000)
    expect(lastUsedAt).toMatch(/:00\.000Z$/)
  })

  it("of an organisation is rotated and renamed by its owners only", async () => {
    const { accessToken } = await gateway().logIn(ownerAt)
    const owner = { "x-svc-key-id": undefined, "x-svc-key": undefined, authorization: `Bearer ${accessToken}` }
    const { keyId } = await mint()
    expect((await gateway().call("PATCH", `/v1/keys/${keyId}`, { name: "Ours" }, owner)).status).toBe(204)
    expect((await gateway().call("POST", `/v1/keys/${keyId}/rotate`, {}, owner)).status).toBe(200)
    const audited = await Effect.runPromise(
      gateway().sql<{
        action: string
      }>`select action from audit_log where org_id = ${ids.org} order by seq desc limit 2`,
    )
    expect(audited.map(({ action }) => action)).toEqual(["key.rotated", "key.changed"])
    const other = await admin("POST", "/v1/admin/orgs", { name: "Other", currency: "USD", models: [] })
    const { id } = Schema.decodeUnknownSync(Schema.Struct({ id: Schema.String }))(await other.json())
    const app = await admin("POST", "/v1/admin/apps", { org: id })
    const { id: foreign } = Schema.decodeUnknownSync(Schema.Struct({ id: Schema.String }))(await app.json())
    const { keyId: theirs } = await mint({ app: foreign })
    expect((await gateway().call("POST", `/v1/keys/${theirs}/rotate`, {}, owner)).status).toBe(404)
    expect((await gateway().call("PATCH", `/v1/keys/${theirs}`, { name: "Mine" }, owner)).status).toBe(404)
  })
})
