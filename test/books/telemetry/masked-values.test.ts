/**
 * Values that masks replace, and text that policies deny, are in no table, no key of Redis, no log, trace or metric; records
 * and the reply cache hold marks.
 */
import { createServer } from "node:http"
import { setTimeout as sleep } from "node:timers/promises"
import { gunzipSync } from "node:zlib"
import { Effect, Redacted } from "effect"
import { Redis } from "ioredis"
import { afterAll, beforeAll, expect, it } from "vitest"
import { openReply } from "../../../src/calls/reply/replay-record.ts"
import { makeSealer } from "../../../src/store/seal.ts"
import { answering, newTestIds, testCatalogue } from "../../../src/testing/index.ts"
import { portOf } from "../../../src/testing/port.ts"
import { testRedisUrl } from "../../../src/testing/stores.ts"
import { eventually, useGateway } from "../../support/gateway.ts"

const heard: Array<string> = []
const collector = createServer(async (request, response) => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(chunk)
  const raw = Buffer.concat(chunks)
  heard.push((request.headers["content-encoding"] === "gzip" ? gunzipSync(raw) : raw).toString("latin1"))
  response.writeHead(200, { "content-type": "application/json" }).end("{}")
})
beforeAll(() => new Promise<void>((resolve) => void collector.listen(0, "127.0.0.1", resolve)))
afterAll(() => {
  collector.closeAllConnections()
  collector.close()
})

const ids = newTestIds()
const masterKey = "the-master-key-of-these-tests"
const mail = "zuzanna.kowalczyk@example.com"
const name = '«Zuzanna "Z\\K" & co»'
const denied = "kumquatissimo"
const refused = "plumbarious"

const gateway = useGateway(() => ({
  ids,
  catalogue: (urls) =>
    testCatalogue(
      urls,
      ids,
      `policies:
  - { id: mails, direction: inbound, match: { entities: [email, { name: NAME, regex: "«[^»]{1,60}»" }] }, reason: personal_data, action: mask }
  - { id: words, direction: outbound, match: { regex: "kumq[a-z]+" }, reason: leak, streams: enforce }
  - { id: asks, direction: inbound, match: { regex: "plumb[a-z]+" }, reason: leak }
`,
    )
      .replaceAll(/- (\{ )?handle: (main|claude|responses|gemini)(,|\n)/g, (each, brace) =>
        brace === undefined
          ? each.replace(/\n$/, "\n    replyCache: { ttl: 10m }\n")
          : each.replace("handle", "replyCache: { ttl: 10m }, handle"),
      )
      .replace("name: Test,", "name: Test, replyCache: { share: org },")
      .replace("apps:\n", `apps:\n  - { id: ${ids.app}-b, org: ${ids.org} }\n`)
      .replace(
        `{ id: ${ids.app}, org: ${ids.org} }`,
        `{ id: ${ids.app}, org: ${ids.org}, policies: [mails, words, asks] }`,
      )
      .replace("keys:\n", `keys:\n  - { id: ${ids.key}b, app: ${ids.app}-b, secret: "env:WEIR_TEST_KEY" }\n`),
  config: {
    otlpUrl: `http://127.0.0.1:${portOf(collector)}`,
    traceRate: 1,
    logLevel: "Warn",
    masterKey: Redacted.make(masterKey),
    replyCacheWaitMs: 30_000,
  },
}))

const apis = {
  chat: ["/openai/v1/chat/completions", "main", (text: string) => ({ messages: [{ role: "user", content: text }] })],
  responses: ["/openai/v1/responses", "responses", (text: string) => ({ input: text, store: false })],
  messages: [
    "/anthropic/v1/messages",
    "claude",
    (text: string) => ({ max_tokens: 100, messages: [{ role: "user", content: text }] }),
  ],
  t1: ["/t1/exchange", "main", (v: string) => ({ thread: [{ role: "user", blocks: [{ t: "text", v }] }] })],
} as const
type Api = keyof typeof apis
const names: ReadonlyArray<Api> = ["chat", "responses", "messages", "t1"]

const ask = async (
  api: Api,
  text: string,
  more: object = {},
  headers: Readonly<Record<string, string>> = {},
  keyId = ids.key,
) => {
  const [path, model, body] = apis[api]
  const credential: Readonly<Record<string, string>> =
    api === "t1" ? { "x-svc-key-id": keyId } : { "x-api-key": `${keyId}~${gateway().key}` }
  const requestId = headers["idempotency-key"]
  const meta = api === "t1" && requestId !== undefined ? { meta: { requestId } } : {}
  const reply = await gateway().call(
    "POST",
    path,
    { model, ...body(text), ...meta, ...more },
    { ...credential, ...headers },
  )
  return { status: reply.status, cache: reply.headers.get("x-svc-cache"), text: await reply.text() }
}

/** All rows of all tables. */
const tables = async (): Promise<string> => {
  const { sql } = gateway()
  const all = await Effect.runPromise(
    sql<{
      schema: string
      name: string
    }>`select table_schema as schema, table_name as name from information_schema.tables
      where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')`,
  )
  const rows = await Promise.all(
    all.map(({ schema, name: table }) =>
      Effect.runPromise(sql<{ row: string }>`select to_jsonb(t)::text as row from ${sql(`${schema}.${table}`)} t`),
    ),
  )
  return rows.flatMap((each) => each.map(({ row }) => row)).join("\n")
}

/** All keys of Redis with their values. */
const redisKeys = async (): Promise<string> => {
  const url = testRedisUrl()
  if (url === undefined) return ""
  const redis = new Redis(Redacted.value(url))
  const found: Array<string> = []
  for (const key of await redis.keys("*")) {
    found.push(key)
    const type = await redis.type(key)
    if (type === "string") found.push((await redis.getBuffer(key))?.toString("latin1") ?? "")
    if (type === "hash") found.push(JSON.stringify(await redis.hgetall(key)))
    if (type === "set") found.push(JSON.stringify(await redis.smembers(key)))
    if (type === "zset") found.push(JSON.stringify(await redis.zrange(key, 0, "-1")))
  }
  await redis.quit()
  return found.join("\n")
}

/** The replies to request ids, opened. */
const records = async (): Promise<string> => {
  const { sql, orgId: owner } = gateway()
  const sealer = makeSealer(masterKey)
  const rows = await Effect.runPromise(
    sql<{
      ref: string
      sealed: string
    }>`select ref, encode(reply, 'base64') as sealed from replies where org_id = ${owner}`,
  )
  return rows.flatMap(({ ref, sealed }) => openReply(sealer, { owner, ref }, sealed)?.reply.parts ?? []).join("\n")
}

const marksOf = (text: string) => text.match(/<(?:EMAIL|NAME)_[A-Z2-7]+>/g) ?? []

it("are in no store, log, trace or metric", async () => {
  const { vendor } = gateway()
  vendor.script(answering({ words: ["ok"], inTokens: 10, outTokens: 2 }))
  await ask("chat", `${mail} ${name} first`)
  const [mailMark = "", nameMark = ""] = marksOf(JSON.stringify(vendor.calls.at(-1)?.body))
  const back = answering({
    words: ["So ", mailMark.slice(0, 4), mailMark.slice(4), " and ", nameMark],
    inTokens: 10,
    outTokens: 2,
  })
  const problems: Array<string> = []
  const has = (at: string, text: string) => {
    const read = text.replaceAll('\\"', '"').replaceAll("\\\\", "\\")
    if (!text.includes(mail)) problems.push(`${at}: no mail in ${text}`)
    if (!(read.includes(name) || read.includes(name.replace("\\", "\\\\")) || text.includes("Zuzanna")))
      problems.push(`${at}: no name in ${text}`)
  }
  for (const api of names) {
    for (const stream of [false, true]) {
      vendor.script(back)
      const at = `${api} ${stream}`
      const id = { "idempotency-key": `${api}-${stream}` }
      const one = await ask(api, `${mail} ${name} ${at}`, { stream }, id)
      if (!stream) has(at, one.text)
      const again = await ask(api, `${mail} ${name} ${at}`, { stream }, id)
      if (!stream) has(`${at} again`, again.text)
      const hit = await ask(api, `${mail} ${name} ${at}`, { stream })
      expect([at, hit.cache]).toEqual([at, "hit"])
      if (!stream) has(`${at} hit`, hit.text)
      // A caller without the policy, whose text is what the vendor got, sees marks only.
      const other = await ask(api, `${mailMark} ${nameMark} ${at}`, { stream }, {}, `${ids.key}b`)
      expect([at, other.cache]).toEqual([at, "hit"])
      expect(other.text).not.toMatch(/kowalczyk|Zuzanna/)
    }
    // Vendors that quote the request, in the ways in which they can fail.
    for (const status of [400, 401, 429, 500]) {
      vendor.script((call) => {
        call.head(status, { "content-type": "application/json" })
        call.end(JSON.stringify({ error: { message: JSON.stringify(call.body), code: "x", type: "x" } }))
      })
      await ask(api, `${mail} ${name} ${status}`, {}, { "idempotency-key": `${api}-${status}` })
      await ask(api, `${mail} ${name} ${status}`, { stream: true })
    }
    vendor.script((call) => call.reset())
    await ask(api, `${mail} ${name} reset`)
    vendor.script(answering({ words: ["So ", denied.slice(0, 5), denied.slice(5), "."], inTokens: 10, outTokens: 2 }))
    for (const stream of [false, true]) {
      const { text } = await ask(
        api,
        `deny ${stream} ${mail}`,
        { stream },
        { "idempotency-key": `${api}-deny-${stream}` },
      )
      expect(text.toLowerCase()).not.toContain(denied)
      await ask(api, `${refused} ${mail} ${stream}`, { stream }, { "idempotency-key": `${api}-refused-${stream}` })
    }
  }
  expect(problems).toEqual([])
  await eventually(() => heard.some((text) => text.includes("resourceSpans")))
  await sleep(3000)
  heard.push(await (await fetch(`${gateway().baseUrl}/metrics`)).text())
  const kept = await records()
  expect(kept).toContain(mailMark)
  const places = { tables: await tables(), redis: await redisKeys(), heard: heard.join("\n"), kept }
  expect(places.tables).toContain(ids.org)
  for (const [place, text] of Object.entries(places)) {
    for (const value of ["kowalczyk", "Zuzanna", denied, refused]) {
      const at = text.toLowerCase().indexOf(value.toLowerCase())
      expect([place, value, at < 0 ? "" : text.slice(Math.max(0, at - 300), at + 100)]).toEqual([place, value, ""])
      for (const form of ["hex", "base64"] as const) {
        const encoded = Buffer.from(value).toString(form).slice(0, -2)
        expect([place, value, form, text.includes(encoded)]).toEqual([place, value, form, false])
      }
    }
  }
}, 180_000)
