/** Routes of a vendor that have no dialect: calls with a hold and a price, for tenants that share the vendor's account. */
import OpenAI from "openai"
import { afterAll, beforeEach, describe, expect, it } from "vitest"
import { formatAmount } from "../../src/money/amount.ts"
import { newTestIds, testCatalogue, testKey } from "../../src/testing/gateway.ts"
import { balanceOf, errorOf, eventually, holdsOf, useGateway } from "../support/gateway.ts"
import { startVectorStoreVendor } from "../support/vector-store-vendor.ts"

const vendor = await startVectorStoreVendor()
afterAll(() => vendor.stop())
beforeEach(() => {
  vendor.asked.length = 0
  vendor.odd.clear()
})

const ids = newTestIds()
const otherApp = `${ids.app}-other`
const otherKey = `${ids.key}-other`
const otherOrg = `${ids.org}-other`
const odd = (id: string, price: string, more = "") =>
  `  - { id: ${id}, vendor: stores, path: /${id}, methods: [GET, POST], price: { currency: USD, ${price} }, hold: "2"${more} }`
const gateway = useGateway({
  ids,
  config: { upstreamTimeouts: { idle: 1000 } },
  catalogue: (urls) =>
    testCatalogue(
      urls,
      ids,
      `passThrough:
  - id: vector-stores
    vendor: stores
    path: /vector_stores/**
    methods: [GET, POST, DELETE]
    mount: openai
    price: { currency: USD, call: "0.01" }
    hold: "0.05"
    owners: [$.id, "$.data[*].id"]
${odd("priced", 'call: "0.5", pages: "0.1", cost: "1"', ', usage: { pages: "header:x-pages", cost: $.usage.cost }')}
${odd("by-time", 'second: "0.01"')}
${odd("by-size", 'megabyte: "0.5"')}
  - { id: free, vendor: stores, path: /free/**, methods: [GET, POST, PUT, PATCH, DELETE], price: free, headers: [x-team] }
`,
    )
      .replace(
        "vendors:\n",
        `vendors:\n  - { id: stores, dialect: openai-chat, baseUrl: "${vendor.url}", credential: "env:WEIR_TEST_VENDOR" }\n`,
      )
      .replace(
        "apps:\n",
        `  - { id: ${otherOrg}, name: Other, plan: team, currency: USD }\napps:\n  - { id: ${otherApp}, org: ${ids.org} }\n  - { id: ${otherOrg}-app, org: ${otherOrg} }\n`,
      )
      .replace(
        "keys:\n",
        `keys:\n  - { id: ${otherKey}, app: ${otherApp}, secret: "env:WEIR_TEST_KEY" }\n  - { id: ${otherOrg}-key, app: ${otherOrg}-app, secret: "env:WEIR_TEST_KEY" }\n`,
      )
      .replace("topups:\n", `topups:\n  - { id: ${otherOrg}-start, org: ${otherOrg}, amount: "1000" }\n`)
      .replace("unpriced] }", "unpriced, pass/*] }"),
})

const openai = (key = ids.key) =>
  new OpenAI({ baseURL: `${gateway().baseUrl}/openai/v1`, apiKey: `${key}~${testKey}`, maxRetries: 0 })
const send = (path: string, init: RequestInit = {}, key = ids.key) =>
  fetch(`${gateway().baseUrl}${path}`, {
    ...init,
    headers: { authorization: `Bearer ${key}~${testKey}`, ...init.headers },
  })
const costOf = async (call: () => Promise<unknown>): Promise<string> => {
  const before = await balanceOf(gateway())
  await call()
  let after = before
  await eventually(async () => {
    after = await balanceOf(gateway())
    return !(await holdsOf(gateway())).some(({ state }) => state === "held")
  })
  return formatAmount(before - after)
}

describe("an SDK", () => {
  it("uses a route below its API's base as it uses the vendor", async () => {
    const store = await openai().vectorStores.create({ name: "Rivers" })
    expect(store).toMatchObject({ object: "vector_store", name: "Rivers" })
    expect(await openai().vectorStores.retrieve(store.id)).toMatchObject({ id: store.id })
    const found = await openai().vectorStores.search(store.id, { query: "weir" })
    expect(found.data).toHaveLength(1)
    expect(await openai().vectorStores.delete(store.id)).toMatchObject({ deleted: true })
    await expect(openai().vectorStores.retrieve(store.id)).rejects.toMatchObject({ status: 404 })
    expect(vendor.asked.map(({ method, url }) => `${method} ${url}`)).toEqual([
      "POST /v1/vector_stores",
      `GET /v1/vector_stores/${store.id}`,
      `POST /v1/vector_stores/${store.id}/search`,
      `DELETE /v1/vector_stores/${store.id}`,
    ])
    expect(vendor.asked[0]?.headers["openai-beta"]).toBe("assistants=v2")
  })

  it("sees what is its own in lists", async () => {
    const mine = await openai().vectorStores.create({ name: "Mine" })
    const others = await openai(otherKey).vectorStores.create({ name: "Another's" })
    const own = (await openai().vectorStores.list()).data.map(({ id }) => id)
    expect(own).toContain(mine.id)
    expect(own).not.toContain(others.id)
    const text = await (await send("/openai/v1/vector_stores")).text()
    expect(text).not.toContain(others.id)
  })
})

describe("ids of others", () => {
  it.each([
    ["of another application", otherKey],
    ["of another organisation", `${otherOrg}-key`],
  ])("%s are unknown in paths, queries, headers and bodies", async (_, key) => {
    const { id } = await openai(key).vectorStores.create({ name: "Secret" })
    vendor.asked.length = 0
    const body = JSON.stringify({ stores: [{ deep: [id] }] })
    const post = (text: string, type = "application/json"): RequestInit => ({
      method: "POST",
      body: text,
      headers: { "content-type": type },
    })
    const tried: ReadonlyArray<readonly [string, RequestInit?]> = [
      [`/openai/v1/vector_stores/${id}`],
      [`/pass/vector-stores/vector_stores/${id}`],
      [`/openai/v1/vector_stores/${id.replace("_", "%5F")}`],
      [`/openai/v1/vector_stores/${id}/search`, post("{}")],
      [`/openai/v1/vector_stores?after=${id}`],
      [`/openai/v1/vector_stores?x=1&after=${encodeURIComponent(id).replace("v", "%76")}`],
      ["/openai/v1/vector_stores", post(body)],
      ["/openai/v1/vector_stores", post(body.replace(id, id.replace("_", "\\u005f")))],
      ["/openai/v1/vector_stores", post(JSON.stringify({ [id]: 1 }))],
      ["/openai/v1/vector_stores", post(JSON.stringify({ at: `https://vendor/v1/vector_stores/${id}/files` }))],
      ["/openai/v1/vector_stores", post(JSON.stringify({ text: `{"id":"${id}"}` }))],
      ["/openai/v1/vector_stores", post(`store=${id}`, "application/x-www-form-urlencoded")],
      ["/openai/v1/vector_stores", post(`store=${id.replace("_", "%5f")}`, "application/x-www-form-urlencoded")],
      [
        "/openai/v1/vector_stores",
        post(
          `--b\r\ncontent-disposition: form-data; name="s"\r\n\r\n${id}\r\n--b--\r\n`,
          "multipart/form-data; boundary=b",
        ),
      ],
      ["/pass/free/free", post(`{"s":"${id.replace("_", "\\u005f")}"}`, "text/plain")],
      ["/pass/free/free", post(`{"s":"${id.replace("_", "\\u005f")}"}\n{}`, "application/x-ndjson")],
      ["/pass/free/free", post(` {"s":"${id}"}`, "application/octet-stream")],
      ["/pass/free/free", post(`{"s":"${id}"}`, "image/png")],
      ["/pass/free/free", post(`s=${id.replace("_", "%5F")}&x=%zz`, "application/x-www-form-urlencoded")],
      ...[
        `--b\r\ncontent-disposition: form-data; name="s"\r\nx-a: filename\r\n\r\n${id}\r\n--b--\r\n`,
        `--z\r\nx: filename\r\n--b\r\ncontent-disposition: form-data; name="s"\r\n\r\n${id}\r\n--b--\r\n`,
        `--b\r\ncontent-disposition: form-data; name="s"; filename="a"\r\n\r\n${id}\r\n--b--\r\n`,
        `--b\r\ncontent-disposition: form-data; name="s"; filename="${id}"\r\n\r\n${"x".repeat(2000)}\r\n--b--\r\n`,
      ].map((form) => ["/pass/free/free", post(form, "multipart/form-data; boundary=b")] as const),
      [`/pass/free/free?a=${id.replace("_", "%5F")},%zz`],
      [`/pass/free/free/a,${id}`],
      [`/pass/free/free/${id}`],
      ["/pass/free/free", { ...post(body), headers: { "x-team": id } }],
      ["/pass/free/free", post(body)],
    ]
    for (const [path, init] of tried) {
      const reply = await send(path, init)
      expect([path, init?.body, reply.status]).toEqual([path, init?.body, 404])
      expect(await reply.text()).not.toContain("acct_secret")
    }
    const utf16 = { method: "POST", body: Buffer.from(body, "utf16le"), headers: { "content-type": "text/plain" } }
    expect((await send("/pass/free/free", utf16)).status).toBe(404)
    const twice = await send("/openai/v1/vector_stores", post(`{"store":"${id}","store":"vs_mine"}`))
    expect(twice.status).toBe(400)
    expect(vendor.asked).toEqual([])
  })

  it("are unknown like those that nobody has", async () => {
    const { id } = await openai(otherKey).vectorStores.create({ name: "Secret" })
    const texts = await Promise.all(
      [id, "vs_0123456789abcdef"].map(async (each) => {
        const reply = await send(`/openai/v1/vector_stores/${each}`)
        return (await reply.text()).replaceAll(/req_[\w-]+/g, "")
      }),
    )
    expect(texts[0]).toBe(texts[1])
  })
})

describe("a path", () => {
  it.each([
    "/openai/v1/vector_stores/../models",
    "/openai/v1/vector_stores/%2e%2e/models",
    "/openai/v1/vector_stores/a%2Fb",
    "/openai/v1/vector_stores//x",
    "/pass/vector-stores/models",
    "/pass/none/vector_stores",
    "/openai/v1/fine_tuning/jobs",
  ])("that is not declared is refused: %s", async (path) => {
    const { hostname, port } = new URL(gateway().baseUrl)
    const { request } = await import("node:http")
    const status = await new Promise<number>((resolve) => {
      request({ hostname, port, path, headers: { authorization: `Bearer ${ids.key}~${testKey}` } }, (reply) => {
        reply.resume()
        resolve(reply.statusCode ?? 0)
      }).end()
    })
    expect([400, 404]).toContain(status)
    expect(vendor.asked).toEqual([])
  })

  it("with another method names those that it takes", async () => {
    const reply = await send("/pass/vector-stores/vector_stores", { method: "PUT", body: "{}" })
    expect(await errorOf(reply)).toMatchObject({ status: 404, message: "The route takes GET, POST, DELETE only" })
  })
})

describe("a price", () => {
  const reply = (body: object, headers: Record<string, string> = {}, status = 200) =>
    vendor.odd.set("/v1/priced", (_, response) => {
      response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body))
    })

  it("is of the call, and of what the vendor reports", async () => {
    reply({ usage: { cost: 0.0123456789 } }, { "x-pages": "3" })
    expect(await costOf(() => send("/pass/priced/priced"))).toBe("0.8123456789")
  })

  it.each([
    ["nothing", {}, {}],
    ["a negative count", { usage: { cost: -1 } }, { "x-pages": "1" }],
    ["text", { usage: { cost: "free" } }, { "x-pages": "1" }],
    ["more than the hold", { usage: { cost: 1e9 } }, { "x-pages": "1" }],
    ["an endless number", { usage: { cost: 1e300 } }, { "x-pages": "1" }],
    ["an object", { usage: { cost: { usd: 1 } } }, { "x-pages": "1" }],
  ])("is the hold if the vendor reports %s", async (_, body, headers) => {
    reply(body, headers)
    expect(await costOf(() => send("/pass/priced/priced"))).toBe("2")
  })

  it("is not charged for a refusal, whose text stays here", async () => {
    reply({ error: { message: "secret of the vendor", param: "model" } }, {}, 422)
    const refused = await send("/pass/priced/priced", { method: "POST", body: "{}" })
    const text = await refused.text()
    expect([refused.status, text.includes("secret")]).toEqual([400, false])
    expect(await costOf(async () => {})).toBe("0")
  })

  it("of time and of size is at most the hold, and a stream without end is ended there", async () => {
    vendor.odd.set("/v1/by-size", (_, response) => {
      response.writeHead(200, { "content-type": "application/octet-stream" })
      const more = () => {
        while (response.write(Buffer.alloc(64 * 1024)));
        response.once("drain", more)
      }
      more()
    })
    let bytes = 0
    const cost = await costOf(async () => {
      const endless = await send("/pass/by-size/by-size")
      await (async () => {
        for await (const chunk of endless.body ?? []) bytes += chunk.length
      })().catch(() => {})
    })
    expect(cost).toBe("2")
    expect(bytes).toBeLessThan(4_500_000)
    expect(bytes).toBeGreaterThan(3_000_000)
  })

  it("of events is in the last of them, and their bytes are the vendor's", async () => {
    const events = `data: {"n":1}\n\nevent: done\ndata: {"usage":{"cost":0.25}}\n\ndata: [DONE]\n\n`
    vendor.odd.set("/v1/priced", (_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream", "x-pages": "0" })
      response.write(events.slice(0, 40))
      setTimeout(() => response.end(events.slice(40)), 50)
    })
    let text = ""
    expect(
      await costOf(async () => {
        const reply = await send("/pass/priced/priced")
        expect(reply.headers.get("content-type")).toBe("text/event-stream")
        text = await reply.text()
      }),
    ).toBe("0.75")
    expect(text).toBe(events)
  })
})

describe("a vendor", () => {
  it("that redirects is not followed", async () => {
    vendor.odd.set(
      "/v1/free/x",
      (_, response) => void response.writeHead(302, { location: `${vendor.url}/priced` }).end(),
    )
    const reply = await send("/pass/free/free/x")
    expect(reply.status).toBe(502)
    expect(vendor.asked).toHaveLength(1)
  })

  it("that sends a page gets no place on this origin", async () => {
    vendor.odd.set(
      "/v1/free/x",
      (_, response) => void response.writeHead(200, { "content-type": "text/html" }).end("<script>"),
    )
    const reply = await send("/pass/free/free/x")
    expect(reply.headers.get("content-type")).toBe("application/octet-stream")
    expect(reply.headers.get("content-security-policy")).toContain("sandbox")
  })

  it("that tells of an error in a stream is broken off, without its words", async () => {
    vendor.odd.set("/v1/free/x", (_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" })
      response.write('data: {"n":1}\n\n')
      setTimeout(() => response.end('data: {"error":{"message":"acct_secret"}}\n\n'), 50)
    })
    const reply = await send("/pass/free/free/x")
    const text = await reply.text().catch(() => "cut")
    expect(text).not.toContain("acct_secret")
  })

  it.each(["GET", "POST", "PUT", "PATCH", "DELETE"])("gets %s with its own credential only", async (method) => {
    vendor.odd.set("/v1/free/x", (_, response) => void response.writeHead(204).end())
    const body = method === "GET" || method === "DELETE" ? null : '{"a":1.10}'
    const headers = { "content-type": "application/json", "x-team": "blue", cookie: "a=b", "x-other": "1" }
    const reply = await send("/pass/free/free/x?a=1&key=secret&b=2", { method, body, headers })
    expect([reply.status, await reply.text()]).toEqual([204, ""])
    const [asked] = vendor.asked
    expect(asked).toMatchObject({ method, url: "/v1/free/x?a=1&b=2", body: body ?? "" })
    expect(asked?.headers).toMatchObject({ "x-team": "blue" })
    expect(asked?.headers.authorization).not.toContain(ids.key)
    expect(asked?.headers["cookie"] ?? asked?.headers["x-other"]).toBeUndefined()
  })
})

describe("a repeat", () => {
  it("gets the same reply, and asks nobody", async () => {
    const init = {
      method: "POST",
      body: '{"name":"Once"}',
      headers: { "idempotency-key": "once-1", "content-type": "application/json" },
    }
    const first = await send("/openai/v1/vector_stores", init)
    const text = await first.text()
    const again = await send("/openai/v1/vector_stores", init)
    expect([again.status, await again.text(), again.headers.get("x-svc-idempotent-replay")]).toEqual([200, text, "1"])
    expect(vendor.asked).toHaveLength(1)
    const other = await send("/openai/v1/vector_stores", { ...init, body: '{"name":"Twice"}' })
    expect(other.status).toBe(409)
  })
})

it("is refused to callers whose lists do not name it", async () => {
  expect((await send("/pass/free/free/x", {}, "unknown")).status).toBe(401)
})
