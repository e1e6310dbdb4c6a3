/**
 * Secrets of AWS Secrets Manager, with the identity of the machine.
 * Source: https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_GetSecretValue.html
 */
import { Effect, Schema } from "effect"
import { makeAwsIdentity } from "../cloud-identities/aws.ts"
import {
  askAs,
  type Client,
  parseShallow,
  type ReadSecret,
  reader,
  refusedWith,
  textOfBase64,
  unread,
} from "./store.ts"

export interface AwsSecretsOptions {
  /** The region of names; an ARN has its own. */
  readonly region: string | undefined
  /** The address of the service, if it is not at AWS. */
  readonly url: string | undefined
}

const store = "AWS Secrets Manager"

const readReply = reader(
  store,
  Schema.Struct({
    SecretString: Schema.optionalKey(Schema.NullOr(Schema.String)),
    SecretBinary: Schema.optionalKey(Schema.NullOr(Schema.String)),
  }),
)
const typeOfError = Schema.decodeUnknownOption(Schema.Struct({ __type: Schema.String }))

const regionOfArn = /^arn:aws[a-z-]*:secretsmanager:([a-z0-9-]+):/

export const readAws = (client: Client, options: AwsSecretsOptions): ReadSecret =>
  Effect.fnUntraced(function* (name) {
    const region = regionOfArn.exec(name)?.[1] ?? options.region
    if (region === undefined) return yield* unread("its region is not known: name its ARN, or set AWS_REGION")
    if (options.url !== undefined && !/^https?:\/\//.test(options.url)) {
      return yield* unread("AWS_ENDPOINT_URL_SECRETS_MANAGER is no http(s) URL")
    }
    const suffix = region.startsWith("cn-") ? ".cn" : ""
    const identity = makeAwsIdentity({ service: "secretsmanager", region, keys: "default", role: undefined })
    const { status, body } = yield* askAs(identity, client, store, {
      method: "POST",
      baseUrl: options.url ?? `https://secretsmanager.${region}.amazonaws.com${suffix}`,
      path: "/",
      headers: { "content-type": "application/x-amz-json-1.1", "x-amz-target": "secretsmanager.GetSecretValue" },
      body: JSON.stringify({ SecretId: name }),
    })
    if (status !== 200) return yield* refusalOf(status, body)
    const { SecretString: text, SecretBinary: binary } = yield* readReply(body)
    return text ?? (yield* textOfBase64(binary ?? ""))
  })

/** The type says the reason; the message is not repeated, because it may have names that must not be shown. */
const refusalOf = (status: number, body: string) => {
  const found = typeOfError(parseShallow(body))
  const type = found._tag === "Some" ? found.value.__type.replace(/^.*#/, "") : ""
  const known = sentences.find(([pattern]) => pattern.test(type))
  return known === undefined ? refusedWith(store, status) : unread(known[1], known[2] ?? false)
}

const sentences: ReadonlyArray<readonly [type: RegExp, sentence: string, mayPass?: boolean]> = [
  [/^ResourceNotFound/, `${store} has no such secret in this region`],
  [/^AccessDenied/, `${store} does not let this gateway read this secret (secretsmanager:GetSecretValue)`],
  [/^(UnrecognizedClient|InvalidClientTokenId|ExpiredToken)/, `${store} does not accept the gateway's access key`],
  [
    /^(InvalidSignature|SignatureDoesNotMatch|IncompleteSignature|MissingAuthenticationToken)/,
    `${store} does not accept the signature: the secret access key is wrong, or this machine's clock is`,
  ],
  [/^DecryptionFailure/, `${store} cannot decrypt this secret with its key of KMS`],
  [/^InvalidRequest/, `${store} has scheduled this secret for deletion`],
  [/^(Throttling|InternalService)/, `${store} cannot answer now`, true],
]
