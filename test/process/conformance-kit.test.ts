/** `weir conformance` and `weir chat`, against a gateway that implements the contract and servers that do not. */
import { createServer, type Server } from "node:http"
import { afterEach, describe, expect, it } from "vitest"
import { groups } from "../../src/conformance/checks.ts"
import { portOf } from "../../src/testing/port.ts"
import { useCommands } from "../support/use-commands.ts"
import { useProcesses } from "../support/use-processes.ts"

const { serve, run } = useCommands()
const { weir } = useProcesses()
let server: Server | undefined
afterEach(() => {
  server?.closeAllConnections()
  server?.close()
})

const answeringEverything = (body: string, status = 200) =>
  new Promise<string>((resolve) => {
    const started = createServer((request, response) => {
      request.resume()
      response.writeHead(status, { "content-type": "application/json", "x-svc-request-id": "req_same" }).end(body)
    }).listen(0, "127.0.0.1", () => resolve(`http://127.0.0.1:${portOf(started)}`))
    server = started
  })

const checks = groups.flatMap((group) => group.checks).length

describe("weir conformance", () => {
  it("passes every check", async () => {
    const { ready } = await serve()
    const { exit, output } = weir(["conformance", ready.baseUrl, "--key-id", ready.keyId, "--key", ready.key])
    expect(await exit, output.text).toBe(0)
    expect(output.text).toContain(`${checks} passed, 0 failed, 0 skipped`)
  }, 90_000)

  it.each([
    ["a server that says yes to everything", "{}", 200],
    [
      "a server that has one error for everything",
      `{"error":{"code":"not_found","message":"no","requestId":"req_same"}}`,
      404,
    ],
  ])("fails %s", async (_, body, status) => {
    const url = await answeringEverything(body, status)
    const { code, text } = await run(["conformance", url, "--key-id", "a", "--key", "b", "--json"])
    expect(code).toBe(1)
    const failed = Number(/(\d+) of \d+ checks failed/.exec(text)?.[1])
    // Checks that expect this answer pass; all others fail.
    expect(failed).toBeGreaterThanOrEqual(checks - 3)
  })

  it("reports missing options and unreachable gateways in a line", async () => {
    const nobody = await run(["conformance", "http://127.0.0.1:9", "--key-id", "a", "--key", "b"])
    expect(nobody).toMatchObject({ code: 1, text: expect.stringContaining("no answer") })
    const keyless = await run(["conformance", "http://127.0.0.1:9"])
    expect(keyless).toMatchObject({ code: 1, text: expect.stringContaining("SVC_KEY_ID") })
  })
})

describe("weir chat", () => {
  it("answers a question, and a conversation that is piped in", async () => {
    const { ready } = await serve()
    const env = { SVC_BASE_URL: ready.baseUrl, SVC_KEY_ID: ready.keyId, SVC_KEY: ready.key }
    const once = weir(["chat", "What", "is", "a", "weir?"], env)
    expect(await once.exit, once.output.text).toBe(0)
    expect(once.output.text).toMatch(/\d+ in, \d+ out, [\d.]+ USD; [\d.]+ left/)
    const piped = weir(["chat"], env)
    piped.child.stdin?.end("First question\n\nSecond question\n")
    expect(await piped.exit, piped.output.text).toBe(0)
    expect(piped.output.text.match(/ left/g)).toHaveLength(2)
    const refused = await run(["chat", "--model", "nothing", "Hi"], env)
    expect(refused.code).toBe(1)
    expect(refused.text).toMatch(/^\n?model_not_authorized: .* \(req_/)
  })
})
