/**
 * The second floor: what a billed JSON exchange costs when it is written by hand, with nothing in between. It
 * authenticates, admits with one call of Redis, calls the vendor, settles many exchanges with one statement of PostgreSQL,
 * answers. It has no holds, no quotas, no streams and no error paths. Prints its port.
 */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto"
import { createServer } from "node:http"
import * as PgClient from "@effect/sql-pg/PgClient"
import { Effect, Layer, ManagedRuntime, Redacted } from "effect"
import { Redis } from "ioredis"
import { Agent } from "undici"

const upstream = `http://127.0.0.1:${process.argv[2]}`
const agent = new Agent({ headersTimeout: 0, bodyTimeout: 0, pipelining: 1, connect: { timeout: 0 } })
const redis = new Redis(process.env["SVC_TEST_REDIS_URL"] ?? "")
const runtime = ManagedRuntime.make(
  Layer.orDie(PgClient.layer({ url: Redacted.make(process.env["SVC_TEST_DATABASE_URL"] ?? ""), maxConnections: 4 })),
)
const query = (text: string, parameters: ReadonlyArray<unknown> = []) =>
  runtime.runPromise(
    Effect.flatMap(PgClient.PgClient, (sql) => sql.unsafe<Readonly<Record<string, string>>>(text, parameters)),
  )
await query(`create table if not exists by_hand_usage
  (ref text primary key, org text, cost numeric(30,10), usage jsonb, at timestamptz default now())`)
await query("create table if not exists by_hand_balance (org text primary key, amount numeric(30,10))")
await query("insert into by_hand_balance values ('o', 1000000) on conflict do nothing")

const admitScript = `
for i = 1, 3 do
  local n = redis.call('incr', KEYS[i])
  if n == 1 then redis.call('pexpire', KEYS[i], 60000) end
end
return redis.call('set', KEYS[4], ARGV[1], 'nx', 'px', 60000) and 1 or 0`
const admitSha = String(await redis.script("LOAD", admitScript))
const secret = createHash("sha256").update("secret").digest()

interface Row {
  readonly ref: string
  readonly org: string
  readonly cost: string
  readonly usage: object
}

let batch: Array<{ readonly row: Row; readonly done: (balance: string) => void }> = []
let isBusy = false
const flush = async () => {
  if (isBusy || batch.length === 0) return
  isBusy = true
  const items = batch
  batch = []
  const [moved] = await query(
    `with x as (select * from jsonb_to_recordset($1::text::jsonb) as x(ref text, org text, cost numeric, usage jsonb)),
      kept as (insert into by_hand_usage (ref, org, cost, usage) select * from x),
      moved as (update by_hand_balance set amount = amount - (select sum(cost) from x) where org = 'o' returning amount)
    select amount::text from moved`,
    [JSON.stringify(items.map(({ row }) => row))],
  )
  for (const { done } of items) done(moved?.["amount"] ?? "")
  isBusy = false
  if (batch.length > 0) void flush()
}
const settle = (row: Row) =>
  new Promise<string>((done) => {
    batch.push({ row, done })
    if (!isBusy) setImmediate(flush)
  })

interface Ask {
  readonly model: string
  readonly thread: ReadonlyArray<{ readonly role: string; readonly blocks: ReadonlyArray<{ readonly v: string }> }>
}

const chatOf = ({ model, thread }: Ask) =>
  JSON.stringify({
    model,
    stream: false,
    max_tokens: 2000,
    messages: thread.map(({ role, blocks }) => ({ role, content: blocks.map(({ v }) => v).join("") })),
  })

const post = (body: string): Promise<string> =>
  new Promise((resolve, reject) => {
    let text = ""
    agent.dispatch(
      {
        origin: upstream,
        path: "/v1/chat/completions",
        method: "POST",
        headers: { "content-type": "application/json" },
        body,
      },
      {
        onRequestStart() {},
        onResponseStart() {},
        onResponseData(_controller, chunk) {
          text += chunk
        },
        onResponseEnd() {
          resolve(text)
        },
        onResponseError(_controller, error) {
          reject(error)
        },
      },
    )
  })

const server = createServer({ noDelay: true }, (request, response) => {
  const chunks: Array<Buffer> = []
  request.on("data", (chunk: Buffer) => chunks.push(chunk))
  request.on("end", async () => {
    const key = createHash("sha256")
      .update(String(request.headers["x-svc-key"] ?? ""))
      .digest()
    if (!timingSafeEqual(key, secret)) {
      response.writeHead(401).end()
      return
    }
    const requestId = `req_${randomBytes(12).toString("base64url")}`
    const ask: Ask = JSON.parse(Buffer.concat(chunks).toString())
    await redis.evalsha(admitSha, 4, "by-hand:k", "by-hand:a", "by-hand:o", `by-hand:${requestId}`, requestId)
    const { usage: counted, choices } = JSON.parse(await post(chatOf(ask)))
    const { prompt_tokens: inTokens, completion_tokens: outTokens } = counted
    const cost = `0.${String(BigInt(inTokens) * 300n + BigInt(outTokens) * 1500n).padStart(10, "0")}`
    const balance = await settle({ ref: requestId, org: "o", cost, usage: { inTokens, outTokens, model: ask.model } })
    const usage = { inTokens, outTokens, cacheReadTokens: 0, cacheWriteTokens: 0, cost, balance, currency: "USD" }
    const blocks = [{ t: "text", v: choices[0].message.content, cacheable: false }]
    const out = JSON.stringify({ requestId, model: ask.model, blocks, stop: "end", usage })
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(out) }
    response.writeHead(200, { ...headers, "x-svc-request-id": requestId }).end(out)
  })
})
server.listen(0, "127.0.0.1", () => {
  const address = server.address()
  console.log(typeof address === "object" && address !== null ? address.port : 0)
})
