/** Identities at AWS: a role by STS, and what the machine has: variables, web identity, containers, instances. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Redacted } from "effect"
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { type AwsAccessOptions, makeAwsIdentity } from "../../../src/cloud-identities/aws.ts"
import { type Answer, type Issuer, startIssuer } from "../../support/issuer.ts"
import { useRoute } from "../../support/route.ts"
import { refusalOf, signatureOf } from "../../support/sigv4.ts"
import { withVariables } from "../../support/variables.ts"

const route = useRoute()
const folder = mkdtempSync(join(tmpdir(), "weir-aws-"))
let sts: Issuer
let metadata: Issuer
let restore = () => {}
let count = 0

const issuedKeys = { accessKeyId: "ASIAISSUED", secretAccessKey: "issued-secret" }
const own = { accessKeyId: "AKIDOWN", secretAccessKey: "own-secret" }

const assumed = (action: string, lifeS = 3600): Answer => ({
  type: "text/xml",
  body: `<${action}Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><${action}Result><Credentials><AccessKeyId>${issuedKeys.accessKeyId}</AccessKeyId><SecretAccessKey>${issuedKeys.secretAccessKey}</SecretAccessKey><SessionToken>issued-session</SessionToken><Expiration>${new Date(Date.now() + lifeS * 1000).toISOString()}</Expiration></Credentials><AssumedRoleUser><Arn>arn:aws:sts::123456789012:assumed-role/weir/weir</Arn><AssumedRoleId>A:weir</AssumedRoleId></AssumedRoleUser></${action}Result><ResponseMetadata><RequestId>r</RequestId></ResponseMetadata></${action}Response>`,
})
const refused = (code: string, status = 403): Answer => ({
  status,
  type: "text/xml",
  body: `<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error><Type>Sender</Type><Code>${code}</Code><Message>with secret ${own.secretAccessKey}</Message></Error><RequestId>r</RequestId></ErrorResponse>`,
})

const nothing = {
  AWS_ACCESS_KEY_ID: undefined,
  AWS_SECRET_ACCESS_KEY: undefined,
  AWS_SESSION_TOKEN: undefined,
  AWS_PROFILE: undefined,
  AWS_ROLE_ARN: undefined,
  AWS_WEB_IDENTITY_TOKEN_FILE: undefined,
  AWS_CONTAINER_CREDENTIALS_FULL_URI: undefined,
  AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: undefined,
  AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: undefined,
  AWS_EC2_METADATA_DISABLED: undefined,
}

beforeAll(async () => {
  sts = await startIssuer(() => assumed("AssumeRole"))
  metadata = await startIssuer(() => ({ status: 404, body: "" }))
})
afterAll(() => {
  sts.stop()
  metadata.stop()
  rmSync(folder, { recursive: true })
})
beforeEach(() => {
  sts.asked.length = 0
  metadata.asked.length = 0
  sts.answer = () => assumed("AssumeRole")
  restore = withVariables({
    ...nothing,
    AWS_CONFIG_FILE: join(folder, "none"),
    AWS_SHARED_CREDENTIALS_FILE: join(folder, "none"),
    AWS_ENDPOINT_URL_STS: sts.url,
    AWS_EC2_METADATA_SERVICE_ENDPOINT: metadata.url,
  })
})
afterEach(() => restore())

/** Another identity at each call: what is issued is kept. */
const identity = (more: Partial<AwsAccessOptions> = {}) => {
  const arn = `arn:aws:iam::123456789012:role/weir-${count++}`
  return makeAwsIdentity({ region: "eu-central-1", keys: "default", role: { arn, externalId: undefined }, ...more })
}
const keys = {
  accessKeyId: Redacted.make(own.accessKeyId),
  secretAccessKey: Redacted.make(own.secretAccessKey),
}
const request = { baseUrl: "https://bedrock.test", path: "/model/m/converse", body: "{}" }
const signed = async (by: ReturnType<typeof identity>) => {
  const headers = await by.authorize(request, route())
  const received = { method: "POST", path: request.path, headers: { ...headers, host: "bedrock.test" }, body: "{}" }
  return { headers, refusal: (known: typeof own) => refusalOf(received, known) }
}

describe("a role", () => {
  it("is assumed once for a hundred calls, with keys whose signature STS verifies", async () => {
    const role = { arn: "arn:aws:iam::123456789012:role/weir", externalId: "a-tenant" }
    const by = identity({ keys, role })
    const all = await Promise.all(Array.from({ length: 100 }, () => signed(by)))
    for (const { headers, refusal } of all) {
      expect(headers["x-amz-security-token"]).toBe("issued-session")
      expect(refusal(issuedKeys)).toBeUndefined()
    }
    expect(sts.asked.length).toBe(1)
    const [asked] = sts.asked
    expect(asked?.form).toMatchObject({
      Action: "AssumeRole",
      RoleArn: role.arn,
      RoleSessionName: "weir",
      ExternalId: "a-tenant",
    })
    const [, date = "", names = "", signature] =
      /Credential=AKIDOWN\/(\d{8})\/eu-central-1\/sts\/aws4_request, SignedHeaders=([^,]+), Signature=(\w+)/.exec(
        asked?.headers.authorization ?? "",
      ) ?? []
    const received = { method: "POST", path: "/", headers: asked?.headers ?? {}, body: asked?.body ?? "" }
    expect(signatureOf(received, own.secretAccessKey, names.split(";"), [date, "eu-central-1", "sts"])).toBe(signature)
  })

  it("is assumed for each external id: keys of one are not another's", async () => {
    const arn = "arn:aws:iam::123456789012:role/of-two"
    for (const externalId of ["one", "two"]) await signed(identity({ keys, role: { arn, externalId } }))
    expect(sts.asked.map(({ form }) => form["ExternalId"])).toEqual(["one", "two"])
  })

  it.each([
    ["AccessDenied", "does not let this machine assume the role"],
    ["InvalidClientTokenId", "does not know the access key"],
    ["ExpiredTokenException", "have expired"],
    ["SignatureDoesNotMatch", "the secret access key is wrong"],
    ["Strange", "cannot be reached, or answers with an error"],
  ])("that STS refuses with %s is said in a sentence, without a secret", async (code, sentence) => {
    sts.answer = () => refused(code)
    const by = identity({ keys })
    await expect(by.authorize(request, route())).rejects.toMatchObject({ _tag: "IdentityFailed" })
    expect(by.problem()).toContain(sentence)
    expect(by.problem()).not.toContain(own.secretAccessKey)
    sts.answer = () => assumed("AssumeRole")
    expect((await signed(by)).refusal(issuedKeys)).toBeUndefined()
    expect(by.problem()).toBeUndefined()
  })
})

describe("what the machine has", () => {
  it("are variables", async () => {
    const back = withVariables({
      AWS_ACCESS_KEY_ID: own.accessKeyId,
      AWS_SECRET_ACCESS_KEY: own.secretAccessKey,
      AWS_SESSION_TOKEN: "variable-session",
    })
    const { headers, refusal } = await signed(identity({ region: "us-east-1", role: undefined }))
    back()
    expect([headers["x-amz-security-token"], refusal(own)]).toEqual(["variable-session", undefined])
    expect(sts.asked).toEqual([])
  })

  it("is a web identity, as on EKS", async () => {
    writeFileSync(join(folder, "token"), "web-identity-token")
    sts.answer = () => assumed("AssumeRoleWithWebIdentity")
    const back = withVariables({
      AWS_ROLE_ARN: "arn:aws:iam::123456789012:role/pod",
      AWS_WEB_IDENTITY_TOKEN_FILE: join(folder, "token"),
    })
    const { refusal } = await signed(identity({ region: "us-east-2", role: undefined }))
    back()
    expect(refusal(issuedKeys)).toBeUndefined()
    expect(sts.asked.map(({ form }) => [form["Action"], form["WebIdentityToken"]])).toEqual([
      ["AssumeRoleWithWebIdentity", "web-identity-token"],
    ])
  })

  it("is a container's role", async () => {
    metadata.answer = ({ headers }) =>
      headers.authorization === "container-token"
        ? {
            body: {
              AccessKeyId: issuedKeys.accessKeyId,
              SecretAccessKey: issuedKeys.secretAccessKey,
              Token: "container-session",
              Expiration: new Date(Date.now() + 3_600_000).toISOString(),
            },
          }
        : { status: 401, body: "" }
    writeFileSync(join(folder, "container"), "container-token")
    const back = withVariables({
      AWS_CONTAINER_CREDENTIALS_FULL_URI: `${metadata.url}/v2/credentials`,
      AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: join(folder, "container"),
    })
    const { headers, refusal } = await signed(identity({ region: "us-west-1", role: undefined }))
    back()
    expect([headers["x-amz-security-token"], refusal(issuedKeys)]).toEqual(["container-session", undefined])
  })

  it("is an instance's role, by the second version of its metadata service, and is used to assume another", async () => {
    metadata.answer = ({ method, path, headers }) => {
      if (method === "PUT" && path === "/latest/api/token") return { type: "text/plain", body: "session-of-metadata" }
      if (headers["x-aws-ec2-metadata-token"] !== "session-of-metadata") return { status: 401, body: "" }
      if (path.endsWith("/security-credentials/")) return { type: "text/plain", body: "instance-role" }
      return {
        body: {
          Code: "Success",
          AccessKeyId: own.accessKeyId,
          SecretAccessKey: own.secretAccessKey,
          Token: "instance-session",
          Expiration: new Date(Date.now() + 3_600_000).toISOString(),
        },
      }
    }
    const { refusal } = await signed(identity())
    expect(refusal(issuedKeys)).toBeUndefined()
    expect(sts.asked[0]?.headers["x-amz-security-token"]).toBe("instance-session")
    expect(metadata.asked.map(({ path }) => path)).toContain("/latest/meta-data/iam/security-credentials/instance-role")
  })

  it("is nothing: that is said in a sentence", async () => {
    const back = withVariables({ AWS_EC2_METADATA_DISABLED: "true" })
    const by = identity({ region: "ap-south-1", role: undefined })
    await expect(by.authorize(request, route())).rejects.toMatchObject({
      sentence: expect.stringContaining("this machine has no identity at AWS"),
    })
    back()
  })
})
