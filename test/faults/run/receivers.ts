/**
 * The receivers outside of the gateway: a bucket and a folder for exports, and the receivers of events. The process that
 * has the bucket and the webhooks is killed like the others.
 */
import { mkdirSync } from "node:fs"
import { createServer, type Server } from "node:http"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { zstdDecompressSync } from "node:zlib"
import { DuckDBInstance } from "@duckdb/node-api"
import { freePort } from "../../support/free-port.ts"

type Query = (sql: string) => Promise<ReadonlyArray<ReadonlyArray<string>>>

const webhooks = ["first", "second", "third"]

export const receiverEnvironment = {
  WEIR_FAULTS_S3_ID: "AKIAFAULTS",
  WEIR_FAULTS_S3_SECRET: "secret",
  WEIR_FAULTS_WEBHOOK: `whsec_${Buffer.alloc(32, "faults").toString("base64")}`,
}

export const startReceivers = async (dir: string, pick: (count: number) => number) => {
  const port = await freePort()
  const folder = join(dir, "exports")
  mkdirSync(folder)
  // Gateways may run as another user than what reads.
  const objects = new Map<string, Buffer>()
  let written = 0
  const events: Array<{ readonly webhook: string; readonly id: string; readonly type: string; readonly job: string }> =
    []
  let server: Server | undefined

  const start = () =>
    new Promise<void>((resolve) => {
      server = createServer(async (request, response) => {
        const chunks: Array<Buffer> = []
        try {
          for await (const chunk of request) chunks.push(chunk)
        } catch {
          return
        }
        const body = Buffer.concat(chunks)
        const path = decodeURIComponent(request.url ?? "")
        // Now and then it fails, or its answer is lost.
        const fate = pick(20)
        if (fate === 0) return response.writeHead(503).end()
        if (request.method === "PUT") {
          objects.set(path, body)
          written += 1
        } else {
          const { type, data } = JSON.parse(body.toString("utf8"))
          events.push({
            webhook: path.slice(1),
            id: String(request.headers["webhook-id"]),
            type,
            job: String(data.job),
          })
        }
        if (fate === 1) return request.socket.destroy()
        return response.writeHead(200).end()
      }).listen(port, "127.0.0.1", resolve)
    })
  const kill = async () => {
    server?.closeAllConnections()
    await new Promise((resolve) => server?.close(resolve))
  }
  await start()

  const catalogue = `exports:
  - { id: folder, to: "file://${folder}", format: parquet, every: 2s, buckets: 2, records: [usage, transfers] }
  - { id: bucket, to: "s3://faults/p", region: eu-central-1, endpoint: "http://127.0.0.1:${port}", credentials: { accessKeyId: "env:WEIR_FAULTS_S3_ID", secretAccessKey: "env:WEIR_FAULTS_S3_SECRET" }, format: jsonl.zst, every: 1s, buckets: 1 }
webhooks:
${webhooks.map((id) => `  - { id: ${id}, url: "http://127.0.0.1:${port}/${id}", secret: "env:WEIR_FAULTS_WEBHOOK", events: [job.done, key.created] }`).join("\n")}
`

  /** Waits until everything has left, and returns the problems. */
  const check = async (
    query: Query,
  ): Promise<{ readonly summary: string; readonly problems: ReadonlyArray<string> }> => {
    const problems: Array<string> = []
    const duck = await (await DuckDBInstance.create()).connect()
    const ask = async (sql: string) => (await duck.runAndReadAll(sql)).getRows()
    const files = (records: string) => `read_parquet('${folder}/${records}/v1/date=*/hour=*/org=*/*.parquet')`
    const inFolder = async () =>
      (
        await ask(
          `select count(*), count(distinct ref) filter (where record = 'usage'), sum(cost)::varchar, sum(exchanges) from ${files("usage")}`,
        )
      )[0]
    const lines = () =>
      [...objects].flatMap(([path, bytes]) =>
        path.endsWith(".jsonl.zst")
          ? zstdDecompressSync(bytes)
              .toString("utf8")
              .trimEnd()
              .split("\n")
              .map((line) => JSON.parse(line))
          : [],
      )
    const charges = "sum(case kind when 'charge' then amount when 'correct' then -amount end)"
    const chargedInFolder = async () =>
      String((await ask(`select ${charges}::varchar from ${files("transfers")}`))[0]?.[0])
    const [[count = "", cost = ""] = []] = await query("select count(*), sum(cost) from usage_records")
    const [[ledger = ""] = []] = await query(`select ${charges} from transfers`)
    for (let tries = 0; tries < 90; tries++) {
      // A delivery that failed often is sent again in minutes only.
      await query("update webhook_deliveries set next_at = now() where state = 'pending'")
      const found = await inFolder().catch(() => undefined)
      const pending = await query("select count(*) from webhook_deliveries where state = 'pending'")
      const inBucket = lines().reduce((sum, { exchanges }) => sum + exchanges, 0)
      const charged = await chargedInFolder().catch(() => undefined)
      const hasAll = Number(found?.[3]) === Number(count) && inBucket === Number(count) && charged === ledger
      if (hasAll && pending[0]?.[0] === "0") break
      await sleep(2000)
    }
    const found = await inFolder()
    if (Number(found?.[3]) !== Number(count)) problems.push(`${found?.[3]} of ${count} records are in the folder`)
    if (String(found?.[2]) !== cost) problems.push(`files in the folder sum to ${found?.[2]}, the ledger to ${cost}`)
    // One that was taken back is there, with its correction, and then as it was settled.
    const twice = await ask(`select ref from ${files("usage")} group by 1 having sum(exchanges) <> 1`)
    if (twice.length > 0) problems.push(`${twice.length} records are not in the folder once`)
    const charged = await chargedInFolder()
    if (charged !== ledger) problems.push(`transfers in files charge ${charged}, the ledger ${ledger}`)
    const all = lines()
    const once = Map.groupBy(all, ({ ref }) => ref)
    for (const [ref, rows] of once) {
      const sum = rows.reduce((sum, { exchanges }) => sum + exchanges, 0)
      if (sum !== 1) problems.push(`${ref} is in the bucket ${sum} times`)
    }
    const tenths = all.reduce((sum, { cost }) => sum + BigInt(cost.replace(".", "")), 0n)
    if (tenths !== BigInt(cost.replace(".", "")))
      problems.push(`files in the bucket sum to ${tenths}, the ledger to ${cost}`)

    const jobs = await query("select id from jobs where ended_at is not null")
    for (const webhook of webhooks) {
      const told = Map.groupBy(
        events.filter((event) => event.webhook === webhook && event.type === "job.done"),
        ({ job }) => job,
      )
      for (const [job = ""] of jobs) {
        const ids = new Set(told.get(job)?.map(({ id }) => id))
        if (ids.size !== 1) problems.push(`${webhook} was told of the end of ${job} under ${ids.size} ids`)
      }
    }
    const [[failed = ""] = []] = await query("select count(*) from webhook_deliveries where state <> 'delivered'")
    if (failed !== "0") problems.push(`${failed} events were not delivered`)
    return {
      summary: `${count} records in ${objects.size} objects (${written} writes) and in a folder, ${all.length - Number(count)} beyond them in the bucket; ${events.length} events told, of ${new Set(events.map(({ id }) => id)).size}`,
      problems,
    }
  }

  return { catalogue, start, kill, check }
}
