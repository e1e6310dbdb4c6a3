/** Identities at Google's cloud: federation, the metadata of an instance, and what is said of those that do not work. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Redacted } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { makeGoogleIdentity } from "../../../src/cloud-identities/google.ts"
import { startTokenEndpoint, type TokenEndpoint } from "../../support/google-token-endpoint.ts"
import { type Issuer, startIssuer } from "../../support/issuer.ts"
import { useRoute } from "../../support/route.ts"
import { withVariables } from "../../support/variables.ts"

const route = useRoute()
const folder = mkdtempSync(join(tmpdir(), "weir-google-"))
let endpoint: TokenEndpoint
let sts: Issuer
let metadata: Issuer

beforeAll(async () => {
  endpoint = await startTokenEndpoint()
  sts = await startIssuer(() => ({
    body: {
      access_token: "federated",
      issued_token_type: "urn:ietf:params:oauth:token-type:access_token",
      token_type: "Bearer",
      expires_in: 3600,
    },
  }))
  metadata = await startIssuer(({ path, headers }) => {
    if (headers["metadata-flavor"] !== "Google") return { status: 403, body: "" }
    const flavour = { "metadata-flavor": "Google" }
    return path.includes("/token")
      ? { headers: flavour, body: { access_token: "of-the-instance", expires_in: 3599, token_type: "Bearer" } }
      : { headers: flavour, type: "text/plain", body: "project" }
  })
})
afterAll(() => {
  endpoint.stop()
  sts.stop()
  metadata.stop()
  rmSync(folder, { recursive: true })
})

const request = { baseUrl: "https://vertex.test", path: "/", body: "" }
const tokenOf = async (by: ReturnType<typeof makeGoogleIdentity>) =>
  (await by.authorize(request, route()))["authorization"]
const ofJson = (json: unknown) =>
  makeGoogleIdentity(Redacted.make(typeof json === "string" ? json : JSON.stringify(json)))

describe("an identity at Google", () => {
  it("is workload identity federation: a file's token buys one", async () => {
    const file = join(folder, "subject")
    writeFileSync(file, "subject-token")
    const by = ofJson({
      type: "external_account",
      audience: "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q",
      subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
      token_url: `${sts.url}/v1/token`,
      credential_source: { file },
    })
    expect(await tokenOf(by)).toBe("Bearer federated")
    expect(sts.asked[0]?.form).toMatchObject({ subject_token: "subject-token" })
  })

  it("is the instance's, of which the metadata service tells", async () => {
    const back = withVariables({
      GCE_METADATA_HOST: metadata.url.replace("http://", ""),
      GOOGLE_APPLICATION_CREDENTIALS: undefined,
      HOME: folder,
    })
    const by = makeGoogleIdentity("default")
    const tokens = await Promise.all(Array.from({ length: 50 }, () => tokenOf(by)))
    back()
    expect(new Set(tokens)).toEqual(new Set(["Bearer of-the-instance"]))
    expect(metadata.asked.filter(({ path }) => path.includes("/token")).length).toBe(1)
  })

  it("is in the file that is named for all of Google's libraries, and signs in where that says", async () => {
    const file = join(folder, "account.json")
    writeFileSync(file, endpoint.account)
    const back = withVariables({ GOOGLE_APPLICATION_CREDENTIALS: file })
    expect(await tokenOf(makeGoogleIdentity("default"))).toBe("Bearer ya29.token-0")
    back()
    expect(endpoint.refusals).toEqual([])
  })

  it.each([
    ["text that is no JSON", "nonsense", "is not JSON"],
    [
      "a key that cannot be read",
      { type: "service_account", client_email: "a@b", private_key: "-----BEGIN PRIVATE KEY-----\nno" },
      "cannot be read",
    ],
  ])("that is %s is said in a sentence", async (_what, json, sentence) => {
    const by = ofJson(json)
    await expect(tokenOf(by)).rejects.toMatchObject({ sentence: expect.stringContaining(sentence) })
    expect(by.problem()).toContain(sentence)
  })

  it("whose key was deleted, or whose endpoint fails, is said in a sentence", async () => {
    const strange = await startTokenEndpoint()
    const { private_key: other } = JSON.parse(endpoint.account)
    const deleted = ofJson({ ...JSON.parse(strange.account), private_key: other })
    await expect(tokenOf(deleted)).rejects.toMatchObject({ sentence: expect.stringContaining("deleted or disabled") })
    strange.answers.status = 503
    const failing = ofJson({ ...JSON.parse(strange.account), private_key_id: "another" })
    await expect(tokenOf(failing)).rejects.toMatchObject({ sentence: "Google's token endpoint answers 503" })
    strange.stop()
    await expect(tokenOf(failing)).rejects.toMatchObject({ sentence: "Google's token endpoint cannot be reached" })
  })

  it("that fails once does not fail for ever", async () => {
    const late = await startTokenEndpoint()
    late.answers.status = 500
    const by = ofJson(late.account)
    await expect(tokenOf(by)).rejects.toMatchObject({ _tag: "IdentityFailed" })
    late.answers.status = 200
    expect(await tokenOf(by)).toMatch(/^Bearer ya29/)
    expect(by.problem()).toBeUndefined()
    late.stop()
  })
})
