/** Webhooks: the events that are sent, their signatures and order, and failures of the receiver. */
import { setTimeout as sleep } from "node:timers/promises"
import { rootCertificates, setDefaultCACertificates } from "node:tls"
import { Effect, Redacted, Schema } from "effect"
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { Deliveries, Delivery, MadeWebhook, OwnWebhooks, WebhookList } from "../../../src/protocol/control/webhook.ts"
import { startGateway, type TestGateway } from "../../../src/testing/gateway.ts"
import {
  hello,
  newTestIds,
  testCatalogue,
  testNewWebhookSecret,
  testWebhookSecret,
} from "../../../src/testing/index.ts"
import { asLogin, budgetCalls, type Headers, nobody, priced } from "../../support/budget-calls.ts"
import { certificate } from "../../support/certificate.ts"
import { errorOf, eventually, useGateway } from "../../support/gateway.ts"
import { startReceiver } from "../../support/receiver.ts"

setDefaultCACertificates([...rootCertificates, certificate])

const platform = await startReceiver(testWebhookSecret)
const own = await startReceiver("", "127.0.0.2", true)
afterAll(() => Promise.all([platform.stop(), own.stop()]))

const ids = newTestIds()
const owner = { id: `owner_${ids.org}`, email: `owner_${ids.org}@example.com` }
const admin = { id: `admin_${ids.org}`, email: `admin_${ids.org}@example.com` }
const hook = `hook_${ids.org}`
let urls = { vendor: "", second: "" }
const events = [
  "budget.near",
  "budget.reached",
  "balance.low",
  "key.created",
  "key.revoked",
  "target.down",
  "target.up",
  "policy.denied",
]

const catalogueWith = (more = "", url = `http://127.0.0.1:${platform.port}/hooks?code=a%2Fb`): string =>
  testCatalogue(
    urls,
    ids,
    `users:
  - { id: ${owner.id}, email: ${owner.email}, org: ${ids.org}, role: owner }
  - { id: ${admin.id}, email: ${admin.email}, org: ${ids.org}, role: admin }
policies: [{ id: words, direction: inbound, match: { keywords: [classified] }, reason: leak }]
webhooks: [{ id: ${hook}, url: "${url}", secret: "env:WEIR_TEST_WEBHOOK", events: ${JSON.stringify([...events, "catalogue.applied"])} }]
${more}`,
  ).replace("currency: USD, models:", `currency: USD, policies: [words], warnBelow: "999.99", models:`)

const gateway = useGateway({
  backgroundSpeed: 10,
  ids,
  config: { egressAllow: ["127.0.0.2"], masterKey: Redacted.make("the master key of these tests") },
  resolveHost: async () => resolved,
  catalogue: (given) => {
    urls = given
    return catalogueWith()
  },
})
let resolved: ReadonlyArray<string> = ["127.0.0.2"]
const { exchange } = budgetCalls(gateway)
let asOwner: Headers
let asAdmin: Headers

beforeAll(async () => {
  asOwner = asLogin((await gateway().logIn(owner.email)).accessToken)
  asAdmin = asLogin((await gateway().logIn(admin.email)).accessToken)
  gateway().vendor.script(priced)
})
beforeEach(() => {
  platform.answer = () => 204
  platform.headers = {}
  own.answer = () => 204
})

const asOperator = () => ({ ...nobody, "x-svc-admin-key": gateway().adminKey })
const ofPlatform = (type: string) =>
  platform.received.filter((event) => event.type === type && (event.data["org"] ?? ids.org) === ids.org)
const ownUrl = () => `https://upstream.test:${own.port}/events?sig=a%2Fb&n=1`
const read = async <S extends Schema.ConstraintDecoder<unknown, never>>(schema: S, response: Promise<Response>) =>
  Schema.decodeUnknownSync(schema, { onExcessProperty: "error" })(await (await response).json())

const make = async (events: ReadonlyArray<string>) => {
  const made = await read(MadeWebhook, gateway().call("POST", "/v1/webhooks", { url: ownUrl(), events }, asOwner))
  own.secret = made.secret
  return made
}
const remove = (id: string) => gateway().call("DELETE", `/v1/webhooks/${id}`, undefined, asOwner)
const deliveriesOf = async (id: string) =>
  (await read(Deliveries, gateway().call("GET", `/v1/webhooks/${id}/deliveries`, undefined, asOwner))).deliveries

const mintKey = async (): Promise<string> => {
  const minted = await gateway().call("POST", "/v1/keys", { app: ids.app }, asOwner)
  expect(minted.status).toBe(200)
  return Schema.decodeUnknownSync(Schema.Struct({ keyId: Schema.String }))(await minted.json()).keyId
}
/** Has an event sent again now, once its last attempt is written down as such: while one is under way, the time is its lease. */
const again = (key: string, status: number | null) =>
  eventually(async () => {
    const rows = await Effect.runPromise(gateway().sql`
      update webhook_deliveries set next_at = now()
      where state = 'pending' and data ->> 'key' = ${key} and (status is not null or problem is not null)
        and status is not distinct from ${status}::int
      returning event_id`)
    return rows.length > 0
  })

describe("a webhook of the catalogue", () => {
  it("is told that a catalogue was applied, also the one that names it", async () => {
    await eventually(() => ofPlatform("catalogue.applied").length > 0)
    expect(ofPlatform("catalogue.applied")[0]).toMatchObject({
      path: "/hooks?code=a%2Fb",
      data: { revision: expect.stringMatching(/^\d+$/) },
    })
  })

  it("is told of denials, once a minute for a policy, and never of their text", async () => {
    const classified = { ...hello, thread: [{ role: "user", blocks: [{ t: "text", v: "this is classified" }] }] }
    for (let at = 0; at < 5; at++) expect((await gateway().exchange(classified)).status).toBe(403)
    const denials = () => ofPlatform("policy.denied")
    await eventually(() => denials().length > 0)
    expect(denials()[0]?.data).toMatchObject({
      ...{ org: ids.org, policy: "words", reason: "leak", at: "request", model: "main" },
      ...{ appId: ids.app, requestId: expect.stringMatching(/^req_/), count: expect.any(Number) },
    })
    expect(JSON.stringify(denials())).not.toContain("classified")
    await sleep(500)
    expect(denials()).toHaveLength(1)
  })

  it("is told of keys, of one key in their order, each event with an id of its own", async () => {
    const key = await mintKey()
    expect((await gateway().call("POST", `/v1/keys/${key}/revoke`, undefined, asOwner)).ok).toBe(true)
    const ofKey = () => platform.received.filter(({ data }) => data["key"] === key)
    await eventually(() => ofKey().length === 2)
    expect(ofKey().map(({ type }) => type)).toEqual(["key.created", "key.revoked"])
    expect(new Set(ofKey().map(({ id }) => id)).size).toBe(2)
    expect(ofKey()[0]?.data).toMatchObject({ org: ids.org, appId: ids.app })
  })

  it("is not sent again before the time that its receiver asks for", async () => {
    platform.headers = { "retry-after": "7200" }
    platform.answer = ({ type }) => (type === "key.created" ? 429 : 204)
    const key = await mintKey()
    const waits = () =>
      Effect.runPromise(gateway().sql<{ seconds: number }>`
        select extract(epoch from next_at - now())::float8 as seconds from webhook_deliveries
        where data ->> 'key' = ${key} and webhook = ${hook} and status = 429`)
    await eventually(async () => (await waits()).length === 1)
    // Without its word: after five seconds.
    expect((await waits())[0]?.seconds).toBeGreaterThan(7100)
    platform.answer = () => 204
    await again(key, 429)
    await eventually(() => platform.received.some(({ data, status }) => data["key"] === key && status === 204))
  })

  it("is told once that the balance is low, and again after it was not", async () => {
    const spend = async () => {
      expect((await exchange()).status).toBe(200)
    }
    for (let spent = 0; spent < 3; spent++) await spend()
    await eventually(() => ofPlatform("balance.low").length === 1)
    expect(ofPlatform("balance.low")[0]?.data).toMatchObject({ below: "999.99", currency: "USD" })
    await spend()
    const topUp = (id: string, amount: string) =>
      Effect.runPromise(
        gateway().ledger.topup({
          id: `${ids.org}-${id}`,
          orgId: ids.org,
          currency: "USD",
          amount: BigInt(amount) * 10n ** 10n,
        }),
      )
    await topUp("more", "1")
    await spend()
    await eventually(async () => {
      const [row] = await Effect.runPromise(gateway().sql<{ warned: number | null }>`
        select warned from counters where org_id = ${ids.org} and counter = 'USD'`)
      return row?.warned === null
    })
    expect(ofPlatform("balance.low").length).toBe(1)
    await Effect.runPromise(
      gateway().sql`update counters set funded = funded - 1 where org_id = ${ids.org} and counter = 'USD'`,
    )
    await spend()
    await eventually(() => ofPlatform("balance.low").length === 2)
    await topUp("rest", "1000")
  })

  it("is told of a threshold of a budget, and that it is used up", async () => {
    const terms = { scope: "key", subject: ids.key, unit: "tokens", period: "day", limit: 2000, warnAt: [0.5] }
    expect((await gateway().call("PUT", "/v1/budgets/own", terms, asOwner)).status).toBe(200)
    expect((await exchange()).status).toBe(200)
    await eventually(() => ofPlatform("budget.near").length === 1)
    expect(ofPlatform("budget.near")[0]?.data).toMatchObject({ id: "own", percent: 50, used: "1200" })
    expect((await exchange()).status).toBe(200)
    await eventually(() => ofPlatform("budget.reached").length === 1)
    expect(ofPlatform("budget.reached")[0]?.data).toMatchObject({ id: "own", percent: 100, used: "2400" })
    expect((await gateway().call("DELETE", "/v1/budgets/own", undefined, asOwner)).status).toBe(204)
  })

  it("is told when calls to a target begin to fail, and when they work again", async () => {
    gateway().vendor.script((call) => {
      call.head(500, { "content-type": "application/json" })
      call.end("{}")
    })
    for (let call = 0; call < 8; call++) await exchange()
    await eventually(() => ofPlatform("target.down").length > 0)
    gateway().vendor.script(priced)
    await eventually(async () => {
      await exchange()
      return ofPlatform("target.up").length > 0
    }, 30_000)
    expect(ofPlatform("target.down")[0]?.data).toMatchObject({ reason: "failing" })
    expect(ofPlatform("target.up")[0]?.data["target"]).toMatch(/^openai\/upstream-main@/)
  })

  it("is told when a vendor refuses a target, and what it lacks", async () => {
    const [before, up] = [ofPlatform("target.down").length, ofPlatform("target.up").length]
    gateway().vendor.script((call) => {
      call.head(401, { "content-type": "application/json" })
      call.end(JSON.stringify({ error: { code: "invalid_api_key" } }))
    })
    for (let call = 0; call < 3; call++) await exchange()
    await eventually(() => ofPlatform("target.down").length > before)
    expect(ofPlatform("target.down").slice(before)).toMatchObject([{ data: { reason: "credential" } }])
    gateway().vendor.script(priced)
    await exchange()
    await eventually(() => ofPlatform("target.up").length > up)
  })

  it("gets an event again that it did not accept, with the same id, before later ones of the same subject", async () => {
    const statuses = [500, 0, 302, 204]
    const key = `key_${crypto.randomUUID().slice(0, 8)}`
    platform.answer = ({ data }) => (data["key"] === key ? (statuses.shift() ?? 204) : 204)
    for (const action of ["key.minted", "key.revoked"]) {
      await Effect.runPromise(gateway().sql`
        select audit_append(${action}, ${ids.org}, 'service', 'test', jsonb_build_object('key', ${key}::text))`)
    }
    const ofKey = () => platform.received.filter(({ data }) => data["key"] === key)
    for (const status of [500, null, 302]) await again(key, status)
    await eventually(() => ofKey().some(({ type }) => type === "key.revoked"), 30_000)
    expect(ofKey().map(({ type, status }) => [type, status])).toEqual([
      ["key.created", 500],
      ["key.created", 0],
      ["key.created", 302],
      ["key.created", 204],
      ["key.revoked", 204],
    ])
    expect(
      new Set(
        ofKey()
          .slice(0, 4)
          .map(({ id }) => id),
      ).size,
    ).toBe(1)
  })

  it("is told in order what happened to a subject within a millisecond", async () => {
    const key = `key_${crypto.randomUUID().slice(0, 8)}`
    await Effect.runPromise(gateway().sql`
      select count(audit_append(case n % 2 when 1 then 'key.minted' else 'key.revoked' end, ${ids.org}, 'service', 'test',
        jsonb_build_object('key', ${key}::text, 'n', n))) from generate_series(1, 20) n`)
    const ofKey = () => platform.received.filter(({ data }) => data["key"] === key)
    await eventually(() => ofKey().length === 20, 30_000)
    expect(ofKey().map(({ data }) => data["n"])).toEqual(Array.from({ length: 20 }, (_, at) => at + 1))
  })

  it("keeps an event that it refused for a day as failed, which operators send again", async () => {
    platform.answer = () => 503
    const key = `key_${crypto.randomUUID().slice(0, 8)}`
    await Effect.runPromise(gateway().sql`
      select audit_append('key.minted', ${ids.org}, 'service', 'test', jsonb_build_object('key', ${key}::text))`)
    const deliveryOf = async () =>
      (
        await read(
          Deliveries,
          gateway().call("GET", `/v1/admin/webhooks/deliveries?webhook=${hook}`, undefined, asOperator()),
        )
      ).deliveries.find(({ subject }) => subject === key)
    await eventually(async () => (await deliveryOf())?.status === 503)
    expect(await deliveryOf()).toMatchObject({ state: "pending", attempts: 1 })
    await Effect.runPromise(gateway().sql`
      update webhook_deliveries set gives_up_at = now(), next_at = now() where subject = ${key}`)
    await eventually(async () => (await deliveryOf())?.state === "failed")
    const resend = () =>
      deliveryOf().then((found) =>
        gateway().call(
          "POST",
          `/v1/admin/webhooks/resend?webhook=${hook}&event=${found?.event}`,
          undefined,
          asOperator(),
        ),
      )
    platform.answer = () => 204
    expect((await resend()).status).toBe(200)
    await eventually(async () => (await deliveryOf())?.state === "delivered")
    const { webhooks } = await read(WebhookList, gateway().call("GET", "/v1/admin/webhooks", undefined, asOperator()))
    expect(webhooks.find(({ id }) => id === hook)).toMatchObject({ pending: 0, failed: 0 })
  })

  it("is tested with an event of its own type", async () => {
    const path = `/v1/admin/webhooks/test?webhook=${hook}`
    const sent = await read(Delivery, gateway().call("POST", path, undefined, asOperator()))
    await eventually(() => platform.received.some(({ id, type }) => id === sent.event && type === "webhook.test"))
    const unknown = await gateway().call("POST", "/v1/admin/webhooks/test?webhook=none", undefined, asOperator())
    expect((await errorOf(unknown)).code).toBe("not_found")
  })

  it("is told nothing with a secret of another form, which applying it says", async () => {
    const text = catalogueWith().replaceAll("env:WEIR_TEST_WEBHOOK", "env:WEIR_TEST_VENDOR")
    const { warnings } = await Effect.runPromise(gateway().catalogue.apply(text, { dryRun: true }))
    expect(warnings.filter((warning) => warning.startsWith(hook))).toEqual([
      `${hook}: its secret is not whsec_ and the base64 of 24 to 64 bytes; nothing is sent`,
    ])
    const former = 'secret: "env:WEIR_TEST_WEBHOOK", formerSecret: "env:WEIR_TEST_NONE"'
    const rotating = catalogueWith().replace('secret: "env:WEIR_TEST_WEBHOOK"', former)
    const told = await Effect.runPromise(gateway().catalogue.apply(rotating, { dryRun: true }))
    expect(told.warnings.filter((warning) => warning.startsWith(hook))).toEqual([
      `${hook}: its formerSecret cannot be used; deliveries are signed with its secret alone`,
    ])
  })

  it("is signed with the new secret and the former one while it is rotated", async () => {
    const rotating = (secrets: string) =>
      Effect.runPromise(gateway().catalogue.apply(catalogueWith().replace('secret: "env:WEIR_TEST_WEBHOOK"', secrets)))
    const isReceived = async (secret: string) => {
      platform.secret = secret
      const key = await mintKey()
      await eventually(() => platform.received.some(({ data }) => data["key"] === key))
    }
    await rotating('secret: "env:WEIR_TEST_NEW_WEBHOOK", formerSecret: "env:WEIR_TEST_WEBHOOK"')
    await isReceived(testWebhookSecret)
    await isReceived(testNewWebhookSecret)
    await rotating('secret: "env:WEIR_TEST_WEBHOOK"')
    await isReceived(testWebhookSecret)
  })

  it.each([
    [`webhooks: [{ id: a, url: "ftp://a", secret: "env:A", events: [key.created] }]`, "an http(s) URL"],
    [
      `webhooks: [{ id: a, url: "http://a", secret: "whsec_x", events: [key.created] }]`,
      "env:NAME, file:PATH, vault:PATH",
    ],
    [`webhooks: [{ id: a, url: "http://a", secret: "env:A", events: [] }]`, "events"],
    [`webhooks: [{ id: a, url: "http://a", secret: "env:A", events: [books.burnt] }]`, "events"],
  ])("is refused as %s", async (text, message) => {
    const refused = await Effect.runPromise(Effect.flip(gateway().catalogue.apply(`version: 1\n${text}`)))
    expect(JSON.stringify(refused)).toContain(message)
  })
})

describe("a webhook of an organisation", () => {
  it("is told of events of its organisation only, signed with its own secret, and forgets them when it is removed", async () => {
    const { id, secret } = await make(["key.created"])
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
    await Effect.runPromise(gateway().sql`
      select audit_append('key.minted', 'another-organisation', 'service', 'test', '{"key": "foreign"}')`)
    const key = await mintKey()
    await eventually(() => own.received.some(({ data }) => data["key"] === key))
    await eventually(() => platform.received.some(({ data }) => data["key"] === "foreign"))
    expect(own.received.map(({ data, path }) => [data["org"], path])).toEqual([[ids.org, "/events?sig=a%2Fb&n=1"]])
    const listed = await read(OwnWebhooks, gateway().call("GET", "/v1/webhooks", undefined, asOwner))
    expect(JSON.stringify(listed)).not.toContain(secret)
    expect(listed.webhooks).toMatchObject([{ id, url: ownUrl(), events: ["key.created"] }])
    const { webhooks } = await read(WebhookList, gateway().call("GET", "/v1/admin/webhooks", undefined, asOperator()))
    expect(webhooks.find((each) => each.id === id)?.url).toBe(`https://upstream.test:${own.port}/events`)
    await eventually(async () => (await deliveriesOf(id))[0]?.state === "delivered")
    const rows = await Effect.runPromise(gateway().sql`select * from org_webhooks where id = ${id}`)
    expect(JSON.stringify(rows)).not.toContain(secret.slice(6))
    expect((await remove(id)).status).toBe(204)
    expect((await errorOf(await remove(id))).code).toBe("not_found")
  })

  it("is added by an operator too, for an organisation that exists", async () => {
    const terms = { url: ownUrl(), events: ["key.created"] }
    const path = `/v1/admin/orgs/${ids.org}/webhooks`
    const { id } = await read(MadeWebhook, gateway().call("POST", path, terms, asOperator()))
    const listed = await read(OwnWebhooks, gateway().call("GET", "/v1/webhooks", undefined, asOwner))
    expect(listed.webhooks).toMatchObject([{ id, ...terms }])
    await remove(id)
    const elsewhere = await gateway().call("POST", "/v1/admin/orgs/unheard/webhooks", terms, asOperator())
    expect((await errorOf(elsewhere)).code).toBe("not_found")
    const unsafe = await gateway().call("POST", path, { ...terms, url: "https://10.0.0.1/" }, asOperator())
    expect((await errorOf(unsafe)).code).toBe("egress_blocked")
  })

  it("is not called at an address that became private, nor told why in its own words", async () => {
    const { id } = await make(["key.created"])
    resolved = ["10.0.0.1"]
    // The address is checked at each new connection.
    own.disconnect()
    await gateway().call("POST", `/v1/webhooks/${id}/test`, undefined, asOwner)
    await eventually(async () => (await deliveriesOf(id))[0]?.problem !== undefined)
    resolved = ["127.0.0.2"]
    expect(await deliveriesOf(id)).toMatchObject([{ type: "webhook.test", problem: "the address is not allowed" }])
    await remove(id)
  })

  it("that answers 410 is not told this again, unless its owner asks for it", async () => {
    const { id } = await make(["key.created"])
    own.answer = () => 410
    const sent = await read(Delivery, gateway().call("POST", `/v1/webhooks/${id}/test`, undefined, asOwner))
    await eventually(async () => (await deliveriesOf(id))[0]?.state === "failed")
    own.answer = () => 200
    const again = await gateway().call("POST", `/v1/webhooks/${id}/deliveries/${sent.event}/resend`, undefined, asOwner)
    expect(again.status).toBe(200)
    await eventually(async () => (await deliveriesOf(id))[0]?.state === "delivered")
    await remove(id)
  })

  it("that hangs holds up no other", async () => {
    own.answer = () => -1
    const { id } = await make(["key.created"])
    const hanging = await mintKey()
    await eventually(() => own.received.some(({ data }) => data["key"] === hanging))
    const key = await mintKey()
    await eventually(() => ofPlatform("key.created").some(({ data }) => data["key"] === key))
    await remove(id)
  })

  it("may be set five times", async () => {
    const made: Array<string> = []
    for (let count = 0; count < 5; count++) made.push((await make(["job.done"])).id)
    const sixth = await gateway().call("POST", "/v1/webhooks", { url: ownUrl(), events: ["job.done"] }, asOwner)
    expect(await errorOf(sixth)).toMatchObject({ code: "limit_exceeded", detail: { limit: 5 } })
    for (const id of made) await remove(id)
  })

  it.each([
    [{ url: "http://upstream.test/", events: ["job.done"] }, "egress_blocked"],
    [{ url: "https://10.0.0.1/", events: ["job.done"] }, "egress_blocked"],
    [{ url: "https://a:b@upstream.test/", events: ["job.done"] }, "egress_blocked"],
    [{ url: "https://upstream.test/#key", events: ["job.done"] }, "egress_blocked"],
    [{ url: "https://10.0.0.1/?key=1", events: ["job.done"] }, "egress_blocked"],
    [{ url: "nonsense", events: ["job.done"] }, "egress_blocked"],
    [{ url: "https://upstream.test/", events: [] }, "bad_request"],
    [{ url: "https://upstream.test/", events: ["target.down"] }, "bad_request"],
    [{ url: "https://upstream.test/", events: ["job.done", "job.done"] }, "bad_request"],
    [{ url: "https://upstream.test/", events: ["job.done"], secret: "mine" }, "bad_request"],
    [{ url: `https://upstream.test/${"x".repeat(3000)}`, events: ["job.done"] }, "bad_request"],
    ["nonsense", "bad_request"],
  ])("%j is refused", async (body, code) => {
    expect((await errorOf(await gateway().call("POST", "/v1/webhooks", body, asOwner))).code).toBe(code)
  })

  it("is signed with the new secret and the former ones while it is rotated, which end in time", async () => {
    const { id, secret } = await make(["key.created"])
    const rotated = async (body: unknown, path = `/v1/webhooks/${id}/rotate`, headers = asOwner) =>
      read(MadeWebhook, gateway().call("POST", path, body, headers))
    const isReceived = async (by: string) => {
      own.secret = by
      const key = await mintKey()
      await eventually(() => own.received.some(({ data }) => data["key"] === key))
    }
    const signatures = () => own.received.at(-1)?.signatures
    const first = await rotated({})
    expect(first).toMatchObject({ id, url: ownUrl(), secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/) })
    expect(first.secret).not.toBe(secret)
    const hours = (Date.parse(first.formerSecretUntil ?? "") - Date.now()) / 3_600_000
    expect(Math.abs(hours - 24)).toBeLessThan(0.1)
    await isReceived(secret)
    await isReceived(first.secret)
    expect(signatures()).toBe(2)

    // The reply of a rotation was lost: the secret of before is valid still. An operator can rotate, too.
    const path = `/v1/admin/webhooks/rotate?owner=${ids.org}&webhook=${id}`
    const second = await rotated({ formerHours: 48 }, path, asOperator())
    for (const each of [secret, first.secret, second.secret]) await isReceived(each)
    const third = await rotated({ formerHours: 48 })
    await isReceived(third.secret)
    expect(signatures()).toBe(3)

    const listed = await read(OwnWebhooks, gateway().call("GET", "/v1/webhooks", undefined, asOwner))
    expect(listed.webhooks.find((each) => each.id === id)?.formerSecretUntil).toBe(third.formerSecretUntil)
    const { sql } = gateway()
    const rows = await Effect.runPromise(sql`
      select w.*, f.* from org_webhooks w join org_webhook_former_secrets f on f.webhook = w.id where w.id = ${id}`)
    expect(rows.length).toBe(2)
    for (const each of [secret, first.secret, second.secret, third.secret]) {
      expect(JSON.stringify(rows)).not.toContain(each.slice(6))
    }
    const audited = await Effect.runPromise(sql`
      select detail from audit_log where action = 'webhook.rotated' and detail ->> 'webhook' = ${id} order by seq`)
    expect(audited.map(({ detail }) => Object.keys(Object(detail)).sort())).toEqual(
      Array.from({ length: 3 }, () => ["formerSecretUntil", "webhook"]),
    )

    // Their time is over: only the newest signs, and retention removes them.
    await Effect.runPromise(sql`
      update org_webhook_former_secrets set valid_until = now() - interval '1 second' where webhook = ${id}`)
    await isReceived(third.secret)
    expect(signatures()).toBe(1)
    const former = () => Effect.runPromise(sql`select 1 from org_webhook_former_secrets where webhook = ${id}`)
    await Effect.runPromise(sql`select retain_former_secrets(100)`)
    expect(await former()).toEqual([])

    // After a leak nothing of before is valid.
    await rotated({})
    const last = await rotated({ formerHours: 0 })
    expect(last.formerSecretUntil).toBeUndefined()
    await isReceived(last.secret)
    expect(signatures()).toBe(1)
    expect(await former()).toEqual([])
    await rotated({})
    expect((await remove(id)).status).toBe(204)
    expect(await former()).toEqual([])
  })

  it("has its secret and the former ones sealed again under a new master key", async () => {
    const start = (masterKey: string, masterKeyPrevious?: string) =>
      startGateway({
        backgroundSpeed: 10,
        ids,
        catalogue: () => catalogueWith(),
        resolveHost: async () => resolved,
        config: {
          egressAllow: ["127.0.0.2"],
          masterKey: Redacted.make(masterKey),
          masterKeyPrevious: masterKeyPrevious === undefined ? undefined : Redacted.make(masterKeyPrevious),
        },
      })
    const sealedIn = ({ sql }: TestGateway, id: string) =>
      Effect.runPromise(sql<{ readonly newest: string; readonly former: string }>`
        select w.sealed_secret as newest, f.sealed_secret as former
        from org_webhooks w join org_webhook_former_secrets f on f.webhook = w.id where w.id = ${id}`)
    const program = Effect.gen(function* () {
      const before = yield* start("old")
      const { id, sealed } = yield* Effect.promise(async () => {
        const headers = asLogin((await before.logIn(owner.email)).accessToken)
        const { id } = await read(
          MadeWebhook,
          before.call("POST", "/v1/webhooks", { url: ownUrl(), events: ["key.created"] }, headers),
        )
        await before.call("POST", `/v1/webhooks/${id}/rotate`, {}, headers)
        const [sealed] = await sealedIn(before, id)
        return { id, sealed }
      })
      const after = yield* start("new", "old")
      yield* after.sql`
        insert into org_webhooks (org_id, id, url, events, sealed_secret)
        values (${ids.org}, ${id}, ${ownUrl()}, '{key.created}', ${sealed?.newest ?? ""}) on conflict do nothing`
      yield* after.sql`
        insert into org_webhook_former_secrets (org_id, webhook, sealed_secret, valid_until)
        values (${ids.org}, ${id}, ${sealed?.former ?? ""}, now() + interval '1 hour') on conflict do nothing`
      yield* Effect.promise(() =>
        eventually(async () => {
          const [now] = await sealedIn(after, id)
          return now !== undefined && now.newest !== sealed?.newest && now.former !== sealed?.former
        }),
      )
      yield* after.sql`delete from org_webhooks where id = ${id}`
    })
    await Effect.runPromise(Effect.scoped(program))
  })

  it.each([
    [{ formerHours: -1 }, "bad_request"],
    [{ formerHours: 169 }, "bad_request"],
    [{ formerHours: 1.5 }, "bad_request"],
    [{ secret: "mine" }, "bad_request"],
    [{}, "not_found"],
  ])("is not rotated with %j", async (body, code) => {
    const paths = [
      ["/v1/webhooks/unknown/rotate", asOwner],
      [`/v1/admin/webhooks/rotate?owner=${ids.org}&webhook=unknown`, asOperator()],
      [`/v1/admin/webhooks/rotate?owner=&webhook=${hook}`, asOperator()],
    ] as const
    for (const [path, headers] of paths) {
      expect((await errorOf(await gateway().call("POST", path, body, headers))).code).toBe(code)
    }
  })

  it("is for owners", async () => {
    for (const [method, path] of [
      ["GET", "/v1/webhooks"],
      ["POST", "/v1/webhooks"],
      ["DELETE", "/v1/webhooks/a"],
      ["GET", "/v1/webhooks/a/deliveries"],
      ["POST", "/v1/webhooks/a/rotate"],
      ["POST", "/v1/webhooks/a/test"],
      ["POST", "/v1/webhooks/a/deliveries/b/resend"],
    ] as const) {
      expect((await errorOf(await gateway().call(method, path, undefined, asAdmin))).code).toBe("forbidden")
    }
  })
})
