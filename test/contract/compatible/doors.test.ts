/** The clients of clouds, unchanged, at the doors for them: `/azure`, `/vertex` and `/bedrock`. */
import { createHash, randomUUID } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { AnthropicBedrock } from "@anthropic-ai/bedrock-sdk"
import { AnthropicVertex } from "@anthropic-ai/vertex-sdk"
import {
  BedrockRuntimeClient,
  InvokeModelCommand,
  InvokeModelWithResponseStreamCommand,
} from "@aws-sdk/client-bedrock-runtime"
import { GoogleGenAI } from "@google/genai"
import { NodeHttpHandler } from "@smithy/node-http-handler"
import OpenAI, { AzureOpenAI, toFile } from "openai"
import { afterAll, describe, expect, it } from "vitest"
import { answerWhole } from "../../../src/development/simulated-kinds.ts"
import { answerMedia } from "../../../src/development/simulated-media.ts"
import { sign } from "../../../src/identity/signature.ts"
import { sha256 } from "../../../src/secrets.ts"
import { newTestIds, testCatalogue } from "../../../src/testing/gateway.ts"
import { answering } from "../../../src/testing/vendor-replies.ts"
import { useGateway } from "../../support/gateway.ts"
import { wavOf } from "../../support/media-samples.ts"
import { modelsAt, serving } from "./served.ts"
import { breaksOff, vendorBodyOf } from "./vendors.ts"

const ids = newTestIds()
const folder = mkdtempSync(join(tmpdir(), "weir-doors-"))
afterAll(() => rmSync(folder, { recursive: true }))
const gateway = useGateway({
  ids,
  config: { awsSignatures: true },
  catalogue: (urls) =>
    serving(testCatalogue(urls, ids, `files: { to: "file://${folder}" }\n`), {
      models: {
        ...modelsAt({ embed: "openai", "gemini-embed": "openai" }, "kind: embedding"),
        ...modelsAt({ draw: "openai" }, "kind: image"),
        ...modelsAt({ hear: "openai" }, "kind: transcription"),
      },
      price: (handle) =>
        ({ draw: `dims: { images: "1" }`, hear: `dims: { audio_seconds: "1" }` })[handle] ?? `input: "3", output: "15"`,
      org: `aliases: { "claude-sonnet-4-5@20250929": claude, "eu.anthropic.claude-*": claude, "arn:aws:bedrock:*": claude, "gpt-5 mini": main }`,
    }),
})
const plain = useGateway({ ids })
const credential = () => `${gateway().keyId}~${gateway().key}`
const apiVersion = "2025-04-01-preview"
const azure = (options: { readonly deployment?: string; readonly apiKey?: string } = {}) =>
  new AzureOpenAI({
    endpoint: `${gateway().baseUrl}/azure`,
    apiKey: credential(),
    apiVersion,
    maxRetries: 0,
    ...options,
  })
const answer = { words: ["Hello", " there"], inTokens: 10, outTokens: 2 }
const hello = [{ role: "user", content: "Hello" }] as const

describe("the client of Azure OpenAI", () => {
  it("chats, whole and streamed, with the deployment of its path", async () => {
    gateway().vendor.script(answering(answer))
    const whole = await azure().chat.completions.create({ model: "main", messages: [...hello] })
    expect([whole.model, whole.choices[0]?.message.content]).toEqual(["main", "Hello there"])
    const stream = await azure({ deployment: "main" }).chat.completions.create({
      model: "whatever-the-body-says",
      messages: [...hello],
      stream: true,
    })
    let text = ""
    for await (const { choices } of stream) text += choices[0]?.delta.content ?? ""
    expect(text).toBe("Hello there")
    expect(vendorBodyOf(gateway().vendor)).toContain(`"model":"upstream-main"`)
  })

  it("takes a token instead of a key", async () => {
    gateway().vendor.script(answering(answer))
    const client = new AzureOpenAI({
      endpoint: `${gateway().baseUrl}/azure`,
      azureADTokenProvider: async () => credential(),
      apiVersion,
    })
    const reply = await client.chat.completions.create({ model: "main", messages: [...hello] })
    expect(reply.choices[0]?.message.content).toBe("Hello there")
  })

  it("has embeddings, pictures and transcripts of deployments", async () => {
    gateway().vendor.script((call) => {
      call.head(200, { "content-type": "application/json" })
      call.end(JSON.stringify(answerWhole(call)))
    })
    const { data } = await azure().embeddings.create({ model: "embed", input: "a river" })
    expect(data[0]?.embedding.length).toBeGreaterThan(0)
    gateway().vendor.script((call) => {
      const media = answerMedia(call)
      call.head(200, { "content-type": "application/json" })
      call.end(JSON.stringify(media !== undefined && "json" in media ? media.json : {}))
    })
    expect((await azure().images.generate({ model: "draw", prompt: "a river" })).data).toHaveLength(1)
    const file = await toFile(wavOf(1), "a.wav")
    expect((await azure({ deployment: "hear" }).audio.transcriptions.create({ model: "x", file })).text).not.toBe("")
  })

  it("has what no deployment is named for: responses, models, files", async () => {
    gateway().vendor.script(answering(answer))
    const reply = await azure().responses.create({ model: "main", input: "Hello" })
    expect(reply.output_text).toBe("Hello there")
    expect((await azure().models.list()).data.map(({ id }) => id)).toContain("main")
    expect((await azure().files.list()).data).toEqual([])
  })

  it("with one deployment has it in the path of everything", async () => {
    const client = azure({ deployment: "main" })
    expect((await client.models.list()).data.map(({ id }) => id)).toContain("main")
    expect((await client.files.list()).data).toEqual([])
    await expect(client.batches.retrieve("batch_none")).rejects.toMatchObject({
      message: expect.stringMatching(/batch/i),
    })
  })

  it("has batches, whose endpoints have no version there", async () => {
    gateway().vendor.script(answering(answer))
    const url = "/chat/completions"
    const line = { custom_id: "a", method: "POST", url, body: { model: "main", messages: hello } }
    const file = await toFile(Buffer.from(JSON.stringify(line)), "lines.jsonl")
    const { id } = await azure().files.create({ file, purpose: "batch" })
    // The type of OpenAI's own API has versions alone.
    const asked = { input_file_id: id, endpoint: url, completion_window: "24h" }
    const made = await azure().post<OpenAI.Batch>("/batches", { body: asked })
    expect(made).toMatchObject({ endpoint: url, errors: null })
    const status = async () => (await azure().batches.retrieve(made.id)).status
    await expect.poll(status).toBe("completed")
  })

  it("signs the path that it sends", async () => {
    gateway().vendor.script(answering(answer))
    const target = "/azure/openai/v1/chat/completions"
    const body = JSON.stringify({ model: "main", messages: hello })
    const [ts, nonce] = [String(Math.floor(Date.now() / 1000)), randomUUID()]
    const signature = sign(sha256(gateway().key), { method: "POST", target, ts, nonce, body: Buffer.from(body) })
    const reply = await fetch(gateway().baseUrl + target, {
      method: "POST",
      headers: {
        "api-key": credential(),
        "content-type": "application/json",
        "x-svc-ts": ts,
        "x-svc-nonce": nonce,
        "x-svc-sign": signature,
      },
      body,
    })
    expect(reply.status).toBe(200)
  })

  it("of its version 1 is OpenAI's own", async () => {
    gateway().vendor.script(answering(answer))
    const client = new OpenAI({ baseURL: `${gateway().baseUrl}/azure/openai/v1/`, apiKey: credential() })
    const reply = await client.chat.completions.create({ model: "main", messages: [...hello] })
    expect(reply.choices[0]?.message.content).toBe("Hello there")
  })

  it.each([
    ["an unknown deployment", () => azure().chat.completions.create({ model: "nobody", messages: [...hello] }), 403],
    [
      "a wrong key",
      () => azure({ apiKey: "a~b" }).chat.completions.create({ model: "main", messages: [...hello] }),
      401,
    ],
    ["an escape that is no name", () => azure({ deployment: "%00" }).models.retrieve("main"), 200],
  ])("%s has OpenAI's errors", async (_what, call, status) => {
    const failure = await call().then(
      () => 200,
      (error: unknown) => (error instanceof OpenAI.APIError ? error.status : error),
    )
    expect(failure).toBe(status)
  })
})

describe("the client of Vertex AI", () => {
  const google = () =>
    new GoogleGenAI({
      vertexai: true,
      project: "any-project",
      location: "europe-west4",
      googleAuthOptions: { authClient: authClient() },
      httpOptions: { baseUrl: `${gateway().baseUrl}/vertex` },
    })

  it("generates, whole and streamed, and counts", async () => {
    gateway().vendor.script(answering(answer))
    expect((await google().models.generateContent({ model: "main", contents: "Hello" })).text).toBe("Hello there")
    let text = ""
    for await (const chunk of await google().models.generateContentStream({ model: "main", contents: "Hello" }))
      text += chunk.text ?? ""
    expect(text).toBe("Hello there")
    const { totalTokens } = await google().models.countTokens({ model: "main", contents: "Hello" })
    expect(totalTokens).toBeGreaterThan(0)
  })

  it("lists models, and tells of one", async () => {
    const names = []
    for await (const { name } of await google().models.list()) names.push(name)
    expect(names).toContain("models/main")
    expect(await google().models.get({ model: "main" })).toMatchObject({ displayName: "main" })
  })

  it("embeds texts, one and several, and draws", async () => {
    gateway().vendor.script((call) => {
      call.head(200, { "content-type": "application/json" })
      const media = call.path.includes("/images/") ? answerMedia(call) : undefined
      call.end(JSON.stringify(media !== undefined && "json" in media ? media.json : answerWhole(call)))
    })
    const { embeddings } = await google().models.embedContent({
      model: "embed",
      contents: ["a river", "a lake that is wide"],
      config: { taskType: "RETRIEVAL_QUERY", outputDimensionality: 32, autoTruncate: true },
    })
    expect(embeddings?.map(({ values }) => values?.length)).toEqual([32, 32])
    const counts = embeddings?.map(({ statistics }) => statistics?.tokenCount ?? 0) ?? []
    expect(counts.every((count) => count > 0)).toBe(true)
    expect(vendorBodyOf(gateway().vendor)).toContain(`"input":["a river","a lake that is wide"]`)
    const one = await google().models.embedContent({
      model: "gemini-embed",
      contents: "a river",
      config: { outputDimensionality: 32 },
    })
    expect(one.embeddings?.map(({ values }) => values?.length)).toEqual([32])
    const drawn = await google().models.generateImages({
      model: "draw",
      prompt: "a river",
      config: { numberOfImages: 1 },
    })
    expect(drawn.generatedImages).toHaveLength(1)
    await expect(
      google().models.embedContent({ model: "embed", contents: ["a"], config: { title: "A" } }),
    ).rejects.toMatchObject({ status: 400, message: expect.stringContaining("title") })
  })

  it("embeds many texts at once", async () => {
    gateway().vendor.script((call) => {
      call.head(200, { "content-type": "application/json" })
      call.end(JSON.stringify(answerWhole(call)))
    })
    const contents = Array.from({ length: 2000 }, (_, at) => `a river of ${at} "prompt" ${"long ".repeat(50)}`)
    const { embeddings } = await google().models.embedContent({ model: "embed", contents })
    expect(embeddings).toHaveLength(2000)
  })

  it("with an API key has the short paths", async () => {
    gateway().vendor.script(answering(answer))
    const client = new GoogleGenAI({
      vertexai: true,
      apiKey: credential(),
      httpOptions: { baseUrl: `${gateway().baseUrl}/vertex` },
    })
    expect((await client.models.generateContent({ model: "main", contents: "Hello" })).text).toBe("Hello there")
  })
})

/** Google's credentials of a client, which are a key of the gateway. Each SDK has a version of Google's library, and asks for headers. */
const authClient = () =>
  Object.assign(Object.create(null), {
    getRequestHeaders: async () => new Headers({ authorization: `Bearer ${credential()}` }),
  })

describe("Anthropic's client of Vertex AI", () => {
  const anthropic = (version = "/v1") =>
    new AnthropicVertex({
      region: "europe-west1",
      projectId: "any-project",
      baseURL: `${gateway().baseUrl}/vertex${version}`,
      authClient: authClient(),
      maxRetries: 0,
    })
  const asked = { max_tokens: 100, messages: [{ role: "user", content: "Hello" }] } as const
  const request = (model: string) => ({ ...asked, model, messages: [...asked.messages] })

  it.each([
    ["main", "translated"],
    ["claude", "carried"],
    ["claude-sonnet-4-5@20250929", "named as the vendor names it"],
  ])("%s answers, whole and streamed: %s", async (model) => {
    gateway().vendor.script(answering(answer))
    const whole = await anthropic().messages.create(request(model))
    expect(whole.content).toMatchObject([{ type: "text", text: "Hello there" }])
    const sent = vendorBodyOf(gateway().vendor)
    expect(sent).not.toContain("anthropic_version")
    let text = ""
    for await (const event of anthropic().messages.stream(request(model))) {
      if (event.type === "content_block_delta" && event.delta.type === "text_delta") text += event.delta.text
    }
    expect(text).toBe("Hello there")
    expect(vendorBodyOf(gateway().vendor)).toContain(`"stream":true`)
  })

  // Like Claude Code: BerriAI/litellm#39625
  it("needs no version in its base", async () => {
    gateway().vendor.script(answering(answer))
    expect((await anthropic("").messages.create(request("claude"))).content).toHaveLength(1)
    const { input_tokens } = await anthropic("").messages.countTokens({ model: "claude", messages: [...hello] })
    expect(input_tokens).toBeGreaterThan(0)
  })

  it("counts tokens, and refuses like Anthropic", async () => {
    const { input_tokens } = await anthropic().messages.countTokens({ model: "claude", messages: [...hello] })
    expect(input_tokens).toBeGreaterThan(0)
    await expect(anthropic().messages.create({ ...request("claude"), max_tokens: -1 })).rejects.toMatchObject({
      status: 400,
      error: { error: { type: "invalid_request_error" } },
    })
  })
})

describe("Anthropic's client of Amazon Bedrock", () => {
  const bedrock = (apiKey = credential()) =>
    new AnthropicBedrock({ apiKey, awsRegion: "eu-west-1", baseURL: `${gateway().baseUrl}/bedrock`, maxRetries: 0 })
  const request = (model: string) => ({ model, max_tokens: 100, messages: [...hello] })

  it.each([
    ["main", "translated"],
    ["claude", "carried"],
    ["eu.anthropic.claude-sonnet-4-5-20250929-v1:0", "named as the vendor names it"],
  ])("%s answers, whole and streamed: %s", async (model) => {
    gateway().vendor.script(answering(answer))
    const whole = await bedrock().messages.create(request(model))
    expect(whole.content).toMatchObject([{ type: "text", text: "Hello there" }])
    expect(vendorBodyOf(gateway().vendor)).not.toMatch(/anthropic_version|"stream":true/)
    let text = ""
    const stream = bedrock().messages.stream(request(model))
    for await (const event of stream) {
      if (event.type === "content_block_delta" && event.delta.type === "text_delta") text += event.delta.text
    }
    expect(text).toBe("Hello there")
    expect((await stream.finalMessage()).usage).toMatchObject({ input_tokens: 10, output_tokens: 2 })
    expect(vendorBodyOf(gateway().vendor)).toContain(`"stream":true`)
  })

  const signing = (secret: string, more: { readonly fetch?: typeof fetch; readonly base?: string } = {}) =>
    new AnthropicBedrock({
      awsAccessKey: gateway().keyId,
      awsSecretKey: createHash("sha256").update(secret).digest("hex"),
      awsRegion: "eu-west-1",
      baseURL: `${more.base ?? gateway().baseUrl}/bedrock`,
      maxRetries: 0,
      ...more,
    })

  it("signs with AWS's keys, of which the gateway knows the secret's hash only", async () => {
    gateway().vendor.script(answering(answer))
    const model = "eu.anthropic.claude-sonnet-4-5-20250929-v1:0"
    expect((await signing(gateway().key).messages.create(request(model))).content).toHaveLength(1)
    expect(await signing(gateway().key).messages.stream(request(model)).finalText()).toBe("Hello there")
    // The empty text: no key has it, not even one without a former secret.
    for (const secret of ["wrong", ""]) {
      await expect(signing(secret).messages.create(request(model))).rejects.toMatchObject({ status: 401 })
    }
    const isOff = signing(gateway().key, { base: plain().baseUrl }).messages.create(request(model))
    await expect(isOff).rejects.toMatchObject({ status: 401 })
    const forging: typeof fetch = (url, init) =>
      fetch(url, { ...init, body: String(init?.body).replace("Hello", "Hullo") })
    const forged = signing(gateway().key, { fetch: forging }).messages.create(request(model))
    await expect(forged).rejects.toMatchObject({ status: 401 })
  })

  it("of AWS itself invokes a model, signed", async () => {
    gateway().vendor.script(answering(answer))
    const client = new BedrockRuntimeClient({
      region: "eu-west-1",
      endpoint: `${gateway().baseUrl}/bedrock`,
      credentials: {
        accessKeyId: gateway().keyId,
        secretAccessKey: createHash("sha256").update(gateway().key).digest("hex"),
      },
      maxAttempts: 1,
      // Its own default is HTTP/2, which this gateway has over TLS only.
      requestHandler: new NodeHttpHandler(),
    })
    const body = JSON.stringify({ anthropic_version: "bedrock-2023-05-31", max_tokens: 10, messages: hello })
    const whole = await client.send(new InvokeModelCommand({ modelId: "eu.anthropic.claude-1:0", body }))
    expect(JSON.parse(whole.body.transformToString()).content).toMatchObject([{ text: "Hello there" }])
    const stream = await client.send(
      new InvokeModelWithResponseStreamCommand({
        modelId: "arn:aws:bedrock:eu-west-1:1:inference-profile/eu.anthropic.claude-1:0",
        body,
      }),
    )
    const events: Array<string> = []
    for await (const { chunk } of stream.body ?? [])
      events.push(JSON.parse(Buffer.from(chunk?.bytes ?? []).toString()).type)
    expect(events.at(-1)).toBe("message_stop")
    const unknown = client.send(new InvokeModelCommand({ modelId: "nobody", body }))
    await expect(unknown).rejects.toMatchObject({ name: "AccessDeniedException" })
  })

  it("asks Anthropic for the features that its body names", async () => {
    gateway().vendor.script(answering(answer))
    await bedrock().beta.messages.create({ ...request("claude"), betas: ["context-management-2025-06-27"] })
    const { headers } = gateway().vendor.calls.at(-1) ?? {}
    expect(headers?.["anthropic-beta"]).toContain("context-management-2025-06-27")
    expect(vendorBodyOf(gateway().vendor)).not.toContain("anthropic_beta")
  })

  it("gets a stream's failure as an exception, and refusals with their types", async () => {
    gateway().vendor.script(breaksOff)
    const broken = async () => {
      for await (const _ of bedrock().messages.stream(request("main")));
    }
    await expect(broken()).rejects.toThrow(/disconnected|connection|ended/i)
    const refused = await fetch(`${gateway().baseUrl}/bedrock/model/main/invoke`, {
      method: "POST",
      headers: { authorization: `Bearer ${credential()}`, "content-type": "application/json" },
      body: JSON.stringify({ anthropic_version: "bedrock-2023-05-31", max_tokens: -1, messages: hello }),
    })
    expect([refused.status, refused.headers.get("x-amzn-errortype")]).toEqual([400, "ValidationException"])
    expect(await refused.json()).toMatchObject({ message: expect.stringContaining("max_tokens") })
    await expect(bedrock("a~b").messages.create(request("main"))).rejects.toMatchObject({ status: 401 })
  })

  it("keeps a large prompt whole", async () => {
    gateway().vendor.script(answering(answer))
    const content = "A river. ".repeat(60_000)
    await bedrock().messages.create({ ...request("claude"), messages: [{ role: "user", content }] })
    expect(vendorBodyOf(gateway().vendor)).toContain(content)
  })
})

it.each([
  ["POST", "/azure/openai/deployments/main/nothing"],
  ["GET", "/azure/openai/deployments/main/chat/completions"],
  ["POST", "/azure/openai/deployments/%ff/chat/completions"],
  ["POST", "/azure/chat/completions"],
  ["POST", "/vertex/v1/projects/p/locations/l/publishers/meta/models/llama:rawPredict"],
  ["POST", "/vertex/v1/projects/p/locations/l/publishers/anthropic/models/claude:predict"],
  ["POST", "/bedrock/messages"],
  ["POST", "/bedrock/model/main/converse/x"],
  ["POST", "/vertex/v1/projects/p/../l/publishers/google/models/main:generateContent"],
])("%s %s is no route", async (method, path) => {
  const reply = await fetch(gateway().baseUrl + path, {
    method,
    headers: { "api-key": credential(), "content-type": "application/json" },
    ...(method === "POST" && { body: "{}" }),
  })
  expect(reply.status).toBe(404)
  const told = { message: expect.any(String) }
  expect(await reply.json()).toMatchObject(path.startsWith("/bedrock") ? told : { error: told })
})
