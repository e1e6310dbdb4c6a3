/** Batches of Anthropic's API, by its SDK. */
import { describe, expect, it } from "vitest"
import { answering } from "../../../src/testing/index.ts"
import { useBatches } from "../../support/batches.ts"

const { gateway, anthropic, openai, books } = useBatches()
const says = () => gateway().vendor.script(answering({ words: ["ok"], inTokens: 10, outTokens: 2 }))

const request = (custom_id: string, params: object = {}) => ({
  custom_id,
  params: { model: "main", max_tokens: 50, messages: [{ role: "user" as const, content: "Hi" }], ...params },
})

const ended = async (id: string) => {
  for (;;) {
    const batch = await anthropic().messages.batches.retrieve(id)
    if (batch.processing_status === "ended") return batch
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

const resultsOf = async (id: string) => {
  const results = []
  for await (const result of await anthropic().messages.batches.results(id)) results.push(result)
  return results.sort((a, b) => a.custom_id.localeCompare(b.custom_id))
}

describe("Anthropic's batches", () => {
  it("answer each request; a bad one has its error as its result", async () => {
    says()
    const made = await anthropic().messages.batches.create({
      requests: [
        request("a"),
        request("b", { model: "unknown" }),
        request("c", { max_tokens: "no" }),
        request("d", { stream: true }),
      ],
    })
    expect(made).toMatchObject({
      type: "message_batch",
      processing_status: "in_progress",
      request_counts: { processing: 4, succeeded: 0 },
      results_url: null,
      ended_at: null,
    })
    expect(made.id).toMatch(/^msgbatch_/)
    const batch = await ended(made.id)
    expect(batch.request_counts).toEqual({ processing: 0, succeeded: 1, errored: 3, canceled: 0, expired: 0 })
    expect(batch.results_url).toBe(`${gateway().baseUrl}/anthropic/v1/messages/batches/${made.id}/results`)
    const [a, b, c, d] = await resultsOf(made.id)
    expect(a).toMatchObject({
      custom_id: "a",
      result: { type: "succeeded", message: { type: "message", content: [{ type: "text", text: "ok" }] } },
    })
    expect(b).toMatchObject({
      result: { type: "errored", error: { type: "error", error: { type: expect.any(String) } } },
    })
    expect(c).toMatchObject({
      result: { type: "errored", error: { type: "error", error: { type: "invalid_request_error" } } },
    })
    expect(d).toMatchObject({ result: { type: "errored", error: { error: { type: "invalid_request_error" } } } })
    const { records, findings, left } = await books(made.id)
    expect([records.length, findings, left]).toEqual([1, [], 0])
  })

  it("are refused if a name is not valid, or is there twice", async () => {
    const create = (requests: ReadonlyArray<object>) =>
      fetch(`${gateway().baseUrl}/anthropic/v1/messages/batches`, {
        method: "POST",
        headers: { "x-api-key": anthropic().apiKey ?? "", "content-type": "application/json" },
        body: JSON.stringify({ requests }),
      }).then(async (reply) => [reply.status, JSON.stringify(await reply.json())])
    expect(await create([request("a"), request("b c")])).toEqual([400, expect.stringContaining("requests.1.custom_id")])
    expect(await create([request("a"), request("a")])).toEqual([400, expect.stringContaining("custom_id")])
    expect(await create([])).toEqual([400, expect.stringContaining("no requests")])
    expect(await create([{ custom_id: "a" }])).toEqual([400, expect.stringContaining("requests.0.params")])
  })

  it.each([
    "{",
    '{"requests":',
    '{"requests":[',
    '{"requests":[{]}',
    '{"requests":{}}',
    "[]",
    '{"requests":[1,2]} x',
    '{"requests":[],"x":1}',
  ])("refuse the body %s", async (body) => {
    const reply = await fetch(`${gateway().baseUrl}/anthropic/v1/messages/batches`, {
      method: "POST",
      headers: { "x-api-key": anthropic().apiKey ?? "", "content-type": "application/json" },
      body,
    })
    expect(reply.status).toBe(400)
    expect(await reply.json()).toMatchObject({ type: "error", error: { type: "invalid_request_error" } })
  })

  it("are cancelled, listed both ways, and erased once they have ended", async () => {
    says()
    const first = await anthropic().messages.batches.create({ requests: [request("a")] })
    const second = await anthropic().messages.batches.create({ requests: [request("a")] })
    const cancelled = await anthropic().messages.batches.cancel(second.id)
    expect(cancelled.cancel_initiated_at).not.toBeNull()
    await ended(first.id)
    await ended(second.id)
    const page = await anthropic().messages.batches.list({ limit: 1 })
    expect(page.data.map(({ id }) => id)).toEqual([second.id])
    expect(page.has_more).toBe(true)
    const older = await anthropic().messages.batches.list({ after_id: second.id, limit: 1 })
    expect(older.data[0]?.id).toBe(first.id)
    const newer = await anthropic().messages.batches.list({ before_id: first.id, limit: 5 })
    expect(newer.data.map(({ id }) => id)).toEqual([second.id])
    expect(await anthropic().messages.batches.delete(first.id)).toEqual({ id: first.id, type: "message_batch_deleted" })
    await expect(anthropic().messages.batches.retrieve(first.id)).rejects.toMatchObject({ status: 404 })
    await expect(anthropic("other").messages.batches.retrieve(second.id)).rejects.toMatchObject({ status: 404 })
  })

  it("are not seen in another API, and their results are no files", async () => {
    says()
    const made = await anthropic().messages.batches.create({ requests: [request("a")] })
    await ended(made.id)
    const files = (await openai().files.list()).data
    expect(files).toEqual([])
    const id = made.id.replace("msgbatch_", "batch_")
    await expect(openai().batches.retrieve(id)).rejects.toMatchObject({ status: 404 })
  })
})
