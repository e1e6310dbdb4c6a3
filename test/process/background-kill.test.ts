/** A node that is killed while a response runs on it without its client: the next one makes it once more, or says what was billed. */
import { rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Exit, Schema, Scope } from "effect"
import { afterAll, beforeAll, expect, it } from "vitest"
import {
  answering,
  makeOpenaiBackground,
  repeating,
  type ScriptedVendor,
  startScriptedVendor,
  type VendorScript,
} from "../../src/testing/index.ts"
import { openaiFrames } from "../../src/testing/vendor-replies.ts"
import { eventually } from "../support/gateway.ts"
import { useProcesses } from "../support/use-processes.ts"

const scope = Scope.makeUnsafe()
let script: VendorScript
let vendor: ScriptedVendor
beforeAll(async () => {
  vendor = await Effect.runPromise(
    Scope.provide(
      startScriptedVendor((call) => script(call)),
      scope,
    ),
  )
})
afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

const { serve, dir } = useProcesses()

const key = "wk_of_the_test"
const catalogue = () => `
version: 1
vendors:
  - { id: v, dialect: openai-chat, baseUrl: "${vendor.url}/v1" }
  - { id: own, dialect: openai-responses, background: vendor, baseUrl: "${vendor.url}/v1" }
models:
  - { handle: main, targets: [{ vendor: v, model: a }] }
  - { handle: own, targets: [{ vendor: own, model: b }] }
prices:
  - { model: main, currency: USD, input: "3", output: "15", from: 2026-01-01 }
  - { model: own, currency: USD, input: "3", output: "15", from: 2026-01-01 }
orgs: [{ id: acme, name: Acme, currency: USD, models: [main, own], keeps: { responses: 1d } }]
apps: [{ id: app, org: acme }]
keys: [{ id: key, app: app, secret: "env:KILL_KEY" }]
topups: [{ id: first, org: acme, amount: "10" }]
`

const silent: VendorScript = async (call) => {
  await call.wait(60_000)
}
const halfway: VendorScript = async (call) => {
  call.head()
  const frames = openaiFrames({ words: ["Half", " of", " an", " answer"], inTokens: 10, outTokens: 5 })
  for (const frame of frames.slice(0, 4)) await call.write(frame)
  await call.wait(60_000)
}

const Read = Schema.Struct({
  id: Schema.String,
  status: Schema.String,
  error: Schema.optionalKey(Schema.NullOr(Schema.Struct({ message: Schema.String }))),
  usage: Schema.optionalKey(Schema.NullOr(Schema.Struct({ input_tokens: Schema.Int, output_tokens: Schema.Int }))),
})
const read = Schema.decodeUnknownSync(Schema.fromJsonString(Read))

const startNode = () => {
  const file = join(dir(), "weir.yaml")
  writeFileSync(file, catalogue())
  const times = { SVC_LEASE_MS: "2000", SVC_CHECKPOINT_MS: "200", SVC_DRAIN_TIMEOUT_MS: "1000" }
  return serve({ SVC_CATALOGUE: file, KILL_KEY: key, SVC_MASTER_KEY: "master", ...times })
}
type Node = Awaited<ReturnType<typeof startNode>>
const askOf =
  ({ ready }: Node) =>
  async (path: string, body?: object, headers: Readonly<Record<string, string>> = {}) => {
    const reply = await fetch(`${ready.baseUrl}/openai/v1/responses${path}`, {
      method: body === undefined ? "GET" : "POST",
      headers: { authorization: `Bearer key~${key}`, "content-type": "application/json", ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    return reply.text()
  }
const bills = async (node: Node) =>
  (await node.run("usage", "acme")).text
    .split("\n")
    .filter((line) => /\b(main|own)\b/.test(line) && /req_|once-only/.test(line))
/** After a checkpoint. */
const killed = async ({ child, exit }: Node, signal: NodeJS.Signals = "SIGKILL") => {
  await new Promise((resolve) => setTimeout(resolve, 2500))
  child.kill(signal)
  await exit
  rmSync(join(dir(), "ready"), { force: true })
}

it.each([
  ["without an Idempotency-Key", {}],
  ["with one", { "idempotency-key": "once-only" }],
])(
  "a vendor that had not answered is asked once more, %s: one response, one bill",
  async (_, headers) => {
    script = silent
    const first = await startNode()
    const before = vendor.calls.length
    const work = { model: "main", input: "Work", background: true, instructions: "Be brief" }
    const begun = read(await askOf(first)("", work, headers))
    await eventually(() => vendor.calls.length === before + 1)
    await killed(first)

    script = answering({ words: ["Done"], inTokens: 10, outTokens: 5 })
    const second = await startNode()
    const ask = askOf(second)
    const now = async () => read(await ask(`/${begun.id}`))
    await eventually(async () => (await now()).status === "completed", 60_000)
    expect(await now()).toMatchObject({ id: begun.id, usage: { input_tokens: 10, output_tokens: 5 } })
    expect(await ask(`/${begun.id}`)).toContain("Done")
    const sent = vendor.calls.slice(before).map(({ body }) => body["messages"])
    expect(sent).toHaveLength(2)
    expect(sent[1]).toEqual(sent[0])
    const events = await ask(`/${begun.id}?stream=true`)
    const numbers = [...events.matchAll(/"sequence_number":(\d+)/g)].map(([, number]) => Number(number))
    expect(numbers).toEqual(numbers.map((_, at) => at))
    expect(events).toMatch(/response\.created.*Done.*response\.completed/s)
    if ("idempotency-key" in headers) expect(read(await ask("", work, headers)).id).toBe(begun.id)
    // The lease of the node that died is over.
    await new Promise((resolve) => setTimeout(resolve, 3000))
    expect(await bills(second)).toHaveLength(1)
    expect((await second.run("ledger", "acme")).text).toContain("0 held")
    expect((await second.run("doctor")).text).toContain("consistent")
  },
  180_000,
)

it("a part of an answer is billed: the response has failed, with the usage of its checkpoint", async () => {
  script = halfway
  const first = await startNode()
  const before = vendor.calls.length
  const begun = read(await askOf(first)("", { model: "main", input: "Work", background: true }))
  await eventually(() => vendor.calls.length === before + 1)
  await killed(first)

  const second = await startNode()
  const now = async () => read(await askOf(second)(`/${begun.id}`))
  await eventually(async () => (await now()).status === "failed", 60_000)
  const failed = await now()
  expect(failed.error?.message).toContain("Send the request again with another Idempotency-Key")
  expect(failed.usage?.input_tokens).toBeGreaterThan(0)
  expect(failed.usage?.output_tokens).toBeGreaterThan(0)
  await eventually(async () => (await bills(second)).length > 0, 30_000)
  const [bill = "", ...more] = await bills(second)
  expect(more).toEqual([])
  expect(bill).toContain("interrupted")
  expect(vendor.calls.length).toBe(before + 1)
  expect((await second.run("doctor")).text).toContain("consistent")
}, 180_000)

it("what runs at its vendor is followed by the next nodes, killed or shut down: one response there, one bill", async () => {
  const twin = makeOpenaiBackground(repeating)
  twin.plan({ polls: 1_000_000 })
  script = async (call) => twin.serve(call)
  const first = await startNode()
  const begun = read(await askOf(first)("", { model: "own", input: "Work", background: true }))
  await eventually(() => twin.made() === 1)
  await killed(first)
  const second = await startNode()
  // Its polls come again.
  const polled = () => vendor.calls.filter(({ method }) => method === "GET").length
  const before = polled()
  await eventually(() => polled() > before + 1, 60_000)
  await killed(second, "SIGTERM")
  const third = await startNode()
  const now = async () => read(await askOf(third)(`/${begun.id}`))
  expect((await now()).status).not.toBe("failed")
  twin.plan({ polls: 0 })
  await eventually(async () => (await now()).status === "completed", 90_000)
  expect(await askOf(third)(`/${begun.id}`)).toContain("You said: Work")
  expect(twin.made()).toBe(1)
  expect(twin.cancelled()).toEqual([])
  await new Promise((resolve) => setTimeout(resolve, 3000))
  expect(await bills(third)).toHaveLength(1)
  expect((await third.run("ledger", "acme")).text).toContain("0 held")
  expect((await third.run("doctor")).text).toContain("consistent")
}, 240_000)
