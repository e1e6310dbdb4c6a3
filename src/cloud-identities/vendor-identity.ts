/** The identity of a vendor or of an export of the catalogue, by its entry and the secrets that it references. */
import { Redacted, Struct } from "effect"
import type { Export } from "../protocol/catalogue/export.ts"
import type { Vendor } from "../protocol/catalogue/vendor.ts"
import { makeAwsIdentity } from "./aws.ts"
import type { AwsService } from "./aws-signing.ts"
import { type AzureScope, makeAzureIdentity } from "./azure.ts"
import { makeGoogleIdentity } from "./google.ts"
import type { Identity } from "./identity.ts"

type Resolve = (ref: string) => string | undefined

interface Purpose {
  readonly service: AwsService
  readonly scope: AzureScope
}

const models: Purpose = { service: "bedrock", scope: "models" }
const files: Purpose = { service: "s3", scope: "storage" }

interface Accesses {
  readonly aws?: Vendor["aws"] | undefined
  readonly azure?: Vendor["azure"] | undefined
  readonly google?: Pick<NonNullable<Vendor["google"]>, "credentials"> | undefined
}

/** Undefined if the entry has none, or a secret cannot be resolved. */
export const identityOfVendor = (vendor: Accesses, resolve: Resolve) => identityFor(models, vendor, resolve)

/** Undefined if it needs none, or a secret cannot be resolved. */
export const identityOfExport = (entry: ExportAccess, resolve: Resolve) =>
  identityFor(files, accessesOfExport(entry), resolve)

type ExportAccess = Pick<Export, "to" | "region" | "credentials">

/** The identity of an export, in the form that vendors have. */
export const accessesOfExport = ({ to, region, credentials }: ExportAccess): Accesses => {
  if (credentials === undefined || to.startsWith("file:")) return {}
  if (to.startsWith("gs:")) return typeof credentials === "string" ? { google: { credentials } } : {}
  const machine = credentials === "default" && { credentials: "default" as const }
  const keys = typeof credentials === "object" ? credentials : {}
  if (to.startsWith("az:")) {
    return { azure: { ...Struct.pick(keys, ["tenantId", "clientId", "clientSecret", "authorityHost"]), ...machine } }
  }
  if (region === undefined) return {}
  const own = Struct.pick(keys, ["accessKeyId", "secretAccessKey", "sessionToken", "assumeRole", "externalId"])
  const isOfMachine = credentials === "default" || (own.accessKeyId === undefined && own.assumeRole !== undefined)
  return { aws: { region, ...own, ...(isOfMachine && { credentials: "default" }) } }
}

const identityFor = ({ service, scope }: Purpose, { aws, google, azure }: Accesses, resolve: Resolve) => {
  if (google !== undefined) return googleIdentity(google, resolve)
  if (azure !== undefined) return azureIdentity(scope, azure, resolve)
  return aws === undefined ? undefined : awsIdentity(service, aws, resolve)
}

const googleIdentity = ({ credentials }: NonNullable<Accesses["google"]>, resolve: Resolve): Identity | undefined => {
  if (credentials === undefined) return undefined
  if (credentials === "default") return makeGoogleIdentity("default")
  const json = secretAt(credentials, resolve)
  return json && makeGoogleIdentity(json)
}

const azureIdentity = (
  scope: AzureScope,
  azure: NonNullable<Vendor["azure"]>,
  resolve: Resolve,
): Identity | undefined => {
  const { authorityHost, clientId } = azure
  if (azure.credentials === "default") return makeAzureIdentity({ scope, client: { clientId }, authorityHost })
  const { tenantId } = azure
  const clientSecret = secretAt(azure.clientSecret, resolve)
  if (tenantId === undefined || clientId === undefined || clientSecret === undefined) return undefined
  return makeAzureIdentity({ scope, client: { tenantId, clientId, clientSecret }, authorityHost })
}

const awsIdentity = (service: AwsService, aws: NonNullable<Vendor["aws"]>, resolve: Resolve): Identity | undefined => {
  const { region, assumeRole, externalId } = aws
  const role = assumeRole === undefined ? undefined : { arn: assumeRole, externalId }
  if (aws.credentials === "default") return makeAwsIdentity({ service, region, keys: "default", role })
  const accessKeyId = secretAt(aws.accessKeyId, resolve)
  const secretAccessKey = secretAt(aws.secretAccessKey, resolve)
  if (accessKeyId === undefined || secretAccessKey === undefined) return undefined
  const sessionToken = secretAt(aws.sessionToken, resolve)
  return makeAwsIdentity({ service, region, keys: { accessKeyId, secretAccessKey, sessionToken }, role })
}

const secretAt = (ref: string | undefined, resolve: Resolve): Redacted.Redacted | undefined => {
  const secret = ref === undefined ? undefined : resolve(ref)
  return secret === undefined ? undefined : Redacted.make(secret)
}

/** The secrets that an entry references. */
export const identityReferences = ({ aws, google, azure }: Accesses) =>
  [
    aws?.accessKeyId,
    aws?.secretAccessKey,
    aws?.sessionToken,
    google?.credentials === "default" ? undefined : google?.credentials,
    azure?.clientSecret,
  ].filter((ref) => ref !== undefined)
