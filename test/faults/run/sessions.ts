/**
 * `npm run faults:sessions -- [sessions] [seed]`: realtime sessions with the APIs of OpenAI and Google through two gateways on one PostgreSQL and one Redis, with
 * random ends: the client leaves, the vendor breaks off, a gateway is killed, lines to PostgreSQL are cut or fall silent, the
 * balance is used up. Afterwards each response must be billed once or not at all, one that was delivered in a session without
 * faults once and with the vendor's counts, no hold may be left, and the balance must be what was paid in less what was billed,
 * to the tenth digit.
 */
import { execFile } from "node:child_process"
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { Effect, Exit, Scope } from "effect"
import { WebSocket } from "ws"
import { newUlid } from "../../../src/protocol/values/ulid.ts"
import { testCatalogue } from "../../../src/testing/gateway.ts"
import { liveUsage, turnMessages } from "../../../src/testing/live-messages.ts"
import { type LiveTwinSession, startLiveTwin } from "../../../src/testing/live-twin.ts"
import {
  type RealtimeVendorSession,
  realtimeUsage,
  responseEvents,
  startRealtimeVendor,
} from "../../../src/testing/scripted-realtime.ts"
import { query as ask, startPostgres } from "../../support/faults/databases.ts"
import { gateway, gatewayEnvironment, redis } from "../../support/faults/processes.ts"
import { freePort } from "../../support/free-port.ts"
import { randomOf } from "../../support/random.ts"

const sessions = Number(process.argv[2] ?? 500)
const seed = Number(process.argv[3] ?? Date.now() % 1_000_000)
const atOnce = 40
/** Longer than a node's lease, which is four seconds (`processes.ts`). */
const stallMs = 4500
/** While so many are left, they run without other faults. */
const lastSessions = 10
const random = randomOf(seed)
const faultRandom = randomOf(seed + 1)
const pick = (count: number) => Math.floor(random() * count)
console.log(`fault run of sessions: ${sessions}, seed ${seed}, 2 gateways`)

const dir = mkdtempSync(join(tmpdir(), "weir-sessions-"))
// PostgreSQL runs as another user.
chmodSync(dir, 0o755)
const scope = Scope.makeUnsafe()

/** Each response reports another number of tokens, by which its record is known. */
let responses = 0
const begun = new Set<number>()
const vendorSession = async (session: RealtimeVendorSession) => {
  session.send({ type: "session.created", event_id: "event_0", session: { type: "realtime", id: "sess" } })
  while ((await session.next("response.create")) !== undefined) {
    const number = ++responses
    const how = pick(20)
    const usage = realtimeUsage(0, 1000 + number, 10, 40)
    const events = responseEvents(`resp_${number}`, {
      words: ["one", "two", "three"],
      audioBytes: 4800,
      parts: 4,
      ...(how !== 1 && { usage }),
    })
    begun.add(number)
    for (const [at, event] of events.entries()) {
      if (how === 0 && at === 4) return session.reset()
      session.send(event)
      await sleep(pick(120))
    }
  }
}
const vendor = await Effect.runPromise(Scope.provide(startRealtimeVendor(vendorSession), scope))

/** The same with Google's API: the first word of a turn is its number. */
const liveSession = async (session: LiveTwinSession) => {
  while ((await session.next("clientContent")) !== undefined) {
    const number = ++responses
    const how = pick(20)
    const usage = liveUsage(0, 1000 + number, 10, 40)
    const words = [`${number}`, " two", " three"]
    const messages = turnMessages({ words, audioBytes: 4800, parts: 4, ...(how !== 1 && { usage }) })
    begun.add(number)
    for (const [at, message] of messages.entries()) {
      if (how === 0 && at === 4) return session.reset()
      session.send(message)
      await sleep(pick(120))
    }
  }
}
const google = await Effect.runPromise(Scope.provide(startLiveTwin(liveSession), scope))

const rich = { org: "org_rich", app: "app_rich", key: "key_rich" }
const poor = { org: "org_poor", app: "app_poor", key: "key_poor" }
const paid = { [rich.org]: "1000000", [poor.org]: "2.5" }
const catalogue = join(dir, "catalogue.yaml")
writeFileSync(
  catalogue,
  testCatalogue({ vendor: vendor.url, second: vendor.url }, rich)
    .replace(
      "models:\n",
      `  - { id: google, dialect: gemini, baseUrl: "${google.url}", credential: "env:WEIR_TEST_VENDOR" }
models:
  - { handle: live, kind: realtime, contextWindow: 32000, maxOutput: 4096, targets: [{ vendor: google, model: v }] }
  - { handle: voice, kind: realtime, contextWindow: 32000, maxOutput: 4096, targets: [{ vendor: openai, model: v }] }\n`,
    )
    .replace(
      "prices:\n",
      `prices:
  - { model: live, currency: USD, input: "4", output: "16", cacheRead: "0.4", dims: { audio_in: "32", audio_out: "64" }, from: 2026-01-01 }
  - { model: voice, currency: USD, input: "4", output: "16", cacheRead: "0.4", dims: { audio_in: "32", audio_out: "64" }, from: 2026-01-01 }\n`,
    )
    .replace("models: [main,", "models: [live, voice, main,")
    .replace(`amount: "1000"`, `amount: "${paid[rich.org]}"`)
    .split("\n")
    .flatMap((line) =>
      /\b(org|app|key)_rich\b/.test(line)
        ? [
            line,
            line.replaceAll(/\b(org|app|key)_rich/g, "$1_poor").replace(`"${paid[rich.org]}"`, `"${paid[poor.org]}"`),
          ]
        : [line],
    )
    .join("\n"),
)

const cachePort = await freePort()
const cache = redis(cachePort)
await cache.start()
const databases = await startPostgres(dir)
const adminKey = "wa_faults"
const environment = gatewayEnvironment({ catalogue, databaseUrl: databases.url, redisPort: cachePort, adminKey })
const ports = [await freePort(), await freePort()]
const gateways = ports.map((port, at) => gateway(`gateway${at}`, dir, port, environment))
for (const each of gateways) await each.start()

const counts = new Map<string, number>()
const count = (what: string) => counts.set(what, (counts.get(what) ?? 0) + 1)
let running = true
const chaos = (async () => {
  while (running) {
    await sleep(1200)
    if (!running) return
    if (faultRandom() < 0.3) {
      count("postgres lines cut")
      databases.lines[0]?.cut()
      continue
    }
    count("gateways killed")
    const victim = gateways[Math.floor(faultRandom() * gateways.length)]
    await victim?.kill()
    await sleep(300)
    await victim?.start()
  }
})()

interface Heard {
  readonly id: string
  readonly org: string
  /** Responses whose end has come, and before which no fault can have been. */
  readonly done: Array<number>
  /** How it ended. */
  end: string
  code: number
}

const audio = Buffer.alloc(4800).toString("base64")
const apis = [
  {
    path: "/openai/v1/realtime?model=voice",
    setup: undefined,
    turn: [{ type: "input_audio_buffer.append", audio }, { type: "response.create" }],
  },
  {
    path: "/gemini/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent",
    setup: { model: "models/live" },
    turn: [
      { realtimeInput: { audio: { data: audio, mimeType: "audio/pcm;rate=16000" } } },
      { clientContent: { turns: [{ parts: [{ text: "And?" }] }], turnComplete: true } },
    ],
  },
] as const

/** One session: some responses, and an end. */
const talk = (id: string): Promise<Heard> =>
  new Promise((resolve) => {
    const who = pick(5) === 0 ? poor : rich
    const port = ports[pick(ports.length)] ?? 0
    const turns = 1 + pick(6)
    const leaves = pick(4) === 0
    const heard: Heard = { id, org: who.org, done: [], end: "refused", code: 0 }
    const api = apis[pick(2)] ?? apis[0]
    const ws = new WebSocket(`ws://127.0.0.1:${port}${api.path}`, {
      headers: { authorization: `Bearer ${who.key}~secret`, "x-svc-session-id": id },
    })
    const turn = () => {
      for (const message of api.turn) ws.send(JSON.stringify(message))
    }
    const begin = () => {
      heard.end = "broken"
      turn()
    }
    const ended = (number: number) => {
      heard.done.push(number)
      if (heard.done.length < turns) setTimeout(() => ws.readyState === WebSocket.OPEN && turn(), pick(30))
      else {
        heard.end = "whole"
        ws.close()
      }
    }
    const sounds = () => {
      if (!leaves || pick(10) !== 0) return
      heard.end = "left"
      ws.terminate()
    }
    let number = 0
    ws.on("open", () => {
      if (api.setup === undefined) begin()
      else ws.send(JSON.stringify({ setup: api.setup }))
    })
    ws.on("message", (data: Buffer) => {
      const event = JSON.parse(data.toString("utf8"))
      const content = event.serverContent
      if (event.setupComplete !== undefined) begin()
      else if (content?.outputTranscription !== undefined) number = Number(content.outputTranscription.text) || number
      else if (content?.turnComplete === true) ended(number)
      else if (content?.modelTurn !== undefined) sounds()
      else if (event.type === "response.done") ended(Number(event.response.id.slice(5)))
      else if (event.type === "response.output_audio.delta") sounds()
      else if (event.type === "error") heard.end = String(event.error.code)
    })
    ws.on("close", (code) => {
      heard.code = code
      resolve(heard)
    })
    ws.on("error", () => {})
  })

const startedAt = Date.now()
const talks: Array<Heard> = []
let next = 0
let ended = 0
await Promise.all(
  Array.from({ length: atOnce }, async () => {
    while (next < sessions) {
      next++
      const heard = await talk(newUlid(Date.now()))
      if (heard.end === "refused" && heard.org === rich.org) {
        // The gateway was not there.
        next--
        await sleep(200)
        continue
      }
      ended++
      if (ended === sessions - lastSessions) {
        // The lease of each node runs out while its last sessions end.
        running = false
        databases.lines[0]?.stall(stallMs)
      }
      if (heard.end !== "refused") talks.push(heard)
      else count("refused for want of money, or of a gateway")
    }
  }),
)
const seconds = ((Date.now() - startedAt) / 1000).toFixed(0)
running = false
await chaos
const query = (sql: string) => ask(databases.port, sql)
/** The money that gateways hold in memory. */
const heldBy = async (port: number): Promise<string> => {
  const reply = await fetch(`http://127.0.0.1:${port}/metrics`, { headers: { "x-svc-admin-key": adminKey } })
  if (!reply.ok) return `unknown, status ${reply.status}`
  const held = /weir_ledger_allotted\{(?=[^}]*state="held")(?=[^}]*counter="USD")[^}]*\} (\S+)/.exec(await reply.text())
  // A gateway that was started again has held nothing yet.
  return held?.[1] ?? "0"
}
for (let tries = 0; tries < 80; tries++) {
  const isOpen = (await query("select count(*) from holds where state = 'open'"))[0]?.[0] !== "0"
  if (!isOpen && (await Promise.all(ports.map(heldBy))).every((held) => held === "0")) break
  await sleep(500)
}

const problems: Array<string> = []
const check = (holds: boolean, problem: string) => {
  if (!holds) problems.push(problem)
}
const doctor = fileURLToPath(new URL("../../../src/main.ts", import.meta.url))
await promisify(execFile)(process.execPath, [
  doctor,
  "doctor",
  "--url",
  `http://127.0.0.1:${ports[0]}`,
  "--admin-key",
  adminKey,
]).then(
  ({ stdout }) =>
    console.log(
      stdout
        .split("\n")
        .filter((line) => line.startsWith("ledger"))
        .join(""),
    ),
  (error) => problems.push(`doctor: ${error.stderr}`),
)
for (const port of ports) {
  const held = await heldBy(port)
  check(held === "0", `a gateway holds ${held}`)
}
check((await query("select count(*) from holds where state = 'open'"))[0]?.[0] === "0", "responses are still held")
const records = await query(
  "select session_id, coalesce((dims ->> 'audio_in')::int, 0), coalesce(estimated_reason, ''), cost, ref from usage_records",
)
const bySession = Map.groupBy(records, ([session = ""]) => session)
const reported = new Map<number, number>()
for (const [, audioIn, reason] of records) {
  if (reason !== "") continue
  const number = Number(audioIn) - 1000
  reported.set(number, (reported.get(number) ?? 0) + 1)
  check(begun.has(number), `response ${number} was billed and never begun`)
}
for (const [number, times] of reported) check(times === 1, `response ${number} was billed ${times} times`)
check(records.length <= begun.size, `${records.length} records of ${begun.size} responses`)
const ends = new Map<string, number>()
let known = 0
for (const { id, done, end, code } of talks) {
  ends.set(`${end} ${code}`, (ends.get(`${end} ${code}`) ?? 0) + 1)
  const own = bySession.get(id) ?? []
  check(
    own.length <= done.length + 1,
    `session ${id} has ${own.length} records of ${done.length} responses and one more`,
  )
  if (end !== "whole") continue
  known += done.length
  const estimated = own.filter(([, , reason]) => reason !== "").length
  const billed = done.filter((number) => reported.has(number)).length
  // A gateway that is killed right after the last event has settled it by its checkpoint, or given its hold back.
  check(
    billed + estimated >= done.length - 1,
    `session ${id}: ${billed} and ${estimated} estimated of ${done.length} are billed`,
  )
}
const [[sum = "0"] = []] = await query("select sum(cost) from usage_records")
for (const { org } of [rich, poor]) {
  const [[left = "", billed = ""] = []] = await query(`select
    coalesce((select funded - granted from counters where org_id = '${org}' and counter = 'USD'), 0)
      + coalesce((select sum(granted - spent) from allotments where org_id = '${org}' and counter = 'USD'), 0),
    coalesce((select sum(cost) from usage_records where org_id = '${org}'), 0)`)
  const [[difference = ""] = []] = await query(`select ${paid[org]}::numeric - ${billed}::numeric - ${left}::numeric`)
  check(Number(difference) === 0, `${org}: ${paid[org]} paid, ${billed} billed, ${left} left`)
  check(!left.startsWith("-"), `${org} has ${left} left`)
}
console.log(
  `${talks.length} sessions in ${seconds} s, ${begun.size} responses begun, ${records.length} billed (${reported.size} as reported), ${sum} in all; ${known} in sessions that ended whole`,
)
console.log([...ends].map(([end, times]) => `${end}: ${times}`).join(", "))
console.log([...counts].map(([name, times]) => `${name} ${times}`).join(", "))
for (const problem of problems.slice(0, 20)) console.error(problem)
console.log(problems.length === 0 ? "consistent" : `${problems.length} problems (seed ${seed})`)
await Promise.all([...gateways, cache, ...databases.servers].map((service) => service.kill()))
for (const line of databases.lines) line.close()
await Effect.runPromise(Scope.close(scope, Exit.void))
rmSync(dir, { recursive: true, force: true })
process.exit(problems.length === 0 ? 0 : 1)
