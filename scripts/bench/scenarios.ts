/** The scenarios. Each returns rows, with the floor's figure where the floor can do the same. */
import { randomUUID } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import { Redacted } from "effect"
import { Agent } from "undici"
import { makeAwsIdentity } from "../../src/cloud-identities/aws.ts"
import { VendorClient } from "../../src/upstream/client.ts"
import { batches } from "./batches.ts"
import { holdCosts } from "./budgets.ts"
import { busy } from "./busy.ts"
import { costs, nothing, ratioByRound } from "./costs.ts"
import { counted } from "./counted.ts"
import { crowd } from "./crowd.ts"
import { exports } from "./exports.ts"
import { measureHistory } from "./history.ts"
import { keptResponses } from "./kept-responses.ts"
import { ledger } from "./ledger.ts"
import {
  cpuSeconds,
  drive,
  type Endpoint,
  median,
  openFilesLimit,
  percentile,
  percentileOfRounds,
  residentBytes,
} from "./load.ts"
import { longReplies } from "./long-replies.ts"
import { longChat, longRequests } from "./long-requests.ts"
import { media } from "./media.ts"
import { openStreams } from "./open-streams.ts"
import { replyAfter } from "./reply-after.ts"
import { replyCache } from "./reply-cache.ts"
import type { Effort, Row, Scenario } from "./scenario.ts"
import { shards } from "./shards.ts"
import { soak } from "./soak.ts"
import { socketMemory, sockets } from "./sockets.ts"
import { measureStored, type Stored } from "./stored-tenants.ts"
import { type Answer, guarded, limited, type Subject, type Subjects, type Weir } from "./subjects.ts"
import { tenThousand } from "./ten-thousand.ts"
import { measureDeclared } from "./tenants.ts"
import { tools } from "./tools.ts"
import { start, system } from "./whole-system.ts"
import { workers } from "./workers.ts"

const both = ({ floor, weir }: Subjects, answer: Answer) =>
  [floor, weir].map((subject) => ({ subject, endpoint: subject.exchange(answer) }))

/** Milliseconds that one exchange after the other takes, p50, each of several rounds in turns. */
const oneByOne = async (subjects: Subjects, { rounds, scale }: Effort): Promise<ReadonlyArray<number>> => {
  const pair = both(subjects, "short")
  const times = pair.map((): Array<ReadonlyArray<number>> => [])
  for (let round = 0; round < rounds; round++) {
    for (const [at, { endpoint }] of pair.entries()) {
      times[at]?.push((await drive(endpoint, { requests: 500 * scale, inFlight: 1 })).wholeMs)
    }
  }
  return times.map((each) => percentileOfRounds(each, 0.5))
}

/** A whole reply: authenticated, admitted, held, called, settled, answered. */
export const json: Scenario = async (subjects, effort) => {
  const { rounds, scale } = effort
  const [floor = nothing, weir = nothing] = await costs(both(subjects, "short"), 4000 * scale, 32, rounds)
  const residentMiB = residentBytes(subjects.weir.pid) / 2 ** 20
  const [floorMs = 0, weirMs = 0] = await oneByOne(subjects, effort)
  return [
    {
      what: "CPU per JSON exchange",
      unit: "µs",
      floor: floor.us,
      weir: weir.us,
      spread: weir.spread,
      note: `${weir.perSecond.toFixed(0)} exchanges/s; the floor ${floor.perSecond.toFixed(0)}/s`,
      budget: { of: "ratio", max: 2.2 },
    },
    {
      what: "one JSON exchange at a time, p50 above the floor's",
      unit: "ms",
      weir: weirMs - floorMs,
      note: `the floor's: ${floorMs.toFixed(2)} ms`,
      budget: { of: "value", max: 0.6 },
    },
    { what: "resident memory after it", unit: "MiB", weir: residentMiB, budget: { of: "value", max: 220 } },
  ]
}

/** Streams at full speed: the cost of one more frame, and of a whole stream of 200. */
export const stream: Scenario = async (subjects, { rounds, scale }) => {
  const [floorShort = nothing, short = nothing] = await costs(both(subjects, "frames-200"), 500 * scale, 16, rounds)
  const [floorLong = nothing, long = nothing] = await costs(both(subjects, "frames-2200"), 150 * scale, 16, rounds)
  return [
    {
      what: "CPU per streamed frame",
      unit: "µs",
      floor: (floorLong.us - floorShort.us) / 2000,
      weir: (long.us - short.us) / 2000,
      spread: (long.spread + short.spread) / 2000,
      note: "by how much 2,200 frames cost more than 200",
      budget: { of: "ratio", max: 1 },
    },
    {
      what: "CPU per stream of 200 frames, all of it",
      unit: "µs",
      floor: floorShort.us,
      weir: short.us,
      spread: short.spread,
      note: `${short.perSecond.toFixed(0)} streams/s`,
      budget: { of: "ratio", max: 1.7 },
    },
  ]
}

/** The delay of the first content, compared with a direct call. */
export const firstFrame: Scenario = async ({ direct, floor, weir }, { rounds, scale }) => {
  const times = new Map<Subject, Array<ReadonlyArray<number>>>([direct, floor, weir].map((subject) => [subject, []]))
  const load = { requests: 640 * scale, inFlight: 64, spreadMs: 400 }
  for (let round = 0; round < rounds; round++) {
    for (const [subject, its] of times) {
      // While the others were measured, it rested: allotments have gone back.
      await drive(subject.exchange("paced-20"), load)
      its.push((await drive(subject.exchange("paced-20"), load)).firstByteMs)
    }
  }
  const at = (subject: Subject, share: number) => percentileOfRounds(times.get(subject) ?? [], share)
  const added = (subject: Subject, share: number) => at(subject, share) - at(direct, share)
  const row = (name: string, share: number, max: number): Row => ({
    what: `added time to first frame, 64 in flight, ${name}`,
    unit: "ms",
    floor: added(floor, share),
    weir: added(weir, share),
    note: "over a direct call",
    budget: { of: "value", max },
  })
  return [row("p50", 0.5, 0.4), row("p99", 0.99, 4)]
}

/** Frames of 64 KiB. */
export const large: Scenario = async (subjects, { rounds, scale }) => {
  const [floor = nothing, weir = nothing] = await costs(both(subjects, "large-32"), 200 * scale, 8, rounds)
  return [
    {
      what: "CPU per MiB of 64 KiB frames",
      unit: "µs",
      floor: floor.us / 2,
      weir: weir.us / 2,
      spread: weir.spread / 2,
    },
  ]
}

/** The other routes, against the floor's pass-through. */
export const routes: Scenario = async ({ floor, weir }, { rounds, scale }) => {
  const replayed = { requestId: randomUUID() }
  const once = weir.call("/t1/exchange", { ...exchangeBody, meta: replayed })
  await drive(once, { requests: 1, inFlight: 1 })
  const calls: ReadonlyArray<readonly [what: string, Endpoint, mostOfFloor?: number]> = [
    ["CPU per heartbeat inside the window", weir.call("/t1/heartbeat", { sessionId: "01J0000000000000000000000A" })],
    ["CPU per web search", weir.call("/t1/websearch", { query: "river" })],
    [
      "CPU per embedding",
      weir.call("/t1/embeddings", { model: "embed", input: ["A short text."], encoding: "base64" }),
    ],
    ["CPU per embedding, as numbers", weir.call("/t1/embeddings", { model: "embed", input: ["A short text."] })],
    ["CPU per JSON exchange", weir.call("/t1/exchange", exchangeBody)],
    ["CPU per replay of a finished exchange", once, 1.6],
    ["CPU per wrong key", { ...weir.call("/t1/exchange", exchangeBody, wrongKey), status: 401 }],
  ]
  const rows: Array<Row> = []
  for (const [what, endpoint, max] of calls) {
    const pair = [
      { subject: floor, endpoint: floor.exchange("short") },
      { subject: weir, endpoint },
    ]
    const [passed = nothing, cost = nothing] = await costs(pair, 3000 * scale, 32, rounds)
    const note = `${cost.perSecond.toFixed(0)}/s; floor: a JSON exchange`
    const budget = max === undefined ? undefined : { of: "ratio" as const, max }
    rows.push({
      what,
      unit: "µs",
      floor: passed.us,
      weir: cost.us,
      spread: cost.spread,
      note,
      ...(budget && { budget }),
    })
  }
  return rows
}

const exchangeBody = { model: "short", thread: [{ role: "user", blocks: [{ t: "text", v: "Hello, river" }] }] }
const wrongKey = { "x-svc-key-id": "key_bench", "x-svc-key": "wrong" }

/** A chat completion in the client's own API. */
const chatAt = (weir: Weir, answer: Answer) =>
  weir.call("/openai/v1/chat/completions", {
    model: answer,
    stream: answer !== "short",
    messages: [{ role: "user", content: "Hello, river" }],
  })

/** Chat completions at the compatible route, against the same exchange in twp/1. */
export const compatible: Scenario = async ({ weir }, { rounds, scale }) => {
  const chat = (answer: Answer) => chatAt(weir, answer)
  const pair = (answer: Answer) => [
    { subject: weir, endpoint: weir.exchange(answer) },
    { subject: weir, endpoint: chat(answer) },
  ]
  for (const { endpoint } of pair("short")) await drive(endpoint, { requests: 4000 * scale, inFlight: 32 })
  // Small differences are seen in many short rounds: the machine changes within a long one.
  const [own = nothing, other = nothing] = await costs(pair("short"), 1000 * scale, 32, 16 * rounds)
  const [ownShort = nothing, short = nothing] = await costs(pair("frames-200"), 500 * scale, 16, rounds)
  const [ownLong = nothing, long = nothing] = await costs(pair("frames-2200"), 150 * scale, 16, rounds)
  const note = "floor: the same in twp/1"
  const ratio = ratioByRound(other, own)
  return [
    {
      what: "CPU per chat completion at the compatible route",
      unit: "µs",
      floor: own.us,
      weir: own.us * ratio,
      spread: other.spread,
      note,
      budget: { of: "ratio", max: 1.05 },
    },
    {
      what: "CPU per streamed frame at the compatible route",
      unit: "µs",
      floor: (ownLong.us - ownShort.us) / 2000,
      weir: (long.us - short.us) / 2000,
      note,
      budget: { of: "ratio", max: 1.1 },
    },
  ]
}

/** The time of AWS's signature of a request of 4 KB. */
export const signing: Scenario = async (_, { rounds, scale }) => {
  const { authorize } = makeAwsIdentity({
    region: "us-east-1",
    keys: { accessKeyId: Redacted.make("AKIDEXAMPLE"), secretAccessKey: Redacted.make("secret") },
    role: undefined,
  })
  const request = {
    baseUrl: "https://bedrock-runtime.us-east-1.amazonaws.com",
    path: "/model/m/converse",
    body: "x".repeat(4096),
  }
  const client = VendorClient.of({
    start: () => {
      throw new Error("Nobody is asked for a signature")
    },
  })
  const route = { client, network: undefined, isGuarded: false }
  const us: Array<number> = []
  const signatures = Math.ceil(10_000 * scale)
  for (let round = 0; round <= rounds; round++) {
    const before = process.cpuUsage()
    for (let at = 0; at < signatures; at++) await authorize(request, route)
    const { user, system } = process.cpuUsage(before)
    // The first round compiles.
    if (round > 0) us.push((user + system) / signatures)
  }
  return [
    {
      what: "CPU per request of 4 KB that is signed for AWS",
      unit: "µs",
      weir: median(us),
      note: "in one process",
      budget: { of: "value", max: 40 },
    },
  ]
}

/** The time that five budgets add to a hold. */
export const budgets: Scenario = async (_, { rounds }) => {
  const { withoutUs, underUs } = await holdCosts(20_000, rounds)
  return [
    {
      what: "time that five budgets, of a thousand, add to a hold",
      unit: "µs",
      weir: underUs - withoutUs,
      note: `${underUs.toFixed(1)} over ${withoutUs.toFixed(1)}, with its release; in one process`,
      budget: { of: "value", max: 10 },
    },
  ]
}

/**
 * Thousands of streams that stay open, with a frame a second each: the memory of one more. The first ones also fill the
 * heap's room for young objects, which does not grow further; the memory of each of the second half is reported separately.
 */
export const open: Scenario = async ({ floor, weir }, { scale }) => {
  // Only retained memory is meant.
  const restMs = 8000 * Math.min(1, scale)
  const rows: Array<Row> = []
  // A stream takes two sockets of a process: its client's and its vendor's.
  const most = openFilesLimit() / 2 - 200
  for (const half of [2500, 5000].map((count) => Math.floor(Math.min(most / 2, count * scale)))) {
    const ofFloor = await grow(floor, floor.exchange("paced-200"), half, restMs)
    const ofWeir = await grow(weir, weir.exchange("paced-200"), half, restMs)
    rows.push(
      {
        what: `memory per open stream, ${2 * half} open`,
        unit: "KiB",
        floor: ofFloor.kibOfAll,
        weir: ofWeir.kibOfAll,
        note: `resident memory over what it was; ${ofWeir.broken} of ${2 * half} broke`,
        budget: { of: "value", max: 40 },
      },
      {
        what: `memory of each of the last ${half} of them`,
        unit: "KiB",
        floor: ofFloor.kibOfOneMore,
        weir: ofWeir.kibOfOneMore,
      },
    )
  }
  return rows
}

/** The memory of a stream that a long request of a client of the vendor's API has opened. */
export const openLong: Scenario = async ({ floor, weir }, { scale }) => {
  const long = { ...longChat("paced-200"), stream: true }
  const body = JSON.stringify(long)
  const [half, restMs] = [Math.ceil(500 * scale), 8000 * Math.min(1, scale)]
  const ofFloor = await grow(floor, { ...floor.exchange("paced-200"), body }, half, restMs)
  const ofWeir = await grow(weir, weir.call("/openai/v1/chat/completions", long), half, restMs)
  return [
    {
      what: `memory per open stream, ${2 * half} open, each asked by ${Math.round(body.length / 1000)} KB of chat`,
      unit: "KiB",
      floor: ofFloor.kibOfAll,
      weir: ofWeir.kibOfAll,
      note: `resident memory over what it was; ${ofWeir.broken} of ${2 * half} broke`,
    },
  ]
}

/** Opens streams in two halves. @param restMs before the memory is read */
const grow = async (subject: Subject, endpoint: Endpoint, half: number, restMs: number) => {
  await drive(subject.exchange("short"), { requests: 200, inFlight: 16 })
  const memory = [residentBytes(subject.pid)]
  const opened = []
  for (let part = 0; part < 2; part++) {
    const streams = openStreams(endpoint, half)
    opened.push(streams)
    await streams.allOpen
    await sleep(restMs)
    memory.push(residentBytes(subject.pid))
  }
  const [idle = 0, withHalf = 0, withAll = 0] = memory.map((bytes) => bytes / 1024)
  const broken = opened.reduce((sum, streams) => sum + streams.broken(), 0)
  for (const streams of opened) await streams.close()
  await settled(subject)
  return { kibOfAll: (withAll - idle) / (2 * half), kibOfOneMore: (withAll - withHalf) / half, broken }
}

/** Frames that arrive one by one, five a second from each stream: as many streams as two cores can carry. */
export const paced: Scenario = async ({ floor, weir }, { scale, streams }) => {
  const count = Math.round(streams * scale)
  const ofFloor = await keep(floor, count)
  const ofWeir = await keep(weir, count)
  return [
    {
      what: `CPU per frame that comes alone, ${count} streams at five a second each`,
      unit: "µs",
      floor: ofFloor.usPerFrame,
      weir: ofWeir.usPerFrame,
      note: `${ofWeir.framesPerSecond.toFixed(0)} frames/s arrived of ${count * 5}; the floor's ${ofFloor.framesPerSecond.toFixed(0)}; ${ofWeir.broken} broke, of the floor's ${ofFloor.broken}`,
      budget: { of: "ratio", max: 1.15 },
    },
  ]
}

/** Milliseconds between the frames of `paced-N` if a scenario does not use the vendor's default. */
export const pauses: Readonly<Record<string, number>> = {
  open: 1000,
  paced: 200,
  crowd: 200,
  sockets: 200,
  tenThousand: 1000,
  socketMemory: 1000,
}

const keep = async (subject: Subject, streams: number) => {
  await drive(subject.exchange("short"), { requests: 200, inFlight: 16 })
  const opened = openStreams(subject.exchange("paced-200"), streams)
  await opened.allOpen
  await sleep(3000)
  const before = { cpu: cpuSeconds(subject.pid), frames: opened.frames(), at: performance.now() }
  await sleep(5000)
  const seconds = (performance.now() - before.at) / 1000
  const frames = opened.frames() - before.frames
  const usPerFrame = ((cpuSeconds(subject.pid) - before.cpu) * 1e6) / frames
  const broken = opened.broken()
  await opened.close()
  await settled(subject)
  return { usPerFrame, framesPerSecond: frames / seconds, broken }
}

/**
 * An hour of ten exchanges a second, at full speed: whole, streamed, replayed and refused. Memory must not
 * grow.
 */
export const leak: Scenario = async ({ weir }, { scale }) => {
  const exchanges = 36_000 * scale
  const batches = 8
  const each = Math.ceil(exchanges / batches / 4)
  const resident: Array<number> = []
  const refused = { ...weir.call("/t1/exchange", { ...exchangeBody, model: "unknown" }), status: 403 }
  for (let batch = 0; batch < batches; batch++) {
    const once = weir.call("/t1/exchange", { ...exchangeBody, meta: { requestId: randomUUID() } })
    await drive(once, { requests: 1, inFlight: 1 })
    for (const endpoint of [weir.exchange("short"), weir.exchange("frames-200"), once, refused]) {
      await drive(endpoint, { requests: each, inFlight: 32 })
    }
    await sleep(2000)
    resident.push(residentBytes(weir.pid) / 2 ** 20)
  }
  // The first quarter warms up.
  const [begin = 0, end = 0] = [resident.slice(1, 4), resident.slice(-3)].map(median)
  return [
    {
      what: `memory after an hour of exchanges (${exchanges})`,
      unit: "MiB",
      floor: begin,
      weir: end,
      spread: Math.max(...resident.slice(1)) - Math.min(...resident.slice(1)),
      note: `floor: after a quarter of them; ${resident.map((mib) => mib.toFixed(0)).join(", ")}`,
      budget: { of: "ratio", max: 1.1 },
    },
  ]
}

/** Waits until a process has little to do. */
const settled = async ({ pid }: Subject) => {
  for (let tries = 0; tries < 60; tries++) {
    const before = cpuSeconds(pid)
    await sleep(500)
    if (cpuSeconds(pid) - before < 0.05) return
  }
}

/** The effect of slow readers on other clients. */
export const slowClients: Scenario = async ({ weir }, { scale }) => {
  const requests = 2000 * scale
  const alone = await drive(weir.exchange("short"), { requests, inFlight: 16 })
  const slow = await startSlow(weir, 100)
  const beside = await drive(weir.exchange("short"), { requests, inFlight: 16 })
  await slow.stop()
  const p99 = (run: typeof alone) => percentile(run.wholeMs, 0.99)
  return [
    {
      what: "p99 of a JSON exchange beside 100 clients that do not read",
      unit: "ms",
      floor: p99(alone),
      weir: p99(beside),
      note: "floor: without them",
    },
  ]
}

const startSlow = async (weir: Weir, clients: number) => {
  const agent = new Agent({ connections: clients, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 })
  const { origin, path, headers, body } = weir.exchange("large-32")
  for (let at = 0; at < clients; at++) {
    agent.dispatch(
      { origin, path, method: "POST", headers: { "content-type": "application/json", ...headers }, body },
      { onRequestStart() {}, onResponseData: (controller) => controller.pause(), onResponseError() {} },
    )
  }
  await sleep(2000)
  return { stop: () => agent.destroy() }
}

/** Tenants that a file declares, on the embedded database; with a server, many more organisations as rows. */
export const tenants: Scenario = async (subjects, { scale }) => {
  const orgs = Math.round(5000 * scale)
  const few = await measureDeclared(1, 1)
  const many = await measureDeclared(orgs, 10)
  // A small run shows that it works.
  const lists = scale < 1 ? undefined : await measureDeclared(1, 10_000)
  const row = (
    what: string,
    floor: number,
    weir: number,
    max?: number,
    of = `${orgs} declared organisations`,
  ): Row => ({
    what: `${what}, ${of}`,
    unit: "ms",
    floor,
    weir,
    note: "floor: one organisation",
    ...(max !== undefined && { budget: { of: "value", max } }),
  })
  return [
    row("start", few.startAgainMs, many.startAgainMs, 4000),
    row("first start, which applies the file", few.startMs, many.startMs),
    row("applying one changed name", few.applyMs, many.applyMs, 2000),
    row("longest stall of the event loop while it is applied", few.stallMs, many.stallMs, 20),
    row("longest stall during a dry run", few.dryRunStallMs, many.dryRunStallMs, 20),
    ...(lists === undefined
      ? []
      : [row("longest stall while a name changes", few.stallMs, lists.stallMs, 20, "10,000 models and prices")]),
    ...(process.env["SVC_TEST_DATABASE_URL"] === undefined ? [] : await storedTenants(subjects, scale)),
  ]
}

/** Organisations in the database: the figures must not grow with them. */
const storedTenants = async (subjects: Subjects, scale: number): Promise<ReadonlyArray<Row>> => {
  const none = scale < 1 ? undefined : await measureStored(subjects, 1, scale)
  const rows: Array<Row> = []
  const counts = scale < 1 ? [100_000] : [1000, 100_000, 1_000_000]
  for (const count of counts.map((each) => Math.max(1, Math.round(each * scale)))) {
    const many = await measureStored(subjects, count, scale)
    const row = (what: string, unit: string, of: (stored: Stored) => number, budget?: Row["budget"]) => ({
      what: `${what}, ${count} organisations`,
      unit,
      weir: of(many),
      ...(none && { floor: of(none), note: "floor: one organisation", ...(budget && { budget }) }),
    })
    rows.push(
      row("start", "ms", ({ startMs }) => startMs, { of: "value", max: 3000 }),
      {
        ...row("resident memory above one organisation", "MiB", ({ roundMiB }) => roundMiB - (none?.roundMiB ?? 0), {
          of: "value",
          max: 200,
        }),
        note: `after a round of ${many.active} active ones`,
      },
      {
        what: `CPU per exchange of known tenants, ${count} organisations`,
        unit: "µs",
        floor: many.oneUs,
        weir: many.knownUs,
        note: `${many.active} in turn; floor: always the same one`,
        budget: { of: "ratio", max: 1.1 },
      },
      row("CPU per exchange of unknown tenants", "µs", ({ unknownUs }) => unknownUs),
      row("longest stall while one tenant changes", "ms", ({ oneStallMs }) => oneStallMs, { of: "value", max: 20 }),
      row("longest stall while 1,000 tenants change", "ms", ({ batchStallMs }) => batchStallMs, {
        of: "value",
        max: 20,
      }),
      row("longest stall while the platform changes", "ms", ({ platformStallMs }) => platformStallMs, {
        of: "value",
        max: 20,
      }),
      row("until another node refuses a disabled organisation", "ms", ({ disabledMs }) => disabledMs, {
        of: "value",
        max: 2000,
      }),
      row("until another node refuses a revoked key", "ms", ({ revokedMs }) => revokedMs, { of: "value", max: 2000 }),
    )
  }
  return rows
}

/** A whole reply for a key under three rates and a tag, beside one without. */
const limits: Scenario = async ({ weir }, { rounds, scale }) => {
  const endpoint = weir.exchange("short")
  const pair = [endpoint, { ...endpoint, headers: limited }].map((each) => ({ subject: weir, endpoint: each }))
  // Small differences are seen in many short rounds: the machine changes within a long one.
  const [without = nothing, under = nothing] = await costs(pair, 1000 * scale, 32, 16 * rounds)
  return [
    {
      what: "CPU per JSON exchange under three rates and a tag",
      unit: "µs",
      floor: without.us,
      weir: without.us * ratioByRound(under, without),
      spread: under.spread,
      note: "floor: without them",
      budget: { of: "ratio", max: 1.05 },
    },
  ]
}

/** Frames of a stream on which ten patterns are enforced, beside one without policies; translated, and in the client's own API. */
const policies: Scenario = async ({ weir }, { rounds, scale }) => {
  const rows: Array<Row> = []
  for (const [name, asked] of [
    ["a translated stream", (answer: Answer) => weir.exchange(answer)],
    ["a stream of the client's API", (answer: Answer) => chatAt(weir, answer)],
  ] as const) {
    const under = (answer: Answer) => ({ ...asked(answer), headers: guarded })
    const subjects = [asked("frames-200"), under("frames-200"), asked("frames-2200"), under("frames-2200")]
    const pairs = subjects.map((endpoint) => ({ subject: weir, endpoint }))
    const [plainShort = nothing, short = nothing] = await costs(pairs.slice(0, 2), 500 * scale, 16, 4 * rounds)
    const [plainLong = nothing, long = nothing] = await costs(pairs.slice(2), 150 * scale, 16, 4 * rounds)
    rows.push({
      what: `CPU per frame of ${name} under ten patterns`,
      unit: "µs",
      floor: (plainLong.us - plainShort.us) / 2000,
      weir: (long.us - short.us) / 2000,
      spread: (long.spread + short.spread) / 2000,
      note: "floor: without policies",
      budget: { of: "ratio", max: 1.3 },
    })
  }
  return rows
}

/** Summaries of ninety days of usage, which the console asks for; needs a PostgreSQL server. */
export const history: Scenario = async (subjects, { scale }) => {
  if (process.env["SVC_TEST_DATABASE_URL"] === undefined) return []
  const measured = await measureHistory(subjects, Math.round(10_000_000 * scale))
  const note = `${measured.records} usage records, folded in ${measured.foldS.toFixed(0)} s`
  const row = (what: string, weir: number): Row => ({ what, unit: "ms", weir, note, budget: { of: "value", max: 200 } })
  return [
    row("usage of 90 days, by model", measured.wholeMs),
    row("usage of 90 days, by organisation", measured.byOrgMs),
    row("usage of 90 days of one organisation, by key", measured.oneOrgMs),
    row("usage of the last day, by model", measured.dayMs),
    row("the newest 50 exchanges", measured.listMs),
  ]
}

/** Fewer exchanges before a short run would make its figures three times as high. */
const leastWarm = 8000

/** Until the compiler has done its work: at 3,000 exchanges a gateway still takes 1.5 times as long. */
export const warmUp = async ({ floor, weir }: Subjects, { scale }: Effort): Promise<void> => {
  for (const subject of [floor, weir]) {
    await drive(subject.exchange("short"), { requests: Math.max(leastWarm, 12_000 * scale), inFlight: 32 })
    await drive(subject.exchange("frames-200"), { requests: 400 * scale, inFlight: 16 })
  }
}

export const scenarios: Readonly<Record<string, Scenario>> = {
  json,
  replyAfter,
  workers,
  busy,
  soak,
  system,
  ledger,
  stream,
  firstFrame,
  large,
  routes,
  compatible,
  budgets,
  limits,
  policies,
  keptResponses,
  batches,
  slowClients,
  leak,
  paced,
  open,
  openLong,
  start,
  tenants,
  history,
  counted,
  crowd,
  longReplies,
  longRequests,
  media,
  replyCache,
  tools,
  shards,
  exports,
  signing,
  sockets,
  tenThousand,
  socketMemory,
}
