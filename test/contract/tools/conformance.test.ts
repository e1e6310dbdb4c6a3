/** The conformance suite of the Model Context Protocol against the endpoint, with a server behind it that has everything. */
import { spawn } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, expect, it } from "vitest"
import { newTestIds, testCatalogue, testKey } from "../../../src/testing/gateway.ts"
import { startFront } from "../../support/credential-front.ts"
import { useGateway } from "../../support/gateway.ts"
import { referenceDefinitions, referenceMethods, referenceTools } from "../../support/reference-tools.ts"
import { startToolServer } from "../../support/tool-server.ts"

const results = mkdtempSync(join(tmpdir(), "weir-conformance-"))
afterAll(() => rmSync(results, { recursive: true, force: true }))
let announce = (_method: string): void => {}
const server = await startToolServer({
  isStateless: "both",
  tools: referenceTools((method) => announce(method)),
  definitions: referenceDefinitions,
  methods: referenceMethods,
})
announce = server.announce
afterAll(() => server.stop())

const ids = newTestIds()
const gateway = useGateway({
  ids,
  catalogue: (urls) =>
    testCatalogue(urls, ids, `toolServers: [{ id: reference, url: "${server.url}" }]\n`).replace(
      "unpriced] }",
      "unpriced], tools: [reference] }",
    ),
})

const suite = fileURLToPath(
  new URL("../../../node_modules/@modelcontextprotocol/conformance/dist/index.js", import.meta.url),
)
const expected = fileURLToPath(new URL("expected-failures.yaml", import.meta.url))

it("passes every scenario, but those of an extension", async () => {
  const front = await startFront(`${gateway().baseUrl}/mcp/reference`, `${ids.key}~${testKey}`)
  const child = spawn(
    process.execPath,
    [suite, "server", "--url", front.url, "--suite", "all", "--expected-failures", expected, "-o", results],
    { stdio: ["ignore", "pipe", "pipe"] },
  )
  let output = ""
  child.stdout.on("data", (chunk) => (output += String(chunk)))
  child.stderr.on("data", (chunk) => (output += String(chunk)))
  const code = await new Promise((resolve) => child.once("exit", resolve))
  front.stop()
  const summary = output.slice(output.indexOf("=== SUMMARY ==="))
  expect(code, summary).toBe(0)
  expect(summary).toContain("server-stateless: ")
}, 180_000)
