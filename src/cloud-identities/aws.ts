/**
 * Identities at AWS: access keys, or what the machine has (variables, files, web identity, container and instance
 * metadata), with or without a role that is assumed. AWS's libraries find them, and are loaded when they are needed.
 * Source: https://docs.aws.amazon.com/sdkref/latest/guide/standardized-credentials.html
 */
import { Readable } from "node:stream"
import type { AwsCredentialIdentity } from "@smithy/types"
import { Redacted } from "effect"
import { type AwsService, makeSigner } from "./aws-signing.ts"
import type { Identity, Route } from "./identity.ts"
import { fetchBy } from "./issuer-fetch.ts"
import { type Issued, KeptRenewed, sentenceBy } from "./renewed.ts"

export interface AwsKeys {
  readonly accessKeyId: Redacted.Redacted
  readonly secretAccessKey: Redacted.Redacted
  /** The session token of keys that are valid for a limited time. */
  readonly sessionToken?: Redacted.Redacted | undefined
}

export interface AwsRole {
  /** The ARN of the role. */
  readonly arn: string
  readonly externalId: string | undefined
}

export interface AwsAccessOptions {
  /** `bedrock` if absent. */
  readonly service?: AwsService
  readonly region: string
  readonly keys: AwsKeys | "default"
  readonly role: AwsRole | undefined
}

export const makeAwsIdentity = ({ service = "bedrock", region, keys, role }: AwsAccessOptions): Identity => {
  if (keys !== "default" && role === undefined) {
    const plain = plainKeys(keys)
    return { authorize: makeSigner(service, region, async () => plain), problem: () => undefined }
  }
  const renewed = kept.for(region, role?.arn, role?.externalId, ...(keys === "default" ? [] : secretsOf(keys)))
  const sign = makeSigner(service, region, (route) => renewed.get(() => find({ region, keys, role }, route)))
  return { authorize: sign, problem: () => renewed.problem }
}

const secretsOf = (keys: AwsKeys): ReadonlyArray<string | undefined> => {
  const { accessKeyId, secretAccessKey, sessionToken } = plainKeys(keys)
  return [accessKeyId, secretAccessKey, sessionToken]
}

const plainKeys = ({ accessKeyId, secretAccessKey, sessionToken }: AwsKeys): AwsCredentialIdentity => ({
  accessKeyId: Redacted.value(accessKeyId),
  secretAccessKey: Redacted.value(secretAccessKey),
  ...(sessionToken !== undefined && { sessionToken: Redacted.value(sessionToken) }),
})

/** The time after which keys without an end are looked for again: a file may have changed. */
const lookAgainMs = 15 * 60_000

const find = async ({ region, keys, role }: AwsAccessOptions, route: Route): Promise<Issued<AwsCredentialIdentity>> => {
  const { fromNodeProviderChain, fromTemporaryCredentials } = await import("@aws-sdk/credential-providers")
  const clientConfig = { region, requestHandler: handlerBy(route) }
  const own = keys === "default" ? fromNodeProviderChain({ clientConfig }) : async () => plainKeys(keys)
  const provider =
    role === undefined
      ? own
      : fromTemporaryCredentials({
          masterCredentials: own,
          params: {
            RoleArn: role.arn,
            RoleSessionName: "weir",
            ...(role.externalId !== undefined && { ExternalId: role.externalId }),
          },
          clientConfig,
        })
  const found = await provider()
  return { value: found, expiresAtMs: found.expiration?.getTime() ?? Date.now() + lookAgainMs }
}

interface SdkRequest {
  readonly method: string
  readonly protocol: string
  readonly hostname: string
  readonly port?: number
  readonly path: string
  readonly headers: Record<string, string>
  readonly body?: unknown
}

/** The handler with which AWS's clients send their requests. */
const handlerBy = (route: Route) => {
  const fetch = fetchBy(route)
  return {
    handle: async ({ method, protocol, hostname, port, path, headers, body }: SdkRequest) => {
      const url = `${protocol}//${hostname}${port === undefined ? "" : `:${port}`}${path}`
      const reply = await fetch(url, { method, headers, ...(typeof body === "string" && { body }) })
      const content = Buffer.from(await reply.arrayBuffer())
      const response = {
        statusCode: reply.status,
        headers: Object.fromEntries(reply.headers),
        body: Readable.from([content]),
      }
      return { response }
    },
  }
}

const sentences: ReadonlyArray<readonly [RegExp, string]> = [
  [/AccessDenied/, "AWS does not let this machine assume the role: its trust policy does not name it"],
  [/ExpiredToken/, "the keys with which the role is assumed have expired"],
  [/InvalidClientTokenId|UnrecognizedClient/, "AWS does not know the access key"],
  [/SignatureDoesNotMatch/, "the secret access key is wrong, or this machine's clock is"],
  [/InvalidIdentityToken|IDPRejectedClaim/, "AWS does not accept the web identity of this machine"],
  [
    /CredentialsProviderError|Could not load credentials/,
    "this machine has no identity at AWS: no variables, no files, no web identity, no metadata of a container or an instance",
  ],
]

const kept = new KeptRenewed<AwsCredentialIdentity>(
  sentenceBy(sentences, "AWS's service for identities cannot be reached, or answers with an error"),
)
