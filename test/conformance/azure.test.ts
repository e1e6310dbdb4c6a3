/** Azure with an application of Entra: its secret buys one token for all calls. */
import { createServer } from "node:http"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { answering, hello, newTestIds, testAwsKeys, testCatalogue } from "../../src/testing/index.ts"
import { portOf } from "../../src/testing/port.ts"
import { useGateway } from "./gateway.ts"

const ids = newTestIds()
const answer = { words: ["Hello", " there"], inTokens: 1000, outTokens: 200 }
const forms: Array<Record<string, string>> = []
const paths: Array<string | undefined> = []
const entra = createServer(async (request, response) => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(chunk)
  forms.push(Object.fromEntries(new URLSearchParams(Buffer.concat(chunks).toString("utf8"))))
  paths.push(request.url)
  response.writeHead(200, { "content-type": "application/json" })
  response.end(JSON.stringify({ token_type: "Bearer", expires_in: 3599, access_token: `entra-${forms.length}` }))
})
beforeAll(() => new Promise<void>((resolve) => void entra.listen(0, "127.0.0.1", resolve)))
afterAll(() => {
  entra.close()
  entra.closeAllConnections()
})

const gateway = useGateway(() => ({
  ids,
  catalogue: (urls) =>
    testCatalogue(urls, ids)
      .replace(
        "vendors:\n",
        `vendors:\n  - { id: az, dialect: openai-chat, profile: azure, baseUrl: "${urls.vendor}", azure: { tenantId: my-tenant, clientId: my-client, clientSecret: "env:WEIR_TEST_AWS_SECRET", authorityHost: "http://127.0.0.1:${portOf(entra)}" } }
  - { id: azc, dialect: anthropic, profile: azure, baseUrl: "${urls.vendor}/anthropic", azure: { tenantId: my-tenant, clientId: my-client, clientSecret: "env:WEIR_TEST_AWS_SECRET", authorityHost: "http://127.0.0.1:${portOf(entra)}" } }
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
    expect(forms).toEqual([
      {
        grant_type: "client_credentials",
        client_id: "my-client",
        client_secret: testAwsKeys.secretAccessKey,
        scope: "https://cognitiveservices.azure.com/.default",
      },
    ])
    expect(paths).toEqual(["/my-tenant/oauth2/v2.0/token"])
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
    expect(forms.length).toBe(1)
  })
})
