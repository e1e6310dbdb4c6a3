/** Engines that are called with an identity, or a key instead of one; and an address with certificates of its own. */
import { createServer } from "node:https"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { portOf } from "../../../../src/testing/port.ts"
import { issued } from "../../../support/certificate.ts"
import { type Asking, policyOf, startAsking } from "../../../support/engines/asking.ts"
import { type EnginesOfTest, startEngines } from "../../../support/engines/kinds.ts"
import { contentSafetyRules, forbidden } from "../../../support/engines/rules.ts"
import { type EngineTwin, startEngineTwin } from "../../../support/engines/twin.ts"
import { issuerAuthority, startEntra } from "../../../support/issuer.ts"

let engines: EnginesOfTest
let asking: Asking
beforeAll(async () => {
  engines = await startEngines()
  asking = await startAsking()
})
afterAll(async () => {
  await asking.stop()
  engines.stop()
})

const clean = { isFlagged: false, spans: [] }

describe("Azure with an application of Entra", () => {
  let entra: Awaited<ReturnType<typeof startEntra>>
  let twin: EngineTwin
  beforeAll(async () => {
    entra = await startEntra("vendor-credential")
    twin = await startEngineTwin(
      contentSafetyRules((headers) => /^Bearer entra-\d+$/.test(String(headers["authorization"]))),
    )
  })
  afterAll(() => {
    entra.stop()
    twin.stop()
  })

  it("is called with one token for all texts", async () => {
    const azure = {
      tenantId: "my-tenant",
      clientId: "my-client",
      clientSecret: "env:WEIR_TEST_VENDOR",
      authorityHost: entra.url,
    }
    const entry = {
      kind: "azure-content-safety",
      baseUrl: twin.url,
      azure,
      tls: { ca: issuerAuthority },
      timeout: "20s",
    }
    const policy = policyOf(engines, { engine: entry })
    for (let at = 0; at < 5; at++) expect(await asking.review(policy, {})).toEqual(clean)
    expect(await asking.review(policy, { text: forbidden })).toMatchObject({ isFlagged: true })
    expect(entra.forms().map(({ scope }) => scope)).toEqual(["https://cognitiveservices.azure.com/.default"])
    expect(twin.received.every(({ headers }) => headers["ocp-apim-subscription-key"] === undefined)).toBe(true)
  })
})

it("Model Armor is called with one token of a service account", async () => {
  const policy = policyOf(engines, engines.of("model-armor").match())
  for (let at = 0; at < 5; at++) expect(await asking.review(policy, {})).toEqual(clean)
  expect(engines.google.issued.length).toBe(1)
  expect(engines.google.refusals).toEqual([])
})

it("a guardrail takes a Bedrock API key in place of access keys", async () => {
  const received: Array<unknown> = []
  const twin = await startEngineTwin(({ headers }) => {
    received.push(headers["authorization"])
    return { body: { action: "NONE", assessments: [] } }
  })
  const entry = { aws: { region: "eu-west-1" }, credential: "env:WEIR_TEST_VENDOR", baseUrl: twin.url }
  const policy = policyOf(engines, engines.of("bedrock-guardrail").match(entry))
  expect(await asking.review(policy, {})).toEqual(clean)
  expect(received).toEqual(["Bearer vendor-credential"])
  twin.stop()
})

it("an address with certificates of its own is reached with them, and not without", async () => {
  const server = createServer(issued.server, (_request, response) => response.end("[]"))
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve))
  const entry = { baseUrl: `https://127.0.0.1:${portOf(server)}` }
  const policyAt = (more: object) => policyOf(engines, engines.of("presidio").match({ ...entry, ...more }))
  expect(await asking.review(policyAt({ tls: { ca: issuerAuthority } }), {})).toEqual(clean)
  expect(await asking.review(policyAt({}), {})).toBe("unreachable")
  server.close()
})
