/** `@weir-gateway/client`, bundled as an application would, in a real browser, from a page of another origin. */
import { createServer } from "node:http"
import { fileURLToPath } from "node:url"
import { build } from "vite"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { connect } from "../../src/client/index.ts"
import { answering, openaiChunk } from "../../src/testing/index.ts"
import { portOf } from "../../src/testing/port.ts"
import { eventually, useGateway } from "../support/gateway.ts"
import { useChromium } from "./chromium.ts"

const answer = { words: ["Hello", " ", "river"], inTokens: 1000, outTokens: 200 }

/** The page's origin serves nothing but the page and the client. */
let bundle = ""
const site = createServer((request, response) => {
  const isScript = request.url === "/client.js"
  response.setHeader("content-type", isScript ? "text/javascript" : "text/html")
  response.end(
    isScript ? bundle : `<script type="module">import * as client from "/client.js"; globalThis.weir = client</script>`,
  )
})
const originOf = () => {
  return `http://127.0.0.1:${portOf(site)}`
}
await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve))
afterAll(() => site.close())
beforeAll(async () => {
  const built = await build({
    configFile: false,
    logLevel: "error",
    build: {
      write: false,
      lib: { entry: fileURLToPath(new URL("../../src/client/index.ts", import.meta.url)), formats: ["es"] },
    },
  })
  const [first] = Array.isArray(built) ? built : [built]
  if (first === undefined || !("output" in first)) throw new Error("nothing was built")
  bundle = first.output[0].code
})

const gateway = useGateway({ script: answering(answer), config: { corsOrigins: [originOf()] } })
const { newPage } = useChromium()
const open = async () => {
  const page = await newPage({ javaScriptEnabled: true })
  await page.goto(originOf())
  await page.waitForFunction(() => "weir" in globalThis)
  const { baseUrl, keyId, key } = gateway()
  const { token } = await connect({ baseUrl, credentials: { keyId, key } }).mintAppToken({ endUserId: "ada" })
  // The function runs inside the page, where the client's types are not known.
  return {
    page,
    run: (script: string) =>
      page.evaluate(`(async () => {
        const weir = globalThis.weir.connect({ baseUrl: "${baseUrl}", credentials: { appToken: "${token}" }, retry: { firstMs: 5 } })
        const ask = { model: "main", thread: [{ role: "user", blocks: [{ t: "text", v: "Hello, river" }] }] }
        ${script}
      })()`),
  }
}

describe("the client in Chromium", () => {
  it("answers, whole and streamed", async () => {
    const { run } = await open()
    expect(await run(`return (await weir.exchange(ask)).blocks[0].v`)).toBe("Hello river")
    expect(
      await run(`const seen = []; for await (const { event } of weir.stream(ask)) seen.push(event); return seen`),
    ).toEqual(expect.arrayContaining(["t.open", "t.delta", "t.usage", "t.close"]))
    expect(await run(`let text = ""; for await (const piece of weir.text(ask)) text += piece; return text`)).toBe(
      "Hello river",
    )
  })

  it("has typed refusals, with the headers that they come with", async () => {
    const { run } = await open()
    const refused = `weir.exchange({ ...ask, model: "nothing" }).catch((e) => ({ tag: e._tag, code: e.code, advice: e.advice }))`
    expect(await run(`return await ${refused}`)).toEqual({
      tag: "WeirRefused",
      code: "model_not_authorized",
      advice: "ask_permission",
    })
  })

  it("signs with the browser's own cryptography", async () => {
    const { page } = await open()
    const { baseUrl, keyId, key } = gateway()
    const stop =
      await page.evaluate(`globalThis.weir.connect({ baseUrl: "${baseUrl}", credentials: { keyId: "${keyId}", key: "${key}", sign: true } })
      .exchange({ model: "main", thread: [{ role: "user", blocks: [{ t: "text", v: "Hi" }] }] }).then(({ stop }) => stop)`)
    expect(stop).toBe("end")
  })

  it("ends at the vendor when the signal says so", async () => {
    gateway().vendor.script(async (call) => {
      call.head()
      while (await call.write(openaiChunk("endless "))) await new Promise((resolve) => setTimeout(resolve, 5))
    })
    const { run } = await open()
    const seen = await run(`const controller = new AbortController(); let seen = 0
      try { for await (const { event } of weir.stream(ask, { signal: controller.signal })) if (event === "t.delta" && ++seen === 3) controller.abort() }
      catch (error) { return error.name } return "no error"`)
    expect(seen).toBe("AbortError")
    await eventually(() => gateway().vendor.calls.at(-1)?.hungUpAt !== undefined)
    gateway().vendor.script(answering(answer))
  })

  it("keeps a session, and its configuration", async () => {
    const { run } = await open()
    expect(
      await run(`const session = weir.session({ heartbeatMs: 20 }); await session.exchange(ask); const id = await session.id()
        const known = (await session.config()).configVersion.length; await session.close(); return [id.length, known]`),
    ).toEqual([26, 32])
  })
})
