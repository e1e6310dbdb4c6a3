/** Identities at clouds through the gateway: organisations' own, what is wrong with one, rotation, and that no secret leaves. */
import { generateKeyPairSync } from "node:crypto"
import { createServer } from "node:net"
import { Redacted } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { answering, hello, newTestIds, testAwsKeys, testCatalogue } from "../../src/testing/index.ts"
import { portOf } from "../../src/testing/port.ts"
import { errorOf, eventually, replyOf, useGateway } from "../support/gateway.ts"
import { startTokenEndpoint, type TokenEndpoint } from "../support/google-token-endpoint.ts"
import { issuerAuthority, startEntra } from "../support/issuer.ts"
import { refusalOf } from "../support/sigv4.ts"

const ids = newTestIds()
const answer = { words: ["Hello", " there"], inTokens: 1000, outTokens: 200 }
let google: TokenEndpoint
let entra: Awaited<ReturnType<typeof startEntra>>
beforeAll(async () => {
  google = await startTokenEndpoint()
  entra = await startEntra("own-azure-secret")
  process.env["WEIR_TEST_GOOGLE"] = google.account
})
afterAll(() => {
  google.stop()
  entra.stop()
  delete process.env["WEIR_TEST_GOOGLE"]
})

const file = "file:/nowhere/account.json"
const model = (handle: string, vendor: string, name: string) =>
  `  - { handle: ${handle}, maxOutput: 100, targets: [{ vendor: ${vendor}, model: "${name}" }] }\n`
const names = ["nova", "vertex", "azure", "broken"]
let resolved: ReadonlyArray<string> = []
const gateway = useGateway(() => ({
  ids,
  resolveHost: () => Promise.resolve(resolved),
  config: { masterKey: Redacted.make("the master key of these tests"), egressAllow: ["127.0.0.0/8"] },
  catalogue: (urls) =>
    testCatalogue(urls, ids)
      .replace(
        "vendors:\n",
        `vendors:
  - { id: aws, dialect: bedrock, baseUrl: "${urls.vendor}", aws: { region: us-east-1, accessKeyId: "env:WEIR_TEST_AWS_ID", secretAccessKey: "env:WEIR_TEST_AWS_SECRET" } }
  - { id: gcp, dialect: gemini, profile: vertex, baseUrl: "${urls.vendor}", google: { project: p, location: global, credentials: "${file}" } }
  - { id: az, dialect: openai-chat, profile: azure, baseUrl: "${urls.vendor}", azure: { tenantId: t, clientId: c, clientSecret: "env:WEIR_TEST_VENDOR", authorityHost: "${entra.url}" }, tls: { ca: ${JSON.stringify(issuerAuthority)} } }
`,
      )
      .replace(
        "models:\n",
        `models:\n${model("nova", "aws", "amazon.nova-pro-v1:0")}${model("vertex", "gcp", "gemini-3-test")}${model("azure", "az", "deployed")}${model("broken", "gcp", "gemini-3-test").replace("targets: [{", "targets: [{ vendor: second, model: s, tier: 2 }, {")}`,
      )
      .replace(
        "prices:\n",
        `prices:\n${names.map((each) => `  - { model: ${each}, currency: USD, input: "3", output: "15", from: 2026-01-01 }\n`).join("")}`,
      )
      .replace("models: [main,", `models: [${names.join(", ")}, main,`),
}))

const admin = (method: string, path: string, body?: unknown) =>
  fetch(`${gateway().baseUrl}/v1/admin/${path}`, {
    method,
    headers: { "content-type": "application/json", "x-svc-admin-key": gateway().adminKey },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
const setOwn = (vendor: string, body: object) => admin("PUT", `orgs/${ids.org}/upstream-keys/${vendor}`, body)
const removeOwn = (vendor: string) => admin("DELETE", `orgs/${ids.org}/upstream-keys/${vendor}`)
const ask = (handle: string) => gateway().exchange({ ...hello, model: handle })
const lastCall = () => gateway().vendor.calls.at(-1)

describe("an organisation's own identity", () => {
  it("at AWS signs its calls, and is free of charge", async () => {
    gateway().vendor.script(answering(answer))
    const own = { accessKeyId: "AKIDTENANT", secretAccessKey: "own-aws-secret", sessionToken: "own-aws-session" }
    const kept = await setOwn("aws", { aws: own })
    expect(await kept.json()).toMatchObject({ keys: [{ vendor: "aws", hint: "NANT" }] })
    await eventually(async () => {
      await ask("nova")
      return lastCall()?.headers["x-amz-security-token"] === "own-aws-session"
    })
    const { usage } = await replyOf(await ask("nova"))
    expect(usage.cost).toBe("0")
    const call = lastCall()
    const received = { method: "POST", path: call?.path ?? "", headers: call?.headers ?? {}, body: call?.sent ?? "" }
    expect(refusalOf(received, own)).toBeUndefined()
    await removeOwn("aws")
    await eventually(async () => {
      await ask("nova")
      return lastCall()?.headers["x-amz-security-token"] === undefined
    })
    const again = lastCall()
    expect(
      refusalOf(
        { method: "POST", path: again?.path ?? "", headers: again?.headers ?? {}, body: again?.sent ?? "" },
        testAwsKeys,
      ),
    ).toBeUndefined()
  })

  it("at Azure signs in where the operator says, with the certificates of the vendor", async () => {
    gateway().vendor.script(answering(answer))
    const own = { tenantId: "tenant", clientId: "own-client", clientSecret: "own-azure-secret" }
    expect((await setOwn("az", { azure: own })).status).toBe(200)
    const { usage } = await replyOf(await ask("azure"))
    expect(usage.cost).toBe("0")
    expect(lastCall()?.headers["authorization"]).toMatch(/^Bearer entra-/)
    await removeOwn("az")
  })

  it.each([
    ["at AWS, for a vendor elsewhere", "gcp", { aws: { accessKeyId: "a", secretAccessKey: "b" } }, "aws"],
    ["at Google, for a vendor elsewhere", "aws", { google: { credentials: "{}" } }, "google"],
    [
      "at Azure, for a vendor elsewhere",
      "openai",
      { azure: { tenantId: "t", clientId: "c", clientSecret: "s" } },
      "azure",
    ],
    ["two at once", "aws", { key: "k", aws: { accessKeyId: "a", secretAccessKey: "b" } }, "key"],
    ["none", "aws", {}, "key"],
    ["keys with a line break", "aws", { aws: { accessKeyId: "a\n", secretAccessKey: "b" } }, "aws.accessKeyId"],
    [
      "a credential source, which would read files",
      "gcp",
      { google: { credentials: externalAccount() } },
      "google.credentials",
    ],
    ["text that is no account", "gcp", { google: { credentials: "nonsense" } }, "google.credentials"],
    [
      "an endpoint by HTTP",
      "gcp",
      { google: { credentials: account("http://127.0.0.1:9/token") } },
      "google.credentials",
    ],
  ])("that is %s is refused by its field", async (_what, vendor, body, path) => {
    expect(await errorOf(await setOwn(vendor, body))).toMatchObject({
      status: 400,
      code: "bad_request",
      detail: { issues: [{ path }] },
    })
  })

  it("whose token endpoint is private is blocked by the egress guard, when it is stored", async () => {
    const body = { google: { credentials: account("https://169.254.169.254/token") } }
    expect(await errorOf(await setOwn("gcp", body))).toMatchObject({ status: 403, code: "egress_blocked" })
  })

  it("whose token endpoint has become private since then is not asked", async () => {
    let connections = 0
    const near = createServer((socket) => {
      connections++
      socket.destroy()
    })
    await new Promise<void>((resolve) => void near.listen(0, "localhost", resolve))
    const body = { google: { credentials: account(`https://localhost:${portOf(near)}/token`) } }
    resolved = ["127.0.0.1"]
    expect((await setOwn("gcp", body)).status).toBe(200)
    await eventually(async () => {
      await ask("vertex")
      return connections > 0
    })
    const before = connections
    resolved = ["10.0.0.1"]
    expect(await errorOf(await ask("vertex"))).toMatchObject({ status: 502, detail: { upstreamStatus: 401 } })
    expect(connections).toBe(before)
    near.close()
    await removeOwn("gcp")
  })
})

describe("an identity that does not work", () => {
  it("is told by the test of the vendor, /readyz and the doctor, and other targets are called", async () => {
    gateway().vendor.script(answering(answer))
    gateway().second.script(answering(answer))
    expect((await replyOf(await ask("broken"))).blocks).toMatchObject([{ v: "Hello there" }])
    expect(await errorOf(await ask("azure"))).toMatchObject({ code: "upstream_error", detail: { upstreamStatus: 401 } })
    const sentence = "Entra does not accept the secret of the application"
    const tested = await (await admin("POST", "vendors/az/test", {})).json()
    expect(tested).toMatchObject({ ok: false, error: { advice: `${sentence}.` } })
    const problems = [
      { vendor: "gcp", problem: "a secret that the catalogue references is not set here" },
      { vendor: "az", problem: sentence },
    ]
    const ready = await fetch(`${gateway().baseUrl}/readyz`)
    expect([ready.status, await ready.json()]).toMatchObject([200, { identities: expect.arrayContaining(problems) }])
    expect(await (await admin("GET", "doctor")).json()).toMatchObject({ identities: expect.arrayContaining(problems) })
    await eventually(async () =>
      /^weir_identity_valid\{.*vendor="az".*\} 0$/m.test(await (await fetch(`${gateway().baseUrl}/metrics`)).text()),
    )
  })

  it("is told to nobody else", async () => {
    const text = await (await ask("azure")).text()
    expect(text).not.toContain("Entra")
  })
})

function externalAccount() {
  return JSON.stringify({ type: "external_account", credential_source: { file: "/etc/passwd" } })
}

function account(token_uri: string) {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 })
  const private_key = privateKey.export({ type: "pkcs8", format: "pem" })
  return JSON.stringify({ type: "service_account", client_email: "a@b.test", private_key, token_uri })
}
