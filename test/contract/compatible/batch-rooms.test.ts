/** Batches end with their results where something else has run out: room for files, a rate, a vendor for one request. */
import { Effect } from "effect"
import { beforeEach, describe, expect, it } from "vitest"
import { answering } from "../../../src/testing/index.ts"
import { chatLine as line, useBatches } from "../../support/batches.ts"

const { ids, gateway, openai, create, ended, linesOf, books } = useBatches(
  (text) =>
    text
      .replace("contextWindow: 10000", "contextWindow: 1000000")
      .replace("plans:\n", "plans:\n  - { id: small, maxFiles: 1 }\n")
      .replace("plan: team", "plan: small"),
  { largeBodyBytes: 400_000 },
)
const answer = answering({ words: ["ok"], inTokens: 10, outTokens: 2 })

beforeEach(async () => {
  for await (const { id } of openai().files.list()) await openai().files.delete(id)
})

describe("Batches", () => {
  it("keep their results though there is no room for more files", async () => {
    gateway().vendor.script(answer)
    const made = await create([line("a"), line("b")])
    const batch = await ended(made.id)
    expect(batch).toMatchObject({ status: "completed", request_counts: { completed: 2 } })
    expect(await linesOf(batch.output_file_id)).toHaveLength(2)
    expect((await books(made.id)).left).toBe(0)
  })

  it("wait for room to price a large request", async () => {
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    gateway().vendor.script(async (call) => {
      await held
      return answer(call)
    })
    const spaces = " ".repeat(300_000)
    const asked = gateway().vendor.calls.length
    const call = fetch(`${gateway().baseUrl}/openai/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${openai().apiKey}`, "content-type": "application/json" },
      body: spaces + JSON.stringify(line("a").body),
    })
    await expect.poll(() => gateway().vendor.calls.length).toBeGreaterThan(asked)
    const making = create([JSON.stringify(line("a")).replace('"body":{', `"body":{${spaces}`)])
    setTimeout(release, 500)
    const made = await making
    expect(made.errors).toBeNull()
    expect((await call).status).toBe(200)
    expect(await ended(made.id)).toMatchObject({ status: "completed", request_counts: { completed: 1 } })
    expect((await books(made.id)).left).toBe(0)
  })

  it("answer other requests while a vendor fails for one", async () => {
    gateway().vendor.script((call) => {
      if (!JSON.stringify(call.body).includes("fail")) return answer(call)
      call.head(500, { "content-type": "application/json" })
      call.end("{}")
    })
    const made = await create([line("a", "fail"), ...Array.from({ length: 35 }, (_, at) => line(`n${at}`))])
    await expect
      .poll(async () => (await openai().batches.retrieve(made.id)).request_counts?.completed, { timeout: 6000 })
      .toBe(35)
    await openai().batches.cancel(made.id)
    expect(await ended(made.id)).toMatchObject({ status: "cancelled", request_counts: { completed: 35, failed: 1 } })
  })

  it("are cancelled if their requests were erased", async () => {
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    gateway().vendor.script(async (call) => {
      await held
      return answer(call)
    })
    const asked = gateway().vendor.calls.length
    const made = await create(Array.from({ length: 70 }, (_, at) => line(`n${at}`)))
    await expect.poll(() => gateway().vendor.calls.length).toBeGreaterThan(asked)
    const { sql } = gateway()
    await Effect.runPromise(sql`select files_erase(${ids.org}, null, null, null, null)`)
    release()
    const batch = await ended(made.id)
    expect(batch.status).toBe("cancelled")
    const { records, findings, left } = await books(made.id)
    expect([records.length, findings, left]).toEqual([batch.request_counts?.completed, [], 0])
  })
})
