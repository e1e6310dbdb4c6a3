/** Signatures of AWS: the verifier against published vectors, and our signer against the verifier. */
import { Redacted } from "effect"
import { describe, expect, it } from "vitest"
import { makeAwsIdentity } from "../../../src/cloud-identities/aws.ts"
import { noRoute } from "../../support/route.ts"
import { refusalOf, signatureOf } from "../../support/sigv4.ts"

const keys = { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY" }
const redacted = {
  accessKeyId: Redacted.make(keys.accessKeyId),
  secretAccessKey: Redacted.make(keys.secretAccessKey),
}

/** The vectors of AWS's test suite for Signature Version 4. */
const vectors: ReadonlyArray<
  readonly [name: string, method: string, query: string, type: string | undefined, body: string, signature: string]
> = [
  ["get-vanilla", "GET", "", undefined, "", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"],
  ["post-vanilla", "POST", "", undefined, "", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"],
  [
    "get-vanilla-utf8-query",
    "GET",
    "%E1%88%B4=bar",
    undefined,
    "",
    "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04",
  ],
  [
    "post-x-www-form-urlencoded",
    "POST",
    "",
    "application/x-www-form-urlencoded",
    "Param1=value1",
    "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
  ],
]

it.each(vectors)("the verifier agrees with AWS's vector %s", (_name, method, query, type, body, signature) => {
  const headers = {
    ...(type !== undefined && { "content-type": type }),
    host: "example.amazonaws.com",
    "x-amz-date": "20150830T123600Z",
  }
  const place = ["20150830", "us-east-1", "service"] as const
  const request = { method, path: "/", query, headers, body }
  expect(signatureOf(request, keys.secretAccessKey, Object.keys(headers), place)).toBe(signature)
})

describe("a signed request", () => {
  const signer = makeAwsIdentity({ region: "eu-central-1", keys: redacted, role: undefined })

  it.each([
    [
      "a model's id",
      "https://bedrock-runtime.eu-central-1.amazonaws.com",
      "/model/amazon.nova-pro-v1%3A0/converse",
      "{}",
    ],
    ["an ARN", "https://x.test", "/model/arn%3Aaws%3Abedrock%3Aeu%3A1%3Ainference-profile%2Fx/converse-stream", "{}"],
    [
      "a private address with a port and a prefix",
      "http://127.0.0.1:8443/bedrock/",
      "/model/m/invoke",
      `{"text":"🌊"}`,
    ],
    ["an empty body", "https://x.test", "/model/m/invoke", ""],
    ["a large body", "https://x.test", "/model/m/invoke", `"${"é".repeat(1_000_000)}"`],
  ])("with %s has the signature that the other side calculates", async (_what, baseUrl, path, body) => {
    const { host, pathname } = new URL(baseUrl)
    const headers = await signer.authorize({ baseUrl, path, body }, noRoute)
    const received = { method: "POST", path: pathname.replace(/\/$/, "") + path, headers: { ...headers, host }, body }
    expect(refusalOf(received, keys)).toBeUndefined()
    expect(headers["authorization"]).toContain("/eu-central-1/bedrock/")
    expect(headers).not.toHaveProperty("x-amz-security-token")
    // The verifier can refuse.
    expect(refusalOf({ ...received, body: `${body} ` }, keys)).toBe("SignatureDoesNotMatch")
    expect(refusalOf({ ...received, path: `${received.path}x` }, keys)).toBe("SignatureDoesNotMatch")
    expect(refusalOf(received, { ...keys, secretAccessKey: "other" })).toBe("SignatureDoesNotMatch")
  })

  it("carries and signs the token of keys for a limited time", async () => {
    const limited = makeAwsIdentity({
      region: "us-east-1",
      keys: { ...redacted, sessionToken: Redacted.make("session") },
      role: undefined,
    })
    const request = { baseUrl: "https://x.test", path: "/model/m/converse", body: "{}" }
    const headers = await limited.authorize(request, noRoute)
    expect(headers["x-amz-security-token"]).toBe("session")
    expect(headers["authorization"]).toContain("x-amz-security-token")
    const received = { method: "POST", path: request.path, headers: { ...headers, host: "x.test" }, body: "{}" }
    expect(refusalOf(received, keys)).toBeUndefined()
  })
})
