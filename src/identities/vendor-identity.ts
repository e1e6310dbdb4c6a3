/** The identity of a vendor of the catalogue: which one its entry asks for, with the secrets that it references. */
import { Redacted } from "effect"
import type { Vendor } from "../protocol/catalogue.ts"
import { makeAwsIdentity } from "./aws.ts"
import { makeAzureIdentity } from "./azure.ts"
import { makeGoogleIdentity } from "./google.ts"
import type { Identity } from "./identity.ts"

type Resolve = (ref: string) => string | undefined

/** Undefined if the entry has none, or a secret cannot be resolved. */
export const identityOfVendor = (vendor: Pick<Vendor, "aws" | "google" | "azure">, resolve: Resolve) => {
  const { aws, google, azure } = vendor
  if (google !== undefined) return googleIdentity(google, resolve)
  if (azure !== undefined) return azureIdentity(azure, resolve)
  return aws === undefined ? undefined : awsIdentity(aws, resolve)
}

const googleIdentity = ({ credentials }: NonNullable<Vendor["google"]>, resolve: Resolve): Identity | undefined => {
  if (credentials === undefined) return undefined
  if (credentials === "default") return makeGoogleIdentity("default")
  const json = secretAt(credentials, resolve)
  return json && makeGoogleIdentity(json)
}

const azureIdentity = (azure: NonNullable<Vendor["azure"]>, resolve: Resolve): Identity | undefined => {
  const { authorityHost, clientId } = azure
  if (azure.credentials === "default") return makeAzureIdentity({ client: { clientId }, authorityHost })
  const { tenantId } = azure
  const clientSecret = secretAt(azure.clientSecret, resolve)
  if (tenantId === undefined || clientId === undefined || clientSecret === undefined) return undefined
  return makeAzureIdentity({ client: { tenantId, clientId, clientSecret }, authorityHost })
}

const awsIdentity = (aws: NonNullable<Vendor["aws"]>, resolve: Resolve): Identity | undefined => {
  const { region, assumeRole, externalId } = aws
  const role = assumeRole === undefined ? undefined : { arn: assumeRole, externalId }
  if (aws.credentials === "default") return makeAwsIdentity({ region, keys: "default", role })
  const accessKeyId = secretAt(aws.accessKeyId, resolve)
  const secretAccessKey = secretAt(aws.secretAccessKey, resolve)
  if (accessKeyId === undefined || secretAccessKey === undefined) return undefined
  const sessionToken = secretAt(aws.sessionToken, resolve)
  return makeAwsIdentity({ region, keys: { accessKeyId, secretAccessKey, sessionToken }, role })
}

const secretAt = (ref: string | undefined, resolve: Resolve): Redacted.Redacted | undefined => {
  const secret = ref === undefined ? undefined : resolve(ref)
  return secret === undefined ? undefined : Redacted.make(secret)
}

/** The secrets that an entry references. */
export const identityReferences = ({ aws, google, azure }: Pick<Vendor, "aws" | "google" | "azure">) =>
  [
    aws?.accessKeyId,
    aws?.secretAccessKey,
    aws?.sessionToken,
    google?.credentials === "default" ? undefined : google?.credentials,
    azure?.clientSecret,
  ].filter((ref) => ref !== undefined)
