/** Bedrock through the gateway: streamed and whole, broken streams, failover to and from it, embeddings, and each client's API. */
import { describe, expect, it } from "vitest"
import {
  answering,
  bedrockFrame,
  bedrockFrames,
  hello,
  newTestIds,
  readEvents,
  testAwsKeys,
  testCatalogue,
} from "../../src/testing/index.ts"
import { balanceOf, errorOf, eventually, holdsOf, lastUsage, replyOf, useGateway } from "../support/gateway.ts"
import { refusalOf } from "../support/sigv4.ts"

const ids = newTestIds()
const answer = { words: ["Hello", " there"], inTokens: 1000, outTokens: 200 }
const modelId = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
const pools = ["bedrock", "broken", "first-bedrock", "signed", "keyless", "claude-aws"]

const catalogue = (urls: { readonly vendor: string; readonly second: string }) =>
  testCatalogue(urls, ids)
    .replace(
      "vendors:\n",
      `vendors:\n  - { id: aws, dialect: bedrock, baseUrl: "${urls.vendor}", credential: "env:WEIR_TEST_VENDOR" }
  - { id: signed, dialect: bedrock, baseUrl: "${urls.vendor}", aws: { region: us-east-1, accessKeyId: "env:WEIR_TEST_AWS_ID", secretAccessKey: "env:WEIR_TEST_AWS_SECRET" } }
  - { id: claude-aws, dialect: anthropic, profile: bedrock, baseUrl: "${urls.vendor}", aws: { region: us-east-1, accessKeyId: "env:WEIR_TEST_AWS_ID", secretAccessKey: "env:WEIR_TEST_AWS_SECRET" } }
  - { id: keyless, dialect: bedrock, baseUrl: "${urls.vendor}", aws: { region: us-east-1, accessKeyId: "env:NOT_SET", secretAccessKey: "env:NOT_SET" } }
`,
    )
    .replace(
      "models:\n",
      `models:
  - { handle: bedrock, maxOutput: 100, targets: [{ vendor: aws, model: "${modelId}" }] }
  - { handle: broken, maxOutput: 100, targets: [{ vendor: aws, model: "broken" }] }
  - { handle: first-bedrock, maxOutput: 100, targets: [{ vendor: aws, model: "throttled", tier: 1 }, { vendor: second, model: m, tier: 2 }] }
  - { handle: signed, maxOutput: 100, targets: [{ vendor: signed, model: "${modelId}" }] }
  - { handle: claude-aws, maxOutput: 100, targets: [{ vendor: claude-aws, model: "${modelId}" }] }
  - { handle: keyless, maxOutput: 100, targets: [{ vendor: keyless, model: k, tier: 1 }, { vendor: second, model: m, tier: 2 }] }
  - { handle: titan, kind: embedding, targets: [{ vendor: aws, model: "amazon.titan-embed-text-v2:0" }] }
`,
    )
    .replace(
      "prices:\n",
      `prices:\n${[...pools, "titan"]
        .map((model) => `  - { model: ${model}, currency: USD, input: "3", output: "15", from: 2026-01-01 }`)
        .join("\n")}\n`,
    )
    .replace("models: [main,", `models: [${pools.join(", ")}, titan, main,`)

const gateway = useGateway({ catalogue, ids })
const ask = (model: string, more: object = {}) => gateway().exchange({ ...hello, model, ...more })
const cost = (holds: ReadonlyArray<{ readonly cost: string | null }>) => holds.at(-1)?.cost

describe("a reply of Bedrock", () => {
  it.each([true, false])("streamed: %s, reaches the client and is billed as reported", async (stream) => {
    gateway().vendor.script(answering(answer))
    const before = await balanceOf(gateway())
    const response = await ask("bedrock", { stream })
    const text = stream
      ? (await readEvents(response)).flatMap(({ data }) => ("v" in data ? [data.v] : [])).join("")
      : (await replyOf(response)).blocks.map((block) => (block.t === "text" ? block.v : "")).join("")
    expect(text).toBe("Hello there")
    await eventually(async () => (await balanceOf(gateway())) < before)
    expect(Number(cost(await holdsOf(gateway())))).toBeCloseTo(0.006)
    const call = gateway().vendor.calls.at(-1)
    expect(call?.path).toBe(`/model/${encodeURIComponent(modelId)}/converse${stream ? "-stream" : ""}`)
    expect(call?.headers["authorization"]).toMatch(/^Bearer \S+$/)
    expect(JSON.stringify(call?.body)).not.toContain('"stream"')
  })

  it.each([
    ["ends before its metadata", (frames: ReadonlyArray<Uint8Array>) => frames.slice(0, -1), "upstream_disconnected"],
    [
      "has a frame that fails its checksum",
      (frames: ReadonlyArray<Uint8Array>) =>
        frames.map((frame, at) => (at === 2 ? frame.map((byte, i) => (i === 60 ? byte ^ 1 : byte)) : frame)),
      "upstream_error",
    ],
    [
      "has an exception in mid-stream",
      (frames: ReadonlyArray<Uint8Array>) => [
        ...frames.slice(0, 2),
        bedrockFrame("modelStreamErrorException", { message: "private detail" }, "exception"),
      ],
      "upstream_error",
    ],
  ])("that %s is an error, billed once for what came", async (_what, change, code) => {
    gateway().vendor.script(async (call) => {
      call.head(200, { "content-type": "application/vnd.amazon.eventstream" })
      for (const frame of change(bedrockFrames(answer))) await call.write(frame)
      call.end()
    })
    const before = (await holdsOf(gateway())).length
    const events = await readEvents(await ask("broken", { stream: true }))
    expect(events.at(-1)).toMatchObject({ event: "t.err", data: { code } })
    expect(JSON.stringify(events)).not.toContain("private detail")
    await eventually(async () => (await holdsOf(gateway())).length === before + 1)
    const usage = await lastUsage(gateway())
    expect(usage?.estimated_reason).toBeTruthy()
  })

  it("throttled before its first frame: another vendor answers, for one bill", async () => {
    gateway().vendor.script((call) => {
      call.head(429, { "content-type": "application/json", "x-amzn-errortype": "ThrottlingException" })
      call.end(JSON.stringify({ message: "Too many requests" }))
    })
    gateway().second.script(answering(answer))
    const before = (await holdsOf(gateway())).length
    expect((await replyOf(await ask("first-bedrock"))).blocks).toMatchObject([{ t: "text", v: "Hello there" }])
    await eventually(async () => (await holdsOf(gateway())).length === before + 1)
  })

  it("that refuses is an error without the vendor's words", async () => {
    gateway().vendor.script((call) => {
      call.head(400, { "content-type": "application/json" })
      call.end(JSON.stringify({ message: "the private reason" }))
    })
    const error = await errorOf(await ask("bedrock"))
    expect(error).toMatchObject({ code: "upstream_error", detail: { upstreamStatus: 400 } })
    expect(JSON.stringify(error)).not.toContain("private reason")
  })
})

describe("access keys", () => {
  it.each([true, false])("sign each request; streamed: %s", async (stream) => {
    const refusals: Array<string | undefined> = []
    const answer200 = answering(answer)
    gateway().vendor.script((call) => {
      refusals.push(refusalOf({ method: "POST", path: call.path, headers: call.headers, body: call.sent }, testAwsKeys))
      return answer200(call)
    })
    const replies = await Promise.all(Array.from({ length: 20 }, async () => (await ask("signed", { stream })).text()))
    for (const reply of replies) expect(reply).toContain("there")
    expect(refusals).toEqual(Array.from({ length: 20 }, () => undefined))
    expect(JSON.stringify(replies)).not.toContain(testAwsKeys.accessKeyId)
  })

  it.each([true, false])("sign Claude in its own words; streamed: %s", async (stream) => {
    gateway().vendor.script(answering(answer))
    const reply = await ask("claude-aws", { stream })
    expect(await reply.text()).toContain("there")
    const call = gateway().vendor.calls.at(-1)
    expect(call?.path).toBe(
      `/model/${encodeURIComponent(modelId)}/${stream ? "invoke-with-response-stream" : "invoke"}`,
    )
    expect(call?.body).toMatchObject({ anthropic_version: "bedrock-2023-05-31", max_tokens: 100 })
    expect([call?.body["model"], call?.body["stream"]]).toEqual([undefined, undefined])
    const { path = "", headers = {}, sent = "" } = call ?? {}
    expect(refusalOf({ method: "POST", path, headers, body: sent }, testAwsKeys)).toBeUndefined()
    await eventually(async () => Number(cost(await holdsOf(gateway()))) === 0.006)
  })

  it("that cannot be resolved: another vendor answers, and Bedrock is not called", async () => {
    gateway().second.script(answering(answer))
    const before = gateway().vendor.calls.length
    expect((await ask("keyless")).status).toBe(200)
    expect(gateway().vendor.calls.length).toBe(before)
  })

  it("that AWS refuses are an error without its words", async () => {
    gateway().vendor.script((call) => {
      call.head(403, { "content-type": "application/json", "x-amzn-errortype": "UnrecognizedClientException" })
      call.end(JSON.stringify({ message: `The token of ${testAwsKeys.accessKeyId} is invalid` }))
    })
    const error = await errorOf(await ask("signed"))
    expect(error).toMatchObject({ code: "upstream_error", detail: { upstreamStatus: 403 } })
    expect(JSON.stringify(error)).not.toContain(testAwsKeys.accessKeyId)
  })
})

describe("embeddings of Titan", () => {
  it("one call for each text, billed by the header", async () => {
    gateway().vendor.script((call) => {
      call.head(200, { "content-type": "application/json", "x-amzn-bedrock-input-token-count": "7" })
      call.end(JSON.stringify({ embedding: [0.5, 0.25], inputTextTokenCount: 7 }))
    })
    const before = gateway().vendor.calls.length
    const response = await gateway().call("POST", "/t1/embeddings", { model: "titan", input: ["a river", "a lake"] })
    expect(await response.json()).toMatchObject({
      vectors: [
        [0.5, 0.25],
        [0.5, 0.25],
      ],
      usage: { inTokens: 14 },
    })
    expect(
      gateway()
        .vendor.calls.slice(before)
        .map(({ body }) => body["inputText"]),
    ).toEqual(["a river", "a lake"])
  })
})
