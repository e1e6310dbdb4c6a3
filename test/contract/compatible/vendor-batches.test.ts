/** Batches that run at their vendors' own APIs of batches: each answered request is billed once, however often its result is read. */
import { Schema } from "effect"
import { beforeEach, describe, expect, it } from "vitest"
import {
  answering,
  anthropicTwin,
  type BatchTwin,
  geminiTwin,
  type LineOutcome,
  makeAnthropicBatches,
  makeGeminiBatches,
  makeMistralBatches,
  makeOpenaiBatches,
  openaiTwin,
  repeating,
  serveBatches,
  serveTwin,
  type VendorCall,
  type VendorScript,
} from "../../../src/testing/index.ts"
import { chatLine, useBatches } from "../../support/batches.ts"

const { gateway, openai, create, ended, linesOf, books } = useBatches((text) =>
  text
    .replace(
      /( {2}- \{ id: openai, .*)\n/,
      (entry) => `${entry}${entry.replace("id: openai,", "id: mistral, profile: mistral, batch: vendor,")}`,
    )
    .replaceAll(/id: (openai|anthropic|gemini), /g, "id: $1, batch: vendor, ")
    .replace(
      "models:\n",
      "models:\n  - { handle: small, maxOutput: 100, targets: [{ vendor: mistral, model: mistral-small-latest }] }\n",
    )
    .replace("prices:\n", 'prices:\n  - { model: small, currency: USD, input: "1", output: "2", from: 2026-01-01 }\n')
    .replace("models: [main,", "models: [small, main,")
    .replaceAll('cacheRead: "0.3", from', 'cacheRead: "0.3", batch: "0.5", from'),
)

interface Place {
  readonly name: string
  readonly model: string
  readonly make: () => BatchTwin
  readonly calls: VendorScript
}

const places: ReadonlyArray<Place> = [
  { name: "openai", model: "main", make: () => makeOpenaiBatches(repeating), calls: serveTwin(openaiTwin, repeating) },
  {
    name: "anthropic",
    model: "claude",
    make: () => makeAnthropicBatches(repeating),
    calls: serveTwin(anthropicTwin, repeating),
  },
  {
    name: "gemini",
    model: "gemini",
    make: () => makeGeminiBatches(repeating),
    calls: serveTwin(geminiTwin, repeating),
  },
  {
    name: "mistral",
    model: "small",
    make: () => makeMistralBatches(repeating),
    calls: serveTwin(openaiTwin, repeating),
  },
]

describe.each(places)("a batch at $name", ({ model, make, calls }) => {
  let twin: BatchTwin
  /** Requests that were made outside the vendor's batches. */
  let alone: Array<VendorCall>
  beforeEach(() => {
    twin = make()
    alone = []
    gateway().vendor.script(
      serveBatches(twin, (call) => {
        alone.push(call)
        return calls(call)
      }),
    )
  })

  const lines = (...names: ReadonlyArray<string>) => names.map((name) => chatLine(name, `Hi ${name}`, { model }))
  /** The outcomes of lines by their number. */
  const outcomes = (by: Readonly<Record<number, LineOutcome>>) => (id: string) => by[Number(id.split("-").at(-1))]
  /** The books of a batch that has ended: one record for each answer, and nothing left. */
  const expectBooks = async (id: string, records: number) => {
    const found = await books(id)
    expect([found.records.length, found.findings, found.left]).toEqual([records, [], 0])
    expect(new Set(found.records.map(({ request_id }) => request_id)).size).toBe(records)
    return found.records
  }
  const answersOf = async (file: string | null | undefined) =>
    new Map((await linesOf(file)).map(({ custom_id, response }) => [custom_id, textIn(response?.body)]))

  it("answers each request by its name, at the price of batches", async () => {
    twin.plan({ order: "reversed" })
    const made = await create(lines("a", "b", "c"))
    const batch = await ended(made.id)
    expect(batch).toMatchObject({ status: "completed", request_counts: { total: 3, completed: 3, failed: 0 } })
    expect([...(await answersOf(batch.output_file_id))].sort()).toEqual([
      ["a", "You said: Hi a"],
      ["b", "You said: Hi b"],
      ["c", "You said: Hi c"],
    ])
    expect(alone).toEqual([])
    expect(twin.batches().length).toBeLessThanOrEqual(1)
    await expectBooks(made.id, 3)
  })

  it("makes again what the vendor did not answer, and bills an answer that comes twice once", async () => {
    twin.plan({ outcome: outcomes({ 1: "twice", 2: "missing", 3: "without_id", 4: "expired" }) })
    const made = await create(lines("a", "b", "c", "d", "e"))
    const batch = await ended(made.id)
    expect(batch).toMatchObject({ status: "completed", request_counts: { completed: 5, failed: 0 } })
    expect(alone).toHaveLength(3)
    await expectBooks(made.id, 5)
  })

  it("is run by the gateway if one request has another target", async () => {
    const other = model === "main" ? "gemini" : "main"
    gateway().vendor.script(serveBatches(twin, answering({ words: ["ok"], inTokens: 10, outTokens: 2 })))
    const made = await create([...lines("a"), chatLine("b", "Hi", { model: other })])
    expect(await ended(made.id)).toMatchObject({ status: "completed" })
    expect(twin.batches()).toEqual([])
  })

  it("bills no request that the vendor refuses", async () => {
    twin.plan({ outcome: outcomes({ 2: "refused" }) })
    const made = await create(lines("a", "b", "c"))
    const { request_counts: counts, status } = await ended(made.id)
    expect([status, (counts?.completed ?? 0) + (counts?.failed ?? 0)]).toEqual(["completed", 3])
    expect(alone.length).toBe((counts?.completed ?? 0) - 2)
    await expectBooks(made.id, counts?.completed ?? 0)
  })

  it("reads a file again that breaks off", async () => {
    twin.plan({ brokenReads: 2, breaksAfter: { bytes: 40, resets: true } })
    const made = await create(lines("a", "b", "c"))
    expect(await ended(made.id)).toMatchObject({ status: "completed", request_counts: { completed: 3, failed: 0 } })
    expect(alone).toEqual([])
    await expectBooks(made.id, 3)
  })

  it("makes one batch if the vendor's answer is lost", async () => {
    twin.plan({ lostCreates: 1 })
    const before = twin.batches().length
    const made = await create(lines("a", "b"))
    let most = before
    const batch = await ended(made.id, () => {
      most = Math.max(most, twin.batches().length)
    })
    expect(batch).toMatchObject({ status: "completed", request_counts: { completed: 2, failed: 0 } })
    expect(most).toBe(before + 1)
    expect(alone).toEqual([])
    await expectBooks(made.id, 2)
  })

  it("is answered by the gateway if the vendor refuses it", async () => {
    twin.plan({ end: "failed" })
    const made = await create(lines("a", "b"))
    expect(await ended(made.id)).toMatchObject({ status: "completed", request_counts: { completed: 2, failed: 0 } })
    expect(alone.length).toBeLessThanOrEqual(2)
    await expectBooks(made.id, 2)
  })

  it("is answered by the gateway where it has expired at the vendor", async () => {
    twin.plan({ end: "expired" })
    const made = await create(lines("a", "b", "c", "d"))
    expect(await ended(made.id)).toMatchObject({ status: "completed", request_counts: { completed: 4, failed: 0 } })
    expect(alone).toHaveLength(2)
    await expectBooks(made.id, 4)
  })

  it.each([false, true])(
    "delivers and bills what was answered when it is cancelled (too late: %s)",
    async (cancelRaces) => {
      twin.plan({ polls: 1000, cancelRaces })
      const made = await create(lines("a", "b", "c", "d"))
      await expect.poll(() => twin.batches().length).toBe(1)
      await openai().batches.cancel(made.id)
      const batch = await ended(made.id)
      const answered = cancelRaces ? 4 : 2
      expect(batch).toMatchObject({
        status: "cancelled",
        request_counts: { completed: answered, failed: 4 - answered },
      })
      expect(alone).toEqual([])
      await expectBooks(made.id, answered)
    },
  )
})

it("batches at vendors are counted in the metrics, with their requests, while they are there", async () => {
  const twin = makeOpenaiBatches(repeating)
  twin.plan({ polls: 1000 })
  gateway().vendor.script(serveBatches(twin, serveTwin(openaiTwin, repeating)))
  const made = await create(["a", "b", "c"].map((name) => chatLine(name)))
  const figures = async () =>
    (await (await gateway().call("GET", "/metrics", undefined, { "x-svc-admin-key": gateway().adminKey })).text())
      .split("\n")
      .filter((line) => /^weir_batch\w*_at_vendors\{/.test(line))
      .map((line) => line.replace(/^(\w+)\{vendor="(\w+)",state="(\w+)"\} (\d+)$/, "$1 $3 $2 $4"))
      .sort()
  const running = ["weir_batch_lines_at_vendors running openai 3", "weir_batches_at_vendors running openai 1"]
  await expect.poll(figures, { timeout: 100_000 }).toEqual(running)
  await openai().batches.cancel(made.id)
  await ended(made.id)
  await expect.poll(figures, { timeout: 100_000 }).toEqual([])
}, 240_000)

const decodeBody = Schema.decodeUnknownSync(
  Schema.Struct({ choices: Schema.Tuple([Schema.Struct({ message: Schema.Struct({ content: Schema.String }) })]) }),
)
const textIn = (body: unknown): string => decodeBody(body).choices[0].message.content
