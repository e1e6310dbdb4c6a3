/** Gemini and Claude on Vertex AI through the gateway, with a service account whose token is verified on the other side. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { answering, hello, newTestIds, testCatalogue, type VendorScript } from "../../src/testing/index.ts"
import { balanceOf, lastUsage, replyOf, useGateway } from "../support/gateway.ts"
import { startTokenEndpoint, type TokenEndpoint } from "../support/google-token-endpoint.ts"

const ids = newTestIds()
const answer = { words: ["Hello", " there"], inTokens: 1000, outTokens: 200 }
const names = [
  "vertex-gemini",
  "vertex-claude",
  "vertex-embed",
  "vertex-embed-2",
  "vertex-down",
  "vertex-short",
  "clouds",
]
const accounts = mkdtempSync(join(tmpdir(), "weir-vertex-"))
let google: TokenEndpoint
let downed: TokenEndpoint
let short: TokenEndpoint

beforeAll(async () => {
  google = await startTokenEndpoint()
  downed = await startTokenEndpoint()
  downed.answers.status = 503
  short = await startTokenEndpoint()
  short.answers.expiresIn = 6
  writeFileSync(join(accounts, "short.json"), short.account)
  writeFileSync(join(accounts, "good.json"), google.account)
  writeFileSync(join(accounts, "down.json"), downed.account)
})
afterAll(() => {
  google.stop()
  downed.stop()
  short.stop()
  rmSync(accounts, { recursive: true, force: true })
})

const vendor = (id: string, dialect: string, url: string, file: string) =>
  `  - { id: ${id}, dialect: ${dialect}, profile: vertex, baseUrl: "${url}", google: { project: my-project, location: europe-west4, credentials: "file:${join(accounts, file)}" } }\n`

const gateway = useGateway(() => ({
  ids,
  catalogue: (urls) =>
    testCatalogue(urls, ids)
      .replace(
        "vendors:\n",
        `vendors:\n${vendor("vg", "gemini", urls.vendor, "good.json")}${vendor("vc", "anthropic", urls.vendor, "good.json")}${vendor("vd", "gemini", urls.vendor, "down.json")}${vendor("vs", "gemini", urls.vendor, "short.json")}  - { id: aws, dialect: bedrock, baseUrl: "${urls.vendor}", aws: { region: us-east-1, accessKeyId: "env:WEIR_TEST_AWS_ID", secretAccessKey: "env:WEIR_TEST_AWS_SECRET" } }
`,
      )
      .replace(
        "models:\n",
        `models:
  - { handle: vertex-gemini, maxOutput: 100, targets: [{ vendor: vg, model: gemini-3-test }] }
  - { handle: vertex-claude, maxOutput: 100, targets: [{ vendor: vc, model: "claude-sonnet-4-5@20250929" }] }
  - { handle: vertex-embed, kind: embedding, targets: [{ vendor: vg, model: text-embedding-005 }] }
  - { handle: vertex-embed-2, kind: embedding, targets: [{ vendor: vg, model: "gemini-embedding-2" }] }
  - { handle: vertex-short, maxOutput: 100, targets: [{ vendor: vs, model: gemini-3-test }] }
  - { handle: clouds, maxOutput: 100, targets: [{ vendor: aws, model: "amazon.nova-pro-v1:0", tier: 1 }, { vendor: vc, model: claude-sonnet-4-5, tier: 2 }] }
  - { handle: vertex-down, maxOutput: 100, targets: [{ vendor: vd, model: g, tier: 1 }, { vendor: second, model: s, tier: 2 }] }
`,
      )
      .replace(
        "prices:\n",
        `prices:\n${names
          .map((model) => `  - { model: ${model}, currency: USD, input: "3", output: "15", from: 2026-01-01 }`)
          .join("\n")}\n`,
      )
      .replace("models: [main,", `models: [${names.join(", ")}, main,`),
}))

const ask = (model: string, more: object = {}) => gateway().exchange({ ...hello, model, ...more })

/** Answers those who have a token that was issued. */
const guarded =
  (script: VendorScript): VendorScript =>
  (call) => {
    const token = String(call.headers["authorization"]).replace("Bearer ", "")
    if (google.issued.includes(token)) return script(call)
    call.head(401, { "content-type": "application/json" })
    call.end("{}")
  }

describe("a service account", () => {
  it("signs in once for a hundred calls of all its vendors", async () => {
    gateway().vendor.script(guarded(answering(answer)))
    const asked = Array.from({ length: 100 }, async (_, at) => {
      const reply = await ask(at % 2 === 0 ? "vertex-gemini" : "vertex-claude", { stream: at % 3 === 0 })
      return [reply.status, await reply.text()]
    })
    for (const [status, text] of await Promise.all(asked)) {
      expect(status).toBe(200)
      expect(text).toContain("there")
      expect(text).not.toContain("ya29")
    }
    expect([google.issued.length, google.refusals]).toEqual([1, []])
  })

  it.each([
    [
      "vertex-gemini",
      true,
      "/v1beta1/projects/my-project/locations/europe-west4/publishers/google/models/gemini-3-test:streamGenerateContent?alt=sse",
    ],
    [
      "vertex-gemini",
      false,
      "/v1beta1/projects/my-project/locations/europe-west4/publishers/google/models/gemini-3-test:generateContent",
    ],
    [
      "vertex-claude",
      true,
      "/v1/projects/my-project/locations/europe-west4/publishers/anthropic/models/claude-sonnet-4-5%4020250929:streamRawPredict",
    ],
    [
      "vertex-claude",
      false,
      "/v1/projects/my-project/locations/europe-west4/publishers/anthropic/models/claude-sonnet-4-5%4020250929:rawPredict",
    ],
  ])("calls %s at its project; streamed: %s", async (model, stream, path) => {
    gateway().vendor.script(guarded(answering(answer)))
    const reply = await ask(model, { stream })
    expect(await reply.text()).toContain("there")
    const call = gateway().vendor.calls.at(-1)
    expect(call?.path).toBe(path)
    if (model === "vertex-claude") {
      expect(call?.body).toMatchObject({ anthropic_version: "vertex-2023-10-16" })
      expect(call?.body).not.toHaveProperty("model")
    }
  })

  it("embeds by predict, and bills what each text says", async () => {
    gateway().vendor.script(
      guarded((call) => {
        const { instances } = call.body
        const predictions = (Array.isArray(instances) ? instances : []).map(() => ({
          embeddings: { values: [0.5, 0.25], statistics: { token_count: 3, truncated: false } },
        }))
        call.head(200, { "content-type": "application/json" })
        call.end(JSON.stringify({ predictions }))
      }),
    )
    const response = await gateway().call("POST", "/t1/embeddings", { model: "vertex-embed", input: ["a", "b"] })
    expect(await response.json()).toMatchObject({
      vectors: [
        [0.5, 0.25],
        [0.5, 0.25],
      ],
      usage: { inTokens: 6 },
    })
  })

  it("embeds by embedContent with models of the second generation, one text at once", async () => {
    const seen: Array<object> = []
    gateway().vendor.script(
      guarded((call) => {
        seen.push({ path: call.path, body: call.body })
        call.head(call.path.endsWith(":embedContent") ? 200 : 400, { "content-type": "application/json" })
        call.end(JSON.stringify({ embedding: { values: [0.5, 0.25] }, usageMetadata: { promptTokenCount: 3 } }))
      }),
    )
    const response = await gateway().call("POST", "/t1/embeddings", {
      model: "vertex-embed-2",
      input: ["a", "b"],
      inputType: "query",
      dimensions: 2,
    })
    expect(await response.json()).toMatchObject({
      vectors: [
        [0.5, 0.25],
        [0.5, 0.25],
      ],
      usage: { inTokens: 6 },
    })
    const path =
      "/v1beta1/projects/my-project/locations/europe-west4/publishers/google/models/gemini-embedding-2:embedContent"
    const bodyOf = (text: string) => ({ content: { parts: [{ text }] }, autoTruncate: false, outputDimensionality: 2 })
    expect(seen).toEqual([
      { path, body: bodyOf("a") },
      { path, body: bodyOf("b") },
    ])
  })

  it("takes over from another cloud before the first frame, for one bill", async () => {
    gateway().vendor.script((call) => {
      if (!call.path.startsWith("/model/")) return guarded(answering(answer))(call)
      call.head(429, { "content-type": "application/json" })
      call.end(JSON.stringify({ __type: "ThrottlingException" }))
    })
    const before = await balanceOf(gateway())
    const text = await (await ask("clouds", { stream: true })).text()
    expect(text).toContain("there")
    expect(text).toContain("vendor_failover")
    // 1,000 tokens in at 3 and 200 out at 15 per million, once.
    expect(before - (await balanceOf(gateway()))).toBe(60_000_000n)
    expect(await lastUsage(gateway())).toMatchObject({ vendor: "vc" })
  })

  it("whose tokens run out while a hundred calls run has a new one for each in time", async () => {
    gateway().vendor.script((call) => {
      const token = String(call.headers["authorization"]).replace("Bearer ", "")
      if (short.issued.slice(-2).includes(token)) return answering(answer, 50)(call)
      call.head(401, { "content-type": "application/json" })
      call.end("{}")
    })
    const statuses: Array<number> = []
    const client = async () => {
      for (let call = 0; call < 10; call++) {
        const reply = await ask("vertex-short")
        statuses.push(reply.status)
        await reply.text()
        await sleep(200)
      }
    }
    await Promise.all(Array.from({ length: 10 }, client))
    expect(statuses).toEqual(Array.from({ length: 100 }, () => 200))
    expect(short.issued.length).toBeGreaterThan(1)
    expect(short.issued.length).toBeLessThan(10)
  })

  it("whose token endpoint fails: another vendor answers; it is asked again when it works", async () => {
    gateway().second.script(answering(answer))
    const before = gateway().vendor.calls.length
    expect((await replyOf(await ask("vertex-down"))).blocks).toMatchObject([{ v: "Hello there" }])
    expect(gateway().vendor.calls.length).toBe(before)
    expect(downed.refusals).toEqual([])
  })
})
