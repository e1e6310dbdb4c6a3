/** Azure with an application of Entra: its secret buys one token for all calls. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { answering, hello, newTestIds, testAwsKeys, testCatalogue } from "../../src/testing/index.ts"
import { useGateway } from "../support/gateway.ts"
import { issuerAuthority, startEntra } from "../support/issuer.ts"

const ids = newTestIds()
const answer = { words: ["Hello", " there"], inTokens: 1000, outTokens: 200 }
let entra: Awaited<ReturnType<typeof startEntra>>
beforeAll(async () => {
  entra = await startEntra(testAwsKeys.secretAccessKey)
})
afterAll(() => entra.stop())

const azure = () =>
  `azure: { tenantId: my-tenant, clientId: my-client, clientSecret: "env:WEIR_TEST_AWS_SECRET", authorityHost: "${entra.url}" }, tls: { ca: ${JSON.stringify(issuerAuthority)} }`

const gateway = useGateway(() => ({
  ids,
  catalogue: (urls) =>
    testCatalogue(urls, ids)
      .replace(
        "vendors:\n",
        `vendors:\n  - { id: az, dialect: openai-chat, profile: azure, baseUrl: "${urls.vendor}", ${azure()} }
  - { id: azc, dialect: anthropic, profile: azure, baseUrl: "${urls.vendor}/anthropic", ${azure()} }
`,
      )
      .replace(
        "models:\n",
        "models:\n  - { handle: az, maxOutput: 100, targets: [{ vendor: az, model: deployed }] }\n  - { handle: azc, maxOutput: 100, targets: [{ vendor: azc, model: claude-sonnet-4-5 }] }\n",
      )
      .replace(
        "prices:\n",
        `prices:\n  - { model: az, currency: USD, input: "3", output: "15", from: 2026-01-01 }\n  - { model: azc, currency: USD, input: "3", output: "15", from: 2026-01-01 }\n`,
      )
      .replace("models: [main,", "models: [az, azc, main,"),
}))

describe("an application of Entra", () => {
  it("signs in once for all calls, and no secret leaves", async () => {
    gateway().vendor.script(answering(answer))
    const replies = await Promise.all(
      Array.from({ length: 50 }, async () => (await gateway().exchange({ ...hello, model: "az" })).text()),
    )
    for (const reply of replies) expect(reply).toContain("Hello there")
    expect(entra.forms().length).toBe(1)
    expect(entra.forms()[0]).toMatchObject({
      grant_type: "client_credentials",
      client_id: "my-client",
      client_secret: testAwsKeys.secretAccessKey,
      scope: "https://cognitiveservices.azure.com/.default",
    })
    expect(entra.asked.at(-1)?.path).toMatch(/^\/my-tenant\/oauth2\/v2\.0\/token/)
    const call = gateway().vendor.calls.at(-1)
    expect(call?.headers["authorization"]).toBe("Bearer entra-1")
    expect(call?.headers["api-key"]).toBeUndefined()
    expect(call?.path).toBe("/openai/v1/chat/completions")
    expect(JSON.stringify(replies)).not.toContain("entra-1")
  })

  it("calls Claude with the same token, and the version of its API", async () => {
    gateway().vendor.script(answering(answer))
    expect(await (await gateway().exchange({ ...hello, model: "azc" })).text()).toContain("Hello there")
    const call = gateway().vendor.calls.at(-1)
    expect(call?.path).toBe("/anthropic/v1/messages")
    expect(call?.headers["authorization"]).toBe("Bearer entra-1")
    expect(call?.headers["anthropic-version"]).toBe("2023-06-01")
    expect(entra.forms().length).toBe(1)
  })
})
