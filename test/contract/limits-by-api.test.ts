/** Limits that are set through the API: in force at once, as they were sent, and removed by null. */
import { Schema } from "effect"
import { describe, expect, it } from "vitest"
import { answering, hello, newTestIds, testCatalogue } from "../../src/testing/index.ts"
import { useGateway } from "../support/gateway.ts"

const ids = newTestIds()
const gateway = useGateway({ ids, catalogue: (urls) => testCatalogue(urls, ids) })
const asAdmin = () => ({ "x-svc-key-id": undefined, "x-svc-key": undefined, "x-svc-admin-key": gateway().adminKey })
const admin = async (method: string, path: string, body?: object) =>
  gateway().call(method, `/v1/admin/${path}`, body, asAdmin())
const readId = Schema.decodeUnknownSync(Schema.Struct({ id: Schema.String }))
const readKey = Schema.decodeUnknownSync(Schema.Struct({ keyId: Schema.String, key: Schema.String }))
const made = async (path: string, body: object) => readId(await (await admin("POST", path, body)).json()).id

/** An organisation of its own with an application and a key. */
const tenants = async () => {
  const org = await made("orgs", { name: "Limited", currency: "USD", models: ["main", "claude", "plain"] })
  await admin("POST", "topups", { org, amount: "10", id: `start-${org}` })
  const app = await made("apps", { org })
  const { keyId, key } = readKey(await (await admin("POST", "keys", { app })).json())
  const ask = async (model = "main", more: object = {}) => {
    const reply = await gateway().call(
      "POST",
      "/t1/exchange",
      { ...hello, ...more, model },
      { "x-svc-key-id": keyId, "x-svc-key": key },
    )
    return reply.status
  }
  return { org, app, keyId, ask }
}

describe.each(["org", "app", "key"] as const)("limits of the %s", (kind) => {
  it("hold at once, are told as they were sent, and are gone with null", async () => {
    gateway().vendor.script(answering({ words: ["Hi"], inTokens: 10, outTokens: 5 }))
    const { org, app, keyId, ask } = await tenants()
    const path = { org: `orgs/${org}`, app: `apps/${app}`, key: `keys/${keyId}` }[kind]
    const rates = [
      { requests: 2, per: "90s", model: "ma*" },
      { tokens: 100_000, per: "1h", cached: "free" },
      { concurrent: 4 },
    ]
    expect((await admin("PATCH", path, { models: ["main", "cla*"], rates })).status).toBeLessThan(300)
    if (kind !== "key") {
      expect(await (await admin("GET", path)).json()).toMatchObject({ models: ["main", "cla*"], rates })
    }
    expect([await ask("plain"), await ask("claude"), await ask(), await ask(), await ask()]).toEqual([
      403, 200, 200, 200, 429,
    ])
    expect((await admin("PATCH", path, { rates: null })).status).toBeLessThan(300)
    expect([await ask(), await ask()]).toEqual([200, 200])
    expect((await admin("PATCH", path, { models: [] })).status).toBeLessThan(300)
    expect(await ask()).toBe(403)
    expect((await admin("PATCH", path, { models: null })).status).toBeLessThan(300)
    expect([await ask("plain"), await ask()]).toEqual([200, 200])
  })

  it("hold for replies that are sent again", async () => {
    gateway().vendor.script(answering({ words: ["Hi"], inTokens: 10, outTokens: 5 }))
    const { org, app, keyId, ask } = await tenants()
    const path = { org: `orgs/${org}`, app: `apps/${app}`, key: `keys/${keyId}` }[kind]
    const again = () => ask("main", { meta: { requestId: `again-${kind}` } })
    expect([await again(), await again()]).toEqual([200, 200])
    await admin("PATCH", path, { models: ["plain"] })
    expect(await again()).toBe(403)
    await admin("PATCH", path, { models: null })
    expect(await again()).toBe(200)
  })

  it.each([
    { models: ["no such model"] },
    { models: "main" },
    { rates: [{ requests: 0, per: "60s" }] },
    { rates: [{ requests: 1 }] },
    { rates: [{ requests: 1, per: "10ms" }] },
    { rates: [{ requests: 1, per: 60 }] },
    { rates: [{ tokens: 1, per: "60s", cached: "maybe" }] },
    { rates: [{ concurrent: 1, per: "60s" }] },
    {
      rates: [
        { requests: 1, per: "60s" },
        { requests: 2, per: "60s" },
      ],
    },
    { rates: Array.from({ length: 17 }, (_, at) => ({ requests: 1, per: `${at + 1}s` })) },
    { rates: [{ requests: 1, tokens: 1, per: "60s" }] },
  ])("are refused for %j", async (body) => {
    const { org, app, keyId, ask } = await tenants()
    const path = { org: `orgs/${org}`, app: `apps/${app}`, key: `keys/${keyId}` }[kind]
    expect((await admin("PATCH", path, body)).status).toBe(400)
    expect(await ask()).toBe(200)
  })
})

it("a zone of an organisation must exist", async () => {
  const { org } = await tenants()
  expect((await admin("PATCH", `orgs/${org}`, { timeZone: "Europe/Zurich" })).status).toBe(200)
  expect((await admin("PATCH", `orgs/${org}`, { timeZone: "Europe/Nowhere" })).status).toBe(400)
  expect(await (await admin("GET", `orgs/${org}`)).json()).toMatchObject({ timeZone: "Europe/Zurich" })
})
