/** The rules of all calls hold for routes that are passed through: lists, rates, money, policies, own keys, streams. */
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, beforeEach, describe, expect, it } from "vitest"
import { newTestIds, testCatalogue, testKey } from "../../src/testing/gateway.ts"
import { errorOf, eventually, useGateway } from "../support/gateway.ts"
import { startVectorStoreVendor } from "../support/vector-store-vendor.ts"

const vendor = await startVectorStoreVendor()
afterAll(() => vendor.stop())
beforeEach(() => {
  vendor.asked.length = 0
  vendor.odd.clear()
})

const ids = newTestIds()
const org = (name: string) => `${ids.org}-${name}`
const orgs = ["listed", "poor", "slow", "policed", "foreign", "other"] as const
const settings: Record<(typeof orgs)[number], string> = {
  listed: "models: [main, pass/free]",
  poor: "",
  slow: "rates: [{ requests: 2, per: 1m }]",
  policed: "policies: [no-secrets, mails, words]",
  foreign: "",
  other: "",
}
const gateway = useGateway({
  ids,
  catalogue: (urls) =>
    testCatalogue(
      urls,
      ids,
      `policies:
  - { id: no-secrets, direction: outbound, match: { keywords: [forbidden] }, action: deny, reason: secret, streams: enforce }
  - { id: words, direction: inbound, match: { keywords: [unspeakable] }, action: deny, reason: word }
  - { id: mails, direction: inbound, match: { entities: [email] }, reason: personal_data, action: mask }
passThrough:
  - { id: free, vendor: stores, path: /free/**, methods: [GET, POST], price: free }
  - { id: paid, vendor: stores, path: /paid/**, methods: [GET, POST], price: { currency: USD, call: "1" }, hold: "1" }
  - { id: made, vendor: stores, path: /made/**, methods: [GET, POST, DELETE], price: free, owners: [$.id, $.response.id] }
  - { id: listed, vendor: stores, path: /listed/**, methods: [GET, POST, PUT, DELETE], price: free, owners: [$.id, "$.data[*].id"] }
`,
    )
      .replace(
        "vendors:\n",
        `vendors:\n  - { id: stores, dialect: openai-chat, baseUrl: "${vendor.url}", credential: "env:WEIR_TEST_VENDOR" }\n`,
      )
      .replace(
        "apps:\n",
        `${orgs.map((name) => `  - { id: ${org(name)}, name: ${name}, plan: team, currency: ${name === "foreign" ? "EUR" : "USD"}, ${settings[name]} }`).join("\n")}\napps:\n${orgs.map((name) => `  - { id: ${org(name)}, org: ${org(name)} }`).join("\n")}\n`,
      )
      .replace(
        "keys:\n",
        `keys:\n${orgs.map((name) => `  - { id: ${org(name)}, app: ${org(name)}, secret: "env:WEIR_TEST_KEY" }`).join("\n")}\n`,
      )
      .replace(
        "topups:\n",
        `topups:\n${orgs
          .filter((name) => name !== "poor")
          .map((name) => `  - { id: ${org(name)}, org: ${org(name)}, amount: "100" }`)
          .join("\n")}\n`,
      ),
})

const send = (name: (typeof orgs)[number], path: string, init: RequestInit = {}) =>
  fetch(`${gateway().baseUrl}${path}`, {
    ...init,
    headers: { authorization: `Bearer ${org(name)}~${testKey}`, "content-type": "application/json", ...init.headers },
  })
const answer = (path: string, body: string, type = "application/json") =>
  vendor.odd.set(path, (_, response) => void response.writeHead(200, { "content-type": type }).end(body))

describe("a caller", () => {
  it("uses the routes that its lists name, and no others", async () => {
    answer("/v1/free/a", "{}")
    answer("/v1/paid/a", "{}")
    expect((await send("listed", "/pass/free/free/a")).status).toBe(200)
    expect(await errorOf(await send("listed", "/pass/paid/paid/a"))).toMatchObject({ code: "model_not_authorized" })
    expect(vendor.asked).toHaveLength(1)
  })

  it("without money is refused before the vendor is asked", async () => {
    answer("/v1/paid/a", "{}")
    expect(await errorOf(await send("poor", "/pass/paid/paid/a"))).toMatchObject({ status: 402 })
    expect(vendor.asked).toEqual([])
  })

  it("with another currency is refused, unless the route is free", async () => {
    answer("/v1/free/a", "{}")
    expect(await errorOf(await send("foreign", "/pass/paid/paid/a"))).toMatchObject({ code: "pricing_guard_tripped" })
    expect((await send("foreign", "/pass/free/free/a")).status).toBe(200)
  })

  it("gets a list by the control API too, and a route that is not declared is no name", async () => {
    const make = (models: ReadonlyArray<string>) =>
      gateway().call(
        "POST",
        "/v1/admin/orgs",
        { name: "Made", currency: "USD", models },
        { "x-svc-admin-key": gateway().adminKey },
      )
    expect((await make(["pass/free", "pass/*"])).ok).toBe(true)
    expect(await errorOf(await make(["pass/none"]))).toMatchObject({ code: "bad_request" })
  })

  it("has its rates", async () => {
    answer("/v1/free/a", "{}")
    const statuses = []
    for (let at = 0; at < 3; at++) statuses.push((await send("slow", "/pass/free/free/a")).status)
    expect(statuses).toEqual([200, 200, 429])
  })
})

describe("a policy", () => {
  it("reads requests and whole replies", async () => {
    answer("/v1/free/a", '{"text":"a forbidden word"}')
    expect((await send("policed", "/pass/free/free/a?q=unspeakable")).status).toBe(403)
    expect((await send("policed", "/pass/free/free/a", { method: "POST", body: '{"a":["unspeakable"]}' })).status).toBe(
      403,
    )
    expect(vendor.asked).toEqual([])
    const denied = await send("policed", "/pass/free/free/a")
    expect([denied.status, (await denied.text()).includes("forbidden")]).toEqual([403, false])
  })

  it.each(["text/event-stream", "application/x-ndjson", "text/plain"])(
    "reads %s, which is then whole",
    async (type) => {
      answer("/v1/free/a", 'data: {"text":"a forbidden word"}\n\n', type)
      const denied = await send("policed", "/pass/free/free/a")
      expect([denied.status, (await denied.text()).includes("forbidden")]).toEqual([403, false])
      answer("/v1/free/a", 'data: {"text":"a good word"}\n\n', type)
      const good = await send("policed", "/pass/free/free/a")
      expect([good.status, good.headers.get("content-type"), await good.text()]).toEqual([
        200,
        type,
        'data: {"text":"a good word"}\n\n',
      ])
    },
  )

  it("masks requests, and puts the values back", async () => {
    vendor.odd.set(
      "/v1/free/a",
      ({ body }, response) => void response.writeHead(200, { "content-type": "application/json" }).end(body),
    )
    const body = '{"to":"ann@example.com","n":1.10}'
    const reply = await send("policed", "/pass/free/free/a", { method: "POST", body })
    expect(await reply.text()).toBe(body)
    expect(vendor.asked[0]?.body).toMatch(/^\{"to":"<EMAIL_\w+>","n":1\.10\}$/)
  })
})

describe("a stream", () => {
  it("gives its ids to its caller before its end", async () => {
    vendor.odd.set("/v1/made", (_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" })
      response.write('data: {"response":{"id":"made_0123456789"}}\n\n')
    })
    answer("/v1/made/made_0123456789", '{"id":"made_0123456789"}')
    const stream = await fetch(`${gateway().baseUrl}/pass/made/made`, {
      method: "POST",
      headers: { authorization: `Bearer ${org("foreign")}~${testKey}` },
    })
    const reader = stream.body?.getReader()
    await reader?.read()
    await eventually(async () => (await send("foreign", "/pass/made/made/made_0123456789")).status === 200)
    expect((await send("other", "/pass/made/made/made_0123456789")).status).toBe(404)
    await reader?.cancel()
  })

  it("that its client leaves is ended at the vendor", async () => {
    let isClosed = false
    vendor.odd.set("/v1/free/a", (_, response) => {
      response.writeHead(200, { "content-type": "application/octet-stream" })
      response.write("begin")
      response.once("close", () => {
        isClosed = true
      })
    })
    const leaving = new AbortController()
    const reply = await send("foreign", "/pass/free/free/a", { signal: leaving.signal })
    await reply.body?.getReader().read()
    leaving.abort()
    await eventually(() => isClosed)
  })
})

describe("a vendor", () => {
  it("that gives another's id is not believed", async () => {
    answer("/v1/made", '{"id":"made_of_another_1"}')
    const make = (name: "foreign" | "other") => send(name, "/pass/made/made", { method: "POST", body: "{}" })
    expect((await make("foreign")).status).toBe(200)
    expect((await make("foreign")).status).toBe(200)
    const reply = await make("other")
    expect([reply.status, (await reply.text()).includes("made_of_another")]).toEqual([404, false])
  })

  it("that gives another's id in a stream is not believed either, and the stream ends there", async () => {
    answer("/v1/made", '{"id":"made_of_another_2"}')
    const make = (name: "foreign" | "other") => send(name, "/pass/made/made", { method: "POST", body: "{}" })
    expect((await make("foreign")).status).toBe(200)
    const events = ["made_of_another_2", "made_later_1"].map((id) => `data: {"id":"${id}"}\n\n`)
    answer("/v1/made", events.join(""), "text/event-stream")
    const text = await make("other")
      .then((reply) => reply.text())
      .catch(() => "cut")
    expect(text).not.toContain("made_of_another")
  })

  it("that ends its lines without a newline has given their ids too", async () => {
    answer("/v1/made", '{"n":1}\n{"id":"made_last_1"}', "application/x-ndjson")
    answer("/v1/made/made_last_1", "{}")
    await (await send("other", "/pass/made/made", { method: "POST", body: "{}" })).text()
    expect((await send("other", "/pass/made/made/made_last_1")).status).toBe(200)
  })

  it("gives an object to its maker, also if the maker chose a name that looks like a word", async () => {
    answer("/v1/made", '{"id":"rivers"}')
    answer("/v1/made/rivers", '{"id":"rivers"}')
    answer("/v1/made/archive", '{"id":"archive"}')
    expect((await send("foreign", "/pass/made/made", { method: "POST", body: '{"id":"rivers"}' })).status).toBe(200)
    const statuses = []
    for (const path of ["rivers", "archive"]) {
      for (const name of ["foreign", "other"] as const) {
        statuses.push((await send(name, `/pass/made/made/${path}`)).status)
      }
    }
    expect(statuses).toEqual([200, 404, 404, 404])
  })

  it("that forgets an object leaves its id to nobody", async () => {
    answer("/v1/made", '{"id":"made_once_123"}')
    answer("/v1/made/made_once_123", "{}")
    await send("foreign", "/pass/made/made", { method: "POST", body: "{}" })
    const at = "/pass/made/made/made_once_123"
    expect((await send("foreign", at, { method: "DELETE" })).status).toBe(200)
    expect((await send("foreign", at)).status).toBe(404)
  })

  it.each([
    ["DELETE", "/listed"],
    ["PUT", "/listed"],
    ["DELETE", "/listed/wiki"],
    ["PUT", "/listed/wiki/text"],
    ["POST", "/listed/wiki:run"],
  ])("is not asked for a change of what is nobody's: %s %s", async (method, path) => {
    answer(`/v1${path}`, "{}")
    expect((await send("foreign", `/pass/listed${path}`, { method })).status).toBe(404)
    expect(vendor.asked).toEqual([])
  })

  it("changes an object of the caller's whose id is a word", async () => {
    answer("/v1/listed", '{"id":"ownwiki"}')
    await send("foreign", "/pass/listed/listed", { method: "POST", body: "{}" })
    for (const [method, path] of [
      ["POST", "ownwiki:run"],
      ["DELETE", "ownwiki"],
    ] as const) {
      answer(`/v1/listed/${path}`, "{}")
      expect((await send("foreign", `/pass/listed/listed/${path}`, { method })).status).toBe(200)
    }
  })

  it("that takes a file out of a store leaves it to its owner", async () => {
    for (const id of ["file_taken_1", "store_1"]) {
      answer("/v1/listed", JSON.stringify({ id }))
      await send("foreign", "/pass/listed/listed", { method: "POST", body: "{}" })
    }
    answer("/v1/listed/store_1/files/file_taken_1", "{}")
    const taken = await send("foreign", "/pass/listed/listed/store_1/files/file_taken_1", { method: "DELETE" })
    expect(taken.status).toBe(200)
    answer("/v1/listed/file_taken_1", "{}")
    expect((await send("foreign", "/pass/listed/listed/file_taken_1")).status).toBe(200)
    expect((await send("other", "/pass/free/free/a", { method: "POST", body: '{"f":"file_taken_1"}' })).status).toBe(
      404,
    )
  })

  it("that lists everything where no list is declared is not asked", async () => {
    answer("/v1/made", '{"data":[{"id":"made_of_somebody"}]}')
    expect((await send("foreign", "/pass/made/made")).status).toBe(404)
    expect(vendor.asked).toEqual([])
  })

  it.each([
    ["elements without an id", { data: [{ name: "secret" }, {}, "secret", null] }, 200],
    ["ids that are numbers", { data: [{ id: 12345 }, { id: null }] }, 200],
    ["lists in other places", { data: [], items: [{ id: "secret" }] }, 404],
    ["lists deeper down", { data: { items: [{ id: "secret" }] } }, 404],
    ["only names", { names: ["secret"] }, 404],
    ["a list alone", [{ id: "secret" }], 404],
    ["10,050 elements", { data: Array.from({ length: 10_050 }, (_, at) => ({ id: `secret_${at}` })) }, 502],
    ["nothing", {}, 200],
  ])("that lists %s shows none of them", async (_, reply, status) => {
    answer("/v1/listed", JSON.stringify(reply))
    const listed = await send("foreign", "/pass/listed/listed")
    expect([listed.status, (await listed.text()).match(/secret|12345/)]).toEqual([status, null])
  })

  it.each([
    ["200,000 lists, one in the other", `${"[".repeat(2e5)}${"]".repeat(2e5)}`],
    ["a million values", JSON.stringify({ list: Array.from({ length: 1e6 }, (_, at) => at) })],
  ])("that answers with %s is an error, with policies and without", async (_, body) => {
    answer("/v1/free/a", body)
    expect((await send("foreign", "/pass/free/free/a")).status).toBe(502)
    expect((await send("policed", "/pass/free/free/a")).status).toBe(502)
  })

  it("that answers with what is no JSON, or 40 MiB of it, is an error", async () => {
    answer("/v1/free/a", "{")
    expect((await send("foreign", "/pass/free/free/a")).status).toBe(502)
    answer("/v1/free/a", JSON.stringify({ text: "a".repeat(40 * 1024 * 1024) }))
    expect((await send("foreign", "/pass/free/free/a")).status).toBe(502)
  })

  it("that answers with 100 MiB of bytes is read as fast as its client reads", async () => {
    let sent = 0
    vendor.odd.set("/v1/free/a", (_, response) => {
      response.writeHead(200, { "content-type": "application/octet-stream" })
      const chunk = Buffer.alloc(64 * 1024)
      const more = () => {
        while (sent < 100 * 1024 * 1024) {
          sent += chunk.length
          if (!response.write(chunk)) return void response.once("drain", more)
        }
        response.end()
      }
      more()
    })
    const reply = await send("foreign", "/pass/free/free/a")
    const reader = reply.body?.getReader()
    await reader?.read()
    await sleep(300)
    expect(sent).toBeLessThan(90 * 1024 * 1024)
    let bytes = 0
    for (let read = await reader?.read(); read?.done === false; read = await reader?.read()) bytes += read.value.length
    expect(sent - bytes).toBeLessThan(1024 * 1024)
  })
})
