/**
 * No secret leaves: everything that a gateway logs, traces, measures, answers, refuses, compares or documents is searched for
 * the value of every credential that it used.
 */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { gunzipSync } from "node:zlib"
import { Effect, Redacted } from "effect"
import { afterAll, beforeAll, expect, it } from "vitest"
import { answering, hello, newTestIds, testAwsKeys, testCatalogue } from "../../../src/testing/index.ts"
import { portOf } from "../../../src/testing/port.ts"
import { eventually, useGateway } from "../../support/gateway.ts"
import { startTokenEndpoint, type TokenEndpoint } from "../../support/google-token-endpoint.ts"
import { issuerAuthority, startEntra } from "../../support/issuer.ts"

const heard: Array<string> = []
const collector = createServer(async (request, response) => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(chunk)
  const raw = Buffer.concat(chunks)
  heard.push((request.headers["content-encoding"] === "gzip" ? gunzipSync(raw) : raw).toString("utf8"))
  response.writeHead(200, { "content-type": "application/json" }).end("{}")
})
let google: TokenEndpoint
let entra: Awaited<ReturnType<typeof startEntra>>
const folder = mkdtempSync(join(tmpdir(), "weir-secrets-"))
const file = join(folder, "account.json")
beforeAll(async () => {
  await new Promise<void>((resolve) => void collector.listen(0, "127.0.0.1", resolve))
  google = await startTokenEndpoint()
  entra = await startEntra(testAwsKeys.secretAccessKey)
  writeFileSync(file, google.account)
})
afterAll(() => {
  collector.closeAllConnections()
  collector.close()
  google.stop()
  entra.stop()
  rmSync(folder, { recursive: true, force: true })
})

const ids = newTestIds()
const masterKey = "the-master-key-of-these-tests"
const own = { accessKeyId: "AKIDOWN", secretAccessKey: "own-aws-secret-0123", sessionToken: "own-session-0123" }
const names = ["nova", "vertex", "azure", "unknown"]
const catalogue = (urls: { readonly vendor: string; readonly second: string }) =>
  testCatalogue(urls, ids)
    .replace(
      "vendors:\n",
      `vendors:
  - { id: aws, dialect: bedrock, baseUrl: "${urls.vendor}", aws: { region: us-east-1, accessKeyId: "env:WEIR_TEST_AWS_ID", secretAccessKey: "env:WEIR_TEST_AWS_SECRET" } }
  - { id: gcp, dialect: gemini, profile: vertex, baseUrl: "${urls.vendor}", google: { project: p, location: global, credentials: "file:${file}" } }
  - { id: az, dialect: openai-chat, profile: azure, baseUrl: "${urls.vendor}", azure: { tenantId: t, clientId: c, clientSecret: "env:WEIR_TEST_AWS_SECRET", authorityHost: "${entra.url}" }, tls: { ca: ${JSON.stringify(issuerAuthority)} } }
  - { id: unknown, dialect: openai-chat, profile: azure, baseUrl: "${urls.vendor}", azure: { tenantId: t, clientId: u, clientSecret: "env:WEIR_TEST_VENDOR", authorityHost: "${entra.url}" }, tls: { ca: ${JSON.stringify(issuerAuthority)} } }
`,
    )
    .replace(
      "models:\n",
      `models:\n${[
        ["nova", "aws"],
        ["vertex", "gcp"],
        ["azure", "az"],
        ["unknown", "unknown"],
      ]
        .map(
          ([handle, vendor]) =>
            `  - { handle: ${handle}, maxOutput: 100, targets: [{ vendor: ${vendor}, model: m }] }\n`,
        )
        .join("")}`,
    )
    .replace(
      "prices:\n",
      `prices:\n${names.map((each) => `  - { model: ${each}, currency: USD, input: "3", output: "15", from: 2026-01-01 }\n`).join("")}`,
    )
    .replace("models: [main,", `models: [${names.join(", ")}, main,`)

const gateway = useGateway(() => ({
  ids,
  catalogue,
  config: {
    otlpUrl: `http://127.0.0.1:${portOf(collector)}`,
    traceRate: 1,
    logLevel: "Warn",
    masterKey: Redacted.make(masterKey),
  },
}))

const admin = async (method: string, path: string, body?: unknown) =>
  heard.push(
    await (
      await fetch(`${gateway().baseUrl}/v1/admin/${path}`, {
        method,
        headers: { "content-type": "application/json", "x-svc-admin-key": gateway().adminKey },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
    ).text(),
  )
const ask = async (model: string, headers: Record<string, string> = {}) =>
  heard.push(await (await gateway().call("POST", "/t1/exchange", { ...hello, model }, headers)).text())

it("leaves in no log, trace, metric, answer, error, difference or document", async () => {
  const { vendor, baseUrl, adminKey } = gateway()
  const models = ["main", "claude", "gemini", "responses", ...names]
  vendor.script(answering({ words: ["Hello"], inTokens: 10, outTokens: 2 }))
  for (const model of models) await ask(model)
  // Vendors that repeat what they were sent, in every way in which they can fail.
  for (const status of [400, 401, 403, 429, 500]) {
    vendor.script((call) => {
      call.head(status, { "content-type": "application/json" })
      call.end(JSON.stringify({ error: { message: JSON.stringify(call.headers), code: "x" }, echo: call.headers }))
    })
    for (const model of models) await ask(model)
  }
  vendor.script((call) => call.reset())
  for (const model of models) await ask(model)
  await ask("main", { "x-svc-key": "wrong" })
  entra.answer = ({ form }) => ({
    status: 401,
    body: { error: "invalid_client", error_description: JSON.stringify(form) },
  })
  google.answers.status = 400
  for (const each of ["openai", "aws", "gcp", "az", "unknown"]) await admin("POST", `vendors/${each}/test`, {})
  await admin("PUT", `orgs/${ids.org}/upstream-keys/aws`, { aws: own })
  await admin("PUT", `orgs/${ids.org}/upstream-keys/openai`, { key: "sk-own-key-0123" })
  await ask("main")
  await ask("nova")
  const text = catalogue({ vendor: vendor.url, second: gateway().second.url })
  await admin("POST", "catalogue?dryRun=true", { text: text.replaceAll("env:WEIR_TEST_VENDOR", "env:WEIR_TEST_OTHER") })
  await admin("POST", "catalogue?dryRun=true", { text: text.replace("region: us-east-1", "region: nowhere") })
  for (const path of ["doctor", "audit", "exchanges", "vendors", "catalogue", `orgs/${ids.org}/upstream-keys`]) {
    await admin("GET", path)
  }
  for (const path of ["/readyz", "/metrics", "/openapi.json", "/console/"]) {
    heard.push(await (await fetch(`${baseUrl}${path}`)).text())
  }
  const { private_key } = JSON.parse(google.account)
  const secrets: Readonly<Record<string, string>> = {
    "the vendors' key": "vendor-credential",
    "the secret access key, and Entra's": testAwsKeys.secretAccessKey,
    "the service account's key": String(private_key).split("\n")[3] ?? "",
    "Google's token": google.issued[0] ?? "",
    "Entra's token": "entra-1",
    "the application's key": gateway().key,
    "the admin key": adminKey,
    "the master key": masterKey,
    "an organisation's secret access key": own.secretAccessKey,
    "an organisation's session": own.sessionToken,
    "an organisation's key": "sk-own-key-0123",
  }
  await eventually(
    () => heard.some((text) => text.includes("resourceSpans")) && heard.some((text) => text.includes("resourceLogs")),
  )
  await Effect.runPromise(Effect.sleep("3 seconds"))
  const all = heard.join("\n")
  // A leak would be noticed: values that the gateway knows and may show are there.
  for (const known of [ids.org, "upstream_error", "Entra does not accept"]) {
    expect(all.includes(known), known).toBe(true)
  }
  for (const [what, secret] of Object.entries(secrets)) {
    expect(secret.length, what).toBeGreaterThan(6)
    expect(all.includes(secret), what).toBe(false)
    expect(all.includes(Buffer.from(secret).toString("base64").slice(0, -2)), `${what} in base64`).toBe(false)
  }
}, 120_000)
