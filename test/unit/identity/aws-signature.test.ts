/** AWS's signatures: published vectors, AWS's own library on random requests, and each part that a forger would change. */
import { createHash } from "node:crypto"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { makeSigner } from "../../../src/cloud-identities/aws-signing.ts"
import { type AwsRequest, awsSignatureIn, awsSignatureOf, refusalOfAws } from "../../../src/identity/aws-signature.ts"
import { noRoute } from "../../support/route.ts"

const sha256 = (text: string) => createHash("sha256").update(text).digest()

describe("published vectors", () => {
  // Source: AWS, "Signature Version 4 test suite"
  const headers = { host: "example.amazonaws.com", "x-amz-date": "20150830T123600Z" }
  it.each([
    ["get-vanilla", "GET", "/", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"],
    ["post-vanilla", "POST", "/", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"],
    [
      "get-vanilla-query-order-key-case",
      "GET",
      "/?Param2=value2&Param1=value1",
      "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
    ],
  ])("%s", (_name, method, target, signature) => {
    const scope = ["20150830", "us-east-1", "service", "aws4_request"] as const
    const signed = { scope, signedHeaders: ["host", "x-amz-date"] }
    const made = awsSignatureOf(
      signed,
      { method, target, headers },
      sha256("").toString("hex"),
      "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
    )
    expect(made).toBe(signature)
  })
})

const secret = sha256("the secret of a key")
const sign = makeSigner("bedrock", "eu-west-1", async () => ({
  accessKeyId: "key_1",
  secretAccessKey: secret.toString("hex"),
}))

/** A request that AWS's library has signed. */
const signed = async (path: string, body: string): Promise<AwsRequest> => {
  const own = { "content-type": "application/json", "x-more": "  two   words " }
  const made = await sign({ method: "POST", baseUrl: "http://weir.example.com", path, body, headers: own }, noRoute)
  return {
    method: "POST",
    target: path,
    headers: { ...own, ...made, host: "weir.example.com" },
    body: Buffer.from(body),
  }
}

const refusalOf = (request: AwsRequest, { secrets = [secret], nowMs = Date.now() } = {}) => {
  const signature = awsSignatureIn(request.headers, "/bedrock/")
  return signature === undefined ? "no signature" : refusalOfAws(signature, request, secrets, nowMs)
}

const Text = Schema.String.check(Schema.isMaxLength(20))

describe("requests that AWS's library signs", () => {
  it.effect.prop("are valid, whatever their paths and bodies", [Text, Text], ([name, body]) =>
    Effect.promise(async () => {
      const path = `/bedrock/model/${encodeURIComponent(`m${name.toWellFormed()}`)}/invoke`
      const refusal = refusalOf(await signed(path, body.toWellFormed()))
      expect([path, refusal]).toEqual([path, undefined])
    }),
  )

  it("are valid by the former secret too, and before the body is read", async () => {
    const request = await signed("/bedrock/model/main/invoke", "{}")
    expect(refusalOf(request, { secrets: [sha256("another"), secret] })).toBeUndefined()
    expect(refusalOf({ ...request, body: "unread" })).toBeUndefined()
  })

  it.each<[string, (request: AwsRequest) => Partial<AwsRequest>, RegExp]>([
    ["another body", () => ({ body: Buffer.from("[]") }), /hash of the body/],
    ["another path", () => ({ target: "/bedrock/model/other/invoke" }), /does not match/],
    ["another query", ({ target }) => ({ target: `${target}?a=b` }), /does not match/],
    ["another method", () => ({ method: "PUT" }), /does not match/],
    ["another host", ({ headers }) => ({ headers: { ...headers, host: "weir.example.net" } }), /does not match/],
    [
      "another hash of the body, before it is read",
      ({ headers }) => ({ headers: { ...headers, "x-amz-content-sha256": "0".repeat(64) }, body: "unread" }),
      /does not match/,
    ],
    ["no time", ({ headers }) => ({ headers: { ...headers, "x-amz-date": undefined } }), /time of the signature/],
    [
      "another day",
      ({ headers }) => ({ headers: { ...headers, "x-amz-date": "20200101T000000Z" } }),
      /time of the sig/,
    ],
    [
      "another service",
      ({ headers }) => ({
        headers: { ...headers, authorization: headers["authorization"]?.replace("/bedrock/", "/s3/") },
      }),
      /another service/,
    ],
    [
      "a host that is not signed",
      ({ headers }) => ({
        headers: { ...headers, authorization: headers["authorization"]?.replace("host;", "") },
      }),
      /must cover host/,
    ],
    [
      "half a header",
      ({ headers }) => ({ headers: { ...headers, authorization: headers["authorization"]?.slice(0, -1) } }),
      /no signature/,
    ],
  ])("are refused with %s", async (_what, change, reason) => {
    const request = await signed("/bedrock/model/main/invoke", "{}")
    expect(refusalOf({ ...request, ...change(request) })).toMatch(reason)
  })

  it("without a claimed hash are read only if they are small", async () => {
    const request = await signed("/bedrock/model/main/invoke", "{}")
    const { "x-amz-content-sha256": _, ...headers } = request.headers
    const unread = (more: Record<string, string>) =>
      refusalOf({ ...request, headers: { ...headers, ...more }, body: "unread" })
    expect(unread({ "content-length": "131072" })).toBeUndefined()
    for (const more of [{}, { "content-length": "131073" }, { "content-length": "2", "content-encoding": "gzip" }]) {
      expect(unread(more)).toMatch(/needs the header x-amz-content-sha256/)
    }
  })

  it("stay valid once they are verified, however long their stream is", async () => {
    const request = await signed("/bedrock/model/main/invoke", "{}")
    expect(refusalOf({ ...request, body: "verified" }, { nowMs: Date.now() + 3_600_000 })).toBeUndefined()
  })

  it.each(["__proto__", "constructor"])("with the signed header %s are refused", async (name) => {
    const request = await signed("/bedrock/model/main/invoke", "{}")
    const authorization = request.headers["authorization"]?.replace("host;", `host;${name};`)
    expect(refusalOf({ ...request, headers: { ...request.headers, authorization } })).toMatch(/does not match/)
  })

  it("are none at other paths", async () => {
    const { headers } = await signed("/bedrock/model/main/invoke", "{}")
    expect(awsSignatureIn(headers, "/openai/v1/chat/completions")).toBeUndefined()
  })

  it.each([-301, 301])("are refused when clocks are %i seconds apart", async (seconds) => {
    const request = await signed("/bedrock/model/main/invoke", "{}")
    expect(refusalOf(request, { nowMs: Date.now() + seconds * 1000 })).toMatch(/300 seconds off/)
    expect(refusalOf({ ...request, body: "unread" }, { nowMs: Date.now() + seconds * 1000 })).toMatch(/seconds off/)
  })

  it("of another secret are refused", async () => {
    expect(refusalOf(await signed("/", "{}"), { secrets: [sha256("wrong")] })).toMatch(/does not match/)
  })
})
