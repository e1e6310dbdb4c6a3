/** Identities at Azure: an application, a workload's token, a managed identity, and what is said of those that fail. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Redacted } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type AzureAccessOptions, makeAzureIdentity } from "../../../src/cloud-identities/azure.ts"
import { readNetwork } from "../../../src/upstream/network.ts"
import { issuerAuthority, startEntra } from "../../support/issuer.ts"
import { forgetManagedIdentity, managedIdentity } from "../../support/managed-identity.ts"
import { useRoute } from "../../support/route.ts"
import { withVariables } from "../../support/variables.ts"

const route = useRoute()
const folder = mkdtempSync(join(tmpdir(), "weir-azure-"))
let entra: Awaited<ReturnType<typeof startEntra>>
beforeAll(async () => {
  entra = await startEntra("the-secret")
})
afterAll(() => {
  entra.stop()
  rmSync(folder, { recursive: true })
})

/** The vendor's certificates are those of its issuer too. */
const network = readNetwork({ tls: { ca: issuerAuthority } }, () => undefined)
const request = { baseUrl: "https://azure.test", path: "/", body: "" }
const tokenOf = async (by: ReturnType<typeof makeAzureIdentity>) =>
  (await by.authorize(request, { ...route(), network }))["authorization"]

let clients = 0
const application = (clientSecret: string, more: Partial<AzureAccessOptions> = {}) =>
  makeAzureIdentity({
    client: { tenantId: "my-tenant", clientId: `client-${clients++}`, clientSecret: Redacted.make(clientSecret) },
    authorityHost: entra.url,
    ...more,
  })

describe("an identity at Azure", () => {
  it("is an application: its secret buys one token for all, by the way of the vendor", async () => {
    const by = application("the-secret")
    const tokens = await Promise.all(Array.from({ length: 50 }, () => tokenOf(by)))
    expect(new Set(tokens)).toEqual(new Set(["Bearer entra-1"]))
    expect(entra.forms().length).toBe(1)
    expect(entra.forms()[0]).toMatchObject({
      grant_type: "client_credentials",
      scope: "https://cognitiveservices.azure.com/.default",
    })
    // Without the vendor's authority, Entra's certificate is not trusted.
    await expect(application("the-secret").authorize(request, route())).rejects.toMatchObject({
      _tag: "IdentityFailed",
    })
  })

  it("of another cloud of Azure has a token of its own", async () => {
    const client = { tenantId: "my-tenant", clientId: "of-two-clouds", clientSecret: Redacted.make("the-secret") }
    const national = await startEntra("the-secret")
    const by = application("the-secret", { client })
    const there = application("the-secret", { client, authorityHost: national.url })
    await Promise.all([tokenOf(by), tokenOf(there)])
    expect(national.forms().length).toBe(1)
    national.stop()
  })

  it("is a workload's token, as on AKS", async () => {
    const file = join(folder, "token")
    writeFileSync(file, "workload-token")
    const back = withVariables({
      AZURE_AUTHORITY_HOST: entra.url,
      AZURE_TENANT_ID: "my-tenant",
      AZURE_CLIENT_ID: "workload",
      AZURE_FEDERATED_TOKEN_FILE: file,
      AZURE_CLIENT_SECRET: undefined,
    })
    const by = makeAzureIdentity({ client: { clientId: "workload" }, authorityHost: entra.url })
    expect(await tokenOf(by)).toMatch(/^Bearer entra-/)
    back()
    expect(entra.forms().at(-1)).toMatchObject({ client_assertion: "workload-token", client_id: "workload" })
  })

  it("is a managed identity, of which the machine's own service tells", async () => {
    await forgetManagedIdentity()
    const back = withVariables(await managedIdentity())
    const by = makeAzureIdentity({ client: { clientId: "managed" }, authorityHost: undefined })
    expect(await tokenOf(by)).toBe("Bearer managed")
    back()
    await forgetManagedIdentity()
  })

  it.each([
    ["AADSTS7000215: Invalid client secret", "does not accept the secret"],
    ["AADSTS7000222: The provided client secret keys are expired", "has expired"],
    ["AADSTS700016: Application not found in the directory", "no such application"],
    ["AADSTS90002: Tenant not found", "no such tenant"],
    ["AADSTS00000: the-wrong-secret", "cannot be reached, or answers with an error"],
  ])("that Entra refuses (%s) is said in a sentence, without a secret", async (description, sentence) => {
    const answer = entra.answer
    entra.answer = (asked) =>
      asked.method === "POST"
        ? { status: 401, body: { error: "refused", error_description: description } }
        : answer(asked)
    const by = application("the-wrong-secret")
    await expect(tokenOf(by)).rejects.toMatchObject({ sentence: expect.stringContaining(sentence) })
    expect(by.problem()).not.toContain("the-wrong-secret")
    entra.answer = answer
  })
})
