/** Applying catalogues to a running gateway: atomic, idempotent, and without dropping a stream. */
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { answering, hello, readEvents, testCatalogue } from "../../../src/testing/index.ts"
import { balanceOf, errorOf, eventually, useGateway } from "../../support/gateway.ts"

const ids = { org: "org_apply", app: "app_apply", key: "key_apply" }
let urls = { vendor: "", second: "" }
const gateway = useGateway({
  catalogue: (given) => {
    urls = given
    return testCatalogue(given, ids)
  },
})

const apply = (text: string, options: object = {}, adminKey = gateway().adminKey) =>
  fetch(`${gateway().baseUrl}/v1/admin/catalogue`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-svc-admin-key": adminKey },
    body: JSON.stringify({ text, ...options }),
  })
const exchange = (body: object = hello, keyId = ids.key, key = gateway().key) =>
  gateway().exchange(body, { headers: { "x-svc-key-id": keyId, "x-svc-key": key } })

const nameOf = async (org: string) => (await Effect.runPromise(gateway().tenants.org(org)))?.org.name

describe("POST /v1/admin/catalogue", () => {
  it("needs the admin key", async () => {
    expect(await errorOf(await apply("version: 1", {}, "wrong"))).toMatchObject({
      status: 401,
      code: "admin_key_invalid",
    })
  })

  it("applied again changes nothing and credits nothing", async () => {
    const before = await balanceOf(gateway())
    const again = await (await apply(testCatalogue(urls, ids))).json()
    expect(again).toMatchObject({ changes: [], credited: [], minted: [] })
    expect(await balanceOf({ ...gateway(), orgId: ids.org })).toBe(1000n * 10n ** 10n)
    expect(await balanceOf(gateway())).toBe(before)
  })

  it("says that an id of a top-up is credited once, and credits nothing of another amount", async () => {
    const balance = () => balanceOf({ ...gateway(), orgId: ids.org })
    const before = await balance()
    const other = testCatalogue(urls, ids).replace('amount: "1000"', 'amount: "2000"')
    expect(other).not.toBe(testCatalogue(urls, ids))
    for (const options of [{ dryRun: true }, {}]) {
      const told = JSON.parse(JSON.stringify(await (await apply(other, options)).json()))
      expect(told.credited).toEqual([])
      expect(told.warnings).toContainEqual(
        expect.stringContaining("this top-up credited another organisation or amount; an id is credited once"),
      )
    }
    expect(await balance()).toBe(before)
    const again = JSON.parse(JSON.stringify(await (await apply(testCatalogue(urls, ids))).json()))
    expect(JSON.stringify(again.warnings)).not.toContain("top-up")
  })

  it("with an error changes nothing, and reports path and line", async () => {
    const broken = testCatalogue(urls, ids).replace("handle: plain,", "handle: plain, colour: red,")
    const error = await errorOf(await apply(broken))
    expect(error).toMatchObject({ status: 400, code: "bad_request" })
    expect(error.detail).toMatchObject({ issues: [{ path: "models[4].colour", line: 21 }] })
    expect((await exchange({ ...hello, model: "plain" })).status).toBe(200)
  })

  it("that is large is read in a thread: the same changes, the same issues, exchanges go on", async () => {
    const orgs = Array.from(
      { length: 400 },
      (_, at) => `  - { id: many_${at}, name: N${at}, currency: USD, models: [] }`,
    )
    const large = testCatalogue(urls, ids).replace("\napps:\n", `\n${orgs.join("\n")}\napps:\n`)
    expect(large.length).toBeGreaterThan(16 * 1024)
    const applied = JSON.parse(JSON.stringify(await (await apply(large)).json()))
    expect(applied.changes).toHaveLength(400)
    expect((await exchange()).status).toBe(200)
    const renamed = large.replace("name: N7,", "name: Seven,")
    expect(await (await apply(renamed)).json()).toMatchObject({
      changes: [{ entry: "orgs/many_7", change: "changed" }],
    })
    expect(await nameOf("many_7")).toBe("Seven")
    const line = renamed.split("\n").findIndex((text) => text.includes("id: many_399"))
    expect(
      (await errorOf(await apply(renamed.replace("name: N399,", "name: N399, colour: red,")))).detail,
    ).toMatchObject({
      issues: [{ line: line + 1, path: "orgs[400].colour" }],
    })
    expect(await (await apply(`${renamed}\n# the same`)).json()).toMatchObject({ changes: [] })
    const back = JSON.parse(JSON.stringify(await (await apply(testCatalogue(urls, ids), { prune: true })).json()))
    expect(back.changes).toHaveLength(400)
    expect(await nameOf("many_7")).toBeUndefined()
    expect((await exchange()).status).toBe(200)
  })

  it("that is large comes back letter by letter", async () => {
    const name = "名前é".repeat(20)
    const orgs = Array.from(
      { length: 4000 },
      (_, at) => `  - { id: long_${at}, name: ${name}${at}, currency: USD, models: [] }`,
    )
    const large = testCatalogue(urls, ids).replace("\napps:\n", `\n${orgs.join("\n")}\napps:\n`)
    expect(Buffer.byteLength(large)).toBeGreaterThan(512 * 1024)
    expect((await apply(large)).status).toBe(200)
    const stored = await fetch(`${gateway().baseUrl}/v1/admin/catalogue`, {
      headers: { "x-svc-admin-key": gateway().adminKey },
    })
    expect(await stored.json()).toMatchObject({ text: large })
    expect(await nameOf("long_3999")).toBe(`${name}3999`)
    expect((await apply(testCatalogue(urls, ids), { prune: true })).status).toBe(200)
  })

  it("with a key whose secret is unknown changes nothing", async () => {
    const text = testCatalogue(urls, ids).replace("env:WEIR_TEST_KEY", "env:NOWHERE")
    expect((await errorOf(await apply(text))).detail).toMatchObject({ issues: [{ path: "keys[0].secret", line: 46 }] })
    expect((await exchange()).status).toBe(200)
  })

  it("dry-run reports changes, and changes nothing", async () => {
    const text = testCatalogue(urls, ids).replace("maxOutput: 2000", "maxOutput: 1999")
    const told = await (await apply(text, { dryRun: true })).json()
    expect(told).toMatchObject({ changes: [{ entry: "models/main", change: "changed" }] })
    expect(await (await apply(testCatalogue(urls, ids), { dryRun: true })).json()).toMatchObject({ changes: [] })
  })

  it("mints a secret for a key without one, once; a key that leaves the file is revoked when it is pruned", async () => {
    const minted = testCatalogue(urls, ids).replace("\nkeys:\n", `\nkeys:\n  - { id: key_minted, app: ${ids.app} }\n`)
    const first = await (await apply(minted)).json()
    expect(first).toMatchObject({ minted: [{ keyId: "key_minted" }] })
    const secret = JSON.parse(JSON.stringify(first)).minted[0].secret
    expect((await exchange(hello, "key_minted", secret)).status).toBe(200)
    expect(await (await apply(minted)).json()).toMatchObject({ minted: [] })
    expect((await exchange(hello, "key_minted", secret)).status).toBe(200)
    const nameOf = async () => {
      const rows = await Effect.runPromise(gateway().sql`select name from app_keys where id = 'key_minted'`)
      return rows[0]?.["name"]
    }
    await apply(minted.replace("id: key_minted,", "id: key_minted, name: Laptop,"))
    expect(await nameOf()).toBe("Laptop")
    await apply(minted)
    expect(await nameOf()).toBeNull()
    await apply(testCatalogue(urls, ids))
    expect((await exchange(hello, "key_minted", secret)).status).toBe(200)
    await apply(testCatalogue(urls, ids), { prune: true })
    await eventually(async () => (await exchange(hello, "key_minted", secret)).status === 401)
  })

  it("generates no key if it cannot be printed: the next apply generates it", async () => {
    const waiting = testCatalogue(urls, ids).replace("\nkeys:\n", `\nkeys:\n  - { id: key_waiting, app: ${ids.app} }\n`)
    const applied = await Effect.runPromise(gateway().catalogue.apply(waiting, { mint: false }))
    expect(applied.minted).toEqual([])
    expect(applied.warnings.join()).toContain("key_waiting has no secret")
    expect(await (await apply(waiting)).json()).toMatchObject({ minted: [{ keyId: "key_waiting" }] })
    await apply(testCatalogue(urls, ids), { prune: true })
  })

  it("editing and re-applying takes effect at once and drops no stream", async () => {
    gateway().vendor.script(answering({ words: ["a", "b", "c", "d"], inTokens: 1, outTokens: 4 }, 100))
    const streaming = exchange({ ...hello, stream: true })
    const without = testCatalogue(urls, ids).replace("models: [main, claude,", "models: [claude,")
    await eventually(() => gateway().vendor.calls.at(-1)?.streaming === true)
    await apply(without)
    expect(await errorOf(await exchange())).toMatchObject({ code: "model_not_authorized" })
    expect((await readEvents(await streaming)).at(-1)?.event).toBe("t.close")
    await apply(testCatalogue(urls, ids))
    expect((await exchange()).status).toBe(200)
  })

  const more = () =>
    testCatalogue(urls, ids)
      .replace(
        "\norgs:\n",
        `\norgs:
  - { id: org_extra, name: Extra, currency: USD, models: [main], plan: extra }
  - { id: many_poor, name: Poor, currency: USD, models: [] }
`,
      )
      .replace("\nplans:\n", "\nplans:\n  - { id: extra, concurrency: 3 }\n")
      .replace(
        "\napps:\n",
        `\nusers:
  - { id: usr_extra, email: ada@extra.test, org: org_extra, role: owner }
budgets:
  - { id: extra-day, scope: org, subject: org_extra, unit: money, period: day, limit: "5" }
apps:
  - { id: app_extra, org: org_extra }
`,
      )
      .replace("\nkeys:\n", "\nkeys:\n  - { id: key_extra, app: app_extra }\n")
      .replace("\ntopups:\n", `\ntopups:\n  - { id: extra, org: org_extra, amount: "12.5" }\n`)
  const entries = [
    "orgs/org_extra",
    "orgs/many_poor",
    "users/usr_extra",
    "apps/app_extra",
    "keys/key_extra",
    "budgets/extra-day",
  ]
  const withoutThem = () =>
    testCatalogue(urls, ids).replace("\nplans:\n", "\nplans:\n  - { id: extra, concurrency: 3 }\n")

  it("removes no organisation, person, application, key or budget unless it is pruned, and tells what they have", async () => {
    const first = JSON.parse(JSON.stringify(await (await apply(more())).json()))
    const secret = first.minted[0].secret
    const call = () => exchange(hello, "key_extra", secret)
    expect((await call()).status).toBe(200)
    for (const options of [{ dryRun: true }, {}, {}]) {
      const told = JSON.parse(JSON.stringify(await (await apply(withoutThem(), options)).json()))
      expect(told.changes.map(({ entry }: { entry: string }) => entry)).not.toContain("orgs/org_extra")
      expect(told.dropped.map(({ entry }: { entry: string }) => entry).toSorted()).toEqual(entries.toSorted())
      const [{ balances }] = told.dropped.filter(({ entry }: { entry: string }) => entry === "orgs/org_extra")
      expect(balances).toMatchObject([{ currency: "USD", available: expect.stringMatching(/^12\./) }])
    }
    expect((await call()).status).toBe(200)
    expect(await nameOf("org_extra")).toBe("Extra")
    const budgets = gateway().catalogue.current().document.budgets ?? []
    expect(budgets.map(({ id }) => id)).toContain("extra-day")
    const noPlan = await errorOf(await apply(testCatalogue(urls, ids)))
    expect(noPlan.detail).toMatchObject({
      issues: [{ message: expect.stringContaining("orgs/org_extra stays without being in this text") }],
    })
    const removed = JSON.parse(JSON.stringify(await (await apply(testCatalogue(urls, ids), { prune: true })).json()))
    expect(removed.changes).toContainEqual({ entry: "orgs/org_extra", change: "removed" })
    expect(await nameOf("org_extra")).toBeUndefined()
    await eventually(async () => (await call()).status === 401)
  })

  it("lists its revisions from the newest on, also beyond nine", async () => {
    const { sql, call, adminKey } = gateway()
    await Effect.runPromise(
      sql`insert into catalogue_revisions (applied_by, fingerprint, document)
        select 'test', n::text, (select document from catalogue_revisions order by catalogue_revisions.revision desc limit 1)
        from generate_series(1, 12) n`,
    )
    const reply = await call("GET", "/v1/admin/catalogue/revisions", undefined, { "x-svc-admin-key": adminKey })
    const listed = Array.from((await reply.text()).matchAll(/"revision":"?(\d+)/g), ([, revision]) => Number(revision))
    expect(listed.length).toBeGreaterThan(12)
    expect(listed).toEqual(listed.toSorted((a, b) => b - a))
  })

  it("stores configurations in the database, for every node", async () => {
    const rows = await Effect.runPromise(gateway().sql<{ n: bigint }>`select count(*) as n from catalogue_revisions`)
    expect(rows[0]?.n).toBeGreaterThan(1n)
  })
})
