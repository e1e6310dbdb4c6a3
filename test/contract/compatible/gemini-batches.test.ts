/** Batches of Gemini's API, by Google's SDK. */
import { describe, expect, it } from "vitest"
import { answering } from "../../../src/testing/index.ts"
import { useBatches } from "../../support/batches.ts"

const { gateway, gemini, books } = useBatches()
const says = () => gateway().vendor.script(answering({ words: ["ok"], inTokens: 10, outTokens: 2 }))

const fileUri = `https://gateway/v1beta/files/${"a".repeat(26)}`
const contents = [{ role: "user", parts: [{ text: "Hi" }] }]

const ended = async (name: string) => {
  for (;;) {
    const batch = await gemini().batches.get({ name })
    if (batch.state !== "JOB_STATE_RUNNING") return batch
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

describe("Gemini's batches", () => {
  it("answer a list of requests in its order", async () => {
    says()
    const made = await gemini().batches.create({
      model: "main",
      src: [
        { contents, metadata: { key: "a" } },
        { contents, metadata: { key: "b" } },
        {
          contents: [{ role: "user", parts: [{ fileData: { fileUri, mimeType: "application/pdf" } }] }],
          metadata: { key: "c" },
        },
      ],
      config: { displayName: "three" },
    })
    expect(made).toMatchObject({ state: "JOB_STATE_RUNNING", displayName: "three", model: "models/main" })
    const batch = await ended(made.name ?? "")
    expect(batch.state).toBe("JOB_STATE_SUCCEEDED")
    const responses = batch.dest?.inlinedResponses ?? []
    expect(responses.map(({ metadata }) => metadata?.["key"])).toEqual(["a", "b", "c"])
    expect(responses[0]?.response?.candidates?.[0]?.content?.parts?.[0]?.text).toBe("ok")
    expect(responses[2]?.error).toMatchObject({ code: 404 })
    const { records, findings, left } = await books(made.name ?? "")
    expect([records.length, findings, left]).toEqual([2, [], 0])
  })

  it("have the metadata of a body on many lines", async () => {
    says()
    const headers = { "x-goog-api-key": `${gateway().keyId}~${gateway().key}`, "content-type": "application/json" }
    const requests = ["a", "b"].map((key) => ({ metadata: { key, deep: { list: [1, 2] } }, request: { contents } }))
    const reply = await fetch(`${gateway().baseUrl}/gemini/v1beta/models/main:batchGenerateContent`, {
      method: "POST",
      headers,
      body: JSON.stringify({ batch: { inputConfig: { requests: { requests } } } }, null, 2),
    })
    const name = /batches\/[a-z2-7]+/.exec(await reply.text())?.[0] ?? ""
    const batch = await ended(name)
    expect(batch.dest?.inlinedResponses?.map(({ metadata }) => metadata)).toEqual(
      requests.map(({ metadata }) => metadata),
    )
  })

  it("send the answers to a list as they are read, in its order, with those that were cancelled", async () => {
    gateway().vendor.script(async (call) => {
      const [, at = ""] = /Hi (\d+)/.exec(JSON.stringify(call.body)) ?? []
      await call.wait((20 - Number(at)) * 10)
      if (at === "4") {
        call.head(500, { "content-type": "application/json" })
        return call.end("{}")
      }
      return answering({ words: [`No ${at}`], inTokens: 10, outTokens: 2 })(call)
    })
    const src = Array.from({ length: 18 }, (_, at) => ({
      contents: [{ role: "user", parts: [{ text: `Hi ${at}` }] }],
      metadata: { key: `n${at}` },
    }))
    const { name = "" } = await gemini().batches.create({ model: "main", src })
    const headers = { "x-goog-api-key": `${gateway().keyId}~${gateway().key}` }
    const read = () => fetch(`${gateway().baseUrl}/gemini/v1beta/${name}`, { headers })
    await expect.poll(async () => (await read()).text()).toContain('"successfulRequestCount":"17"')
    await gemini().batches.cancel({ name })
    const { dest } = await ended(name)
    const responses = dest?.inlinedResponses ?? []
    expect(responses.map(({ metadata }) => metadata?.["key"])).toEqual(src.map(({ metadata }) => metadata.key))
    expect(
      responses.map(({ response, error }) => response?.candidates?.[0]?.content?.parts?.[0]?.text ?? error?.code),
    ).toEqual(src.map((_, at) => (at === 4 ? 1 : `No ${at}`)))
    // None of it is in memory as a whole.
    expect((await read()).headers.get("transfer-encoding")).toBe("chunked")
  })

  it("answer a file of requests with a file", async () => {
    says()
    const lines = ["a", "b"].map((key) => JSON.stringify({ key, request: { contents } })).join("\n")
    const file = await gemini().files.upload({
      file: new Blob([lines], { type: "application/jsonl" }),
      config: { mimeType: "application/jsonl" },
    })
    const made = await gemini().batches.create({ model: "main", src: file.name ?? "" })
    const batch = await ended(made.name ?? "")
    const { fileName = "" } = batch.dest ?? {}
    expect(fileName).toMatch(/^files\/[a-z2-7]{26}$/)
    const text = await (
      await fetch(`${gateway().baseUrl}/gemini/v1beta/${fileName}:download?alt=media`, {
        headers: { "x-goog-api-key": `${gateway().keyId}~${gateway().key}` },
      })
    ).text()
    const results = text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line))
    expect(results.map(({ key }) => key).sort()).toEqual(["a", "b"])
    expect(results[0].response.candidates[0].content.parts[0].text).toBe("ok")
  })

  it("are cancelled, listed and erased", async () => {
    says()
    const made = await gemini().batches.create({ model: "main", src: [{ contents }] })
    const name = made.name ?? ""
    await gemini().batches.cancel({ name })
    const batch = await ended(name)
    expect(["JOB_STATE_CANCELLED", "JOB_STATE_SUCCEEDED"]).toContain(batch.state)
    const listed = []
    for await (const each of await gemini().batches.list({ config: { pageSize: 1 } })) listed.push(each.name)
    expect(listed[0]).toBe(name)
    await gemini().batches.delete({ name })
    await expect(gemini().batches.get({ name })).rejects.toMatchObject({ status: 404 })
    await expect(gemini("other").batches.get({ name: String(listed[1]) })).rejects.toMatchObject({ status: 404 })
  })

  it("refuse requests without a list or a file, and unknown files", async () => {
    const post = (body: object) =>
      fetch(`${gateway().baseUrl}/gemini/v1beta/models/main:batchGenerateContent`, {
        method: "POST",
        headers: { "x-goog-api-key": `${gateway().keyId}~${gateway().key}`, "content-type": "application/json" },
        body: JSON.stringify(body),
      }).then(({ status }) => status)
    expect(await post({ batch: { displayName: "a" } })).toBe(400)
    expect(await post({})).toBe(400)
    expect(await post({ batch: { inputConfig: { fileName: "files/none" } } })).toBe(404)
    expect(await post({ batch: { inputConfig: { requests: { requests: [{ metadata: {} }] } } } })).toBe(400)
    expect(await post({ batch: { inputConfig: { requests: { requests: [] } }, other: 1 } })).toBe(400)
  })
})
