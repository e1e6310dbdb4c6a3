/** The advice for operators on a vendor that refused its test call. */
import { describe, expect, it } from "vitest"
import { VendorRejected } from "../../../src/calls/vendor/errors.ts"
import type { TargetVendor } from "../../../src/catalogue/snapshot.ts"
import { adviceFor } from "../../../src/setup/vendor-advice.ts"
import { UpstreamBroken } from "../../../src/upstream/client.ts"

const plain: TargetVendor = { id: "v", baseUrl: "https://x.test", dialect: "openai-chat" }
const bedrock: TargetVendor = { ...plain, dialect: "bedrock", aws: { region: "eu-west-1" } }
const vertex: TargetVendor = {
  ...plain,
  dialect: "gemini",
  google: { project: "my-project", location: "europe-west4" },
}
const azure: TargetVendor = { ...plain, profile: "azure" }

describe("the advice", () => {
  it.each([
    ["an identity that failed", bedrock, 401, "credential_missing", "the clock is wrong", /^The clock is wrong\.$/],
    ["a secret that is not set", plain, 401, "credential_missing", undefined, /is not set here/],
    ["keys that have expired", bedrock, 403, "ExpiredTokenException", undefined, /have expired/],
    ["keys that AWS does not know", bedrock, 403, "UnrecognizedClientException", undefined, /does not know/],
    ["a wrong signature", bedrock, 403, "InvalidSignatureException", undefined, /secret access key is wrong/],
    [
      "no access to a model",
      bedrock,
      403,
      "AccessDeniedException",
      undefined,
      /may not call m in eu-west-1.*InvokeModel/,
    ],
    ["another region", bedrock, 404, "ResourceNotFoundException", undefined, /eu-west-1 has no model m/],
    ["a model without a profile", bedrock, 400, "ValidationException", undefined, /us\.m/],
    ["no role at Google", vertex, 403, "PERMISSION_DENIED", undefined, /my-project.*Vertex AI User/],
    ["another location", vertex, 404, "NOT_FOUND", undefined, /europe-west4 has no model m/],
    ["a token that is none", vertex, 401, "UNAUTHENTICATED", undefined, /does not accept the token/],
    ["no deployment", azure, 404, "DeploymentNotFound", undefined, /no deployment named m/],
    ["no role at Azure", azure, 403, "status_403", undefined, /Cognitive Services OpenAI User/],
  ])("for %s", (_what, vendor, status, code, reason, expected) => {
    const error = new VendorRejected({ status, code, blame: "request", ...(reason !== undefined && { reason }) })
    expect(adviceFor(vendor, "m", error)).toMatch(expected)
  })

  it.each([
    ["a wrong key", "credential", /wrong, revoked or expired/],
    ["no permission", "permission", /does not let it call/],
    ["no credit", "credit", /no credit/],
    ["no such model", "model", /no model m/],
    ["a region", "region", /this region/],
    ["an address", "address", /baseUrl/],
  ] as const)("for %s, whatever its status", (_what, blame, expected) => {
    expect(adviceFor(plain, "m", new VendorRejected({ status: 400, code: "x", blame }))).toMatch(expected)
  })

  it("is none where nothing can be said", () => {
    expect(
      adviceFor(plain, "m", new VendorRejected({ status: 500, code: "status_500", blame: "request" })),
    ).toBeUndefined()
    expect(adviceFor(bedrock, "m", new UpstreamBroken({ cause: "gone" }))).toBeUndefined()
    expect(adviceFor(plain, "m", undefined)).toBeUndefined()
  })
})
