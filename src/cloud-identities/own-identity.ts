/** Identities that organisations bring: checked when they are stored, and used at their vendor's region or project. */
import { Redacted, Result, Schema } from "effect"
import type { Vendor } from "../protocol/catalogue/vendor.ts"
import type { OwnIdentity } from "../protocol/control/own-identity.ts"
import type { ServiceError } from "../protocol/error.ts"
import { invalidInput } from "../protocol/json/issues.ts"
import { makeAwsIdentity } from "./aws.ts"
import { makeAzureIdentity } from "./azure.ts"
import { makeGoogleIdentity } from "./google.ts"
import { SentServiceAccount } from "./google-account.ts"
import type { Identity } from "./identity.ts"

interface Cloud extends Pick<Vendor, "aws" | "google" | "azure"> {
  readonly profile?: Vendor["profile"] | undefined
  readonly dialect: string
}

/** Whether a vendor can be called with such an identity. */
export const checkOwnIdentity = (
  own: OwnIdentity,
  vendor: Cloud,
): Result.Result<{ readonly hint: string; readonly address: string | undefined }, ServiceError<"bad_request">> => {
  if ("aws" in own) {
    return isAtAws(vendor) ? known(own.aws.accessKeyId) : wrong("aws", "this vendor is not called with AWS's keys")
  }
  if ("azure" in own) {
    return vendor.profile === "azure" ? known(own.azure.clientId) : wrong("azure", "this vendor is not at Azure")
  }
  if (vendor.google === undefined) return wrong("google", "this vendor is not at Google's cloud")
  const account = Schema.decodeUnknownOption(SentServiceAccount)(own.google.credentials)
  return account._tag === "None"
    ? wrong("google.credentials", "must be the JSON of a service account, and its token_uri HTTPS")
    : known(account.value.client_email, account.value.token_uri)
}

const isAtAws = ({ dialect, profile }: Cloud): boolean => dialect === "bedrock" || profile === "bedrock"

const known = (name: string, address?: string) => Result.succeed({ hint: name.slice(-4), address })
const wrong = (path: string, message: string) => Result.fail(invalidInput([{ path, message }]))

/** The identity of an organisation at a vendor, made once for each catalogue. */
export const ownIdentity = (own: OwnIdentity, vendor: Cloud): Identity | undefined => {
  const known = made.get(own)
  if (known?.vendor === vendor) return known.identity
  const identity = makeOwnIdentity(own, vendor)
  made.set(own, { vendor, identity })
  return identity
}

const made = new WeakMap<OwnIdentity, { readonly vendor: Cloud; readonly identity: Identity | undefined }>()

const makeOwnIdentity = (own: OwnIdentity, { aws, azure }: Cloud): Identity | undefined => {
  if ("google" in own) return guarded(makeGoogleIdentity(Redacted.make(own.google.credentials)))
  if ("azure" in own) {
    const { clientSecret, ...client } = own.azure
    // The operator sets the address of Entra.
    const authorityHost = azure?.authorityHost
    return makeAzureIdentity({ client: { ...client, clientSecret: Redacted.make(clientSecret) }, authorityHost })
  }
  if (aws === undefined) return undefined
  const { accessKeyId, secretAccessKey, sessionToken } = own.aws
  const keys = {
    accessKeyId: Redacted.make(accessKeyId),
    secretAccessKey: Redacted.make(secretAccessKey),
    sessionToken: sessionToken === undefined ? undefined : Redacted.make(sessionToken),
  }
  return makeAwsIdentity({ region: aws.region, keys, role: undefined })
}

/** The organisation's JSON names the address of its login: it passes the egress guard. */
const guarded = ({ authorize, problem }: Identity): Identity => ({
  authorize: (request, route) => authorize(request, { ...route, isGuarded: true }),
  problem,
})
