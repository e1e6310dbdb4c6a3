/**
 * Identities at Google's cloud: a service account, workload identity federation, or what the machine has. Google's library
 * finds the last two, and is loaded with the first token that is needed; it ignores `token_uri`, and would ask for a service
 * account's token at Google's own address only. Source:
 * https://cloud.google.com/docs/authentication/application-default-credentials
 */
import { readFileSync } from "node:fs"
import { Redacted, Schema } from "effect"
import { badKey, googleScope, ServiceAccount, signInAs } from "./google-account.ts"
import { type AwsFederation, isAwsFederation, isTokenFederation, type TokenFederation } from "./google-federation.ts"
import type { Identity, Route } from "./identity.ts"
import { type Fetch, fetchBy } from "./issuer-fetch.ts"
import { type Issued, KeptRenewed } from "./renewed.ts"

const Credentials = Schema.fromJsonString(Schema.Record(Schema.String, Schema.Json))
const isServiceAccount = Schema.is(ServiceAccount)
const readCredentials = Schema.decodeUnknownOption(Credentials)

/** @param credentials JSON of a service account or of a federation; `default` is what the machine has */
export const makeGoogleIdentity = (credentials: Redacted.Redacted | "default"): Identity => {
  const text = credentials === "default" ? undefined : Redacted.value(credentials)
  const token = tokens.for(text, fileOfMachine())
  return {
    authorize: async (_request, route) => ({ authorization: `Bearer ${await token.get(() => signIn(text, route))}` }),
    problem: () => token.problem,
  }
}

const signIn = async (text: string | undefined, route: Route): Promise<Issued<string>> => {
  const fetch = fetchBy(route)
  const given = text ?? textOfMachine()
  const credentials = given === undefined ? undefined : readCredentials(given)
  if (credentials?._tag === "None") throw notJson
  const found = credentials?.value
  if (isServiceAccount(found)) return signInAs(found, fetch)
  if (found === undefined || isAwsFederation(found) || isTokenFederation(found)) return askLibrary(found, fetch)
  throw unknownType
}

/** The file that is named for all of Google's libraries. */
const fileOfMachine = (): string | undefined => process.env["GOOGLE_APPLICATION_CREDENTIALS"] || undefined

const textOfMachine = (): string | undefined => {
  const file = fileOfMachine()
  return file === undefined ? undefined : readFileSync(file, "utf8")
}

/** @param federation its JSON; what the machine has if undefined */
const askLibrary = async (
  federation: AwsFederation | TokenFederation | undefined,
  fetch: Fetch,
): Promise<Issued<string>> => {
  const library = await import("google-auth-library")
  const options = { scopes: [googleScope], transporterOptions: { fetchImplementation: fetch, retry: false } }
  const client =
    federation === undefined
      ? await new library.GoogleAuth({ scopes: [googleScope], clientOptions: options }).getClient()
      : isAwsFederation(federation)
        ? new library.AwsClient({ ...federation, ...options })
        : new library.IdentityPoolClient({ ...federation, ...options })
  const { token } = await client.getAccessToken()
  if (!token) throw new Error("no token was issued")
  return { value: token, expiresAtMs: client.credentials.expiry_date ?? Date.now() + defaultLifeMs }
}

const defaultLifeMs = 600_000
const notJson = new Error("not JSON")
const unknownType = new Error("unknown type")

const describe = (cause: unknown): string => {
  if (cause === notJson) return "google.credentials is not JSON: it must be what Google gave out for a service account"
  if (cause === badKey) return "the private key of the service account cannot be read"
  if (cause === unknownType) return "google.credentials is neither a service account's JSON nor that of a federation"
  const text = cause instanceof Error ? `${cause.name} ${cause.message}` : ""
  if (/invalid_grant/.test(text)) {
    return "Google does not accept the key of the service account: it was deleted or disabled, or this machine's clock is wrong"
  }
  if (/ENOENT|Could not load the default credentials|Unable to detect/.test(text)) {
    return "this machine has no identity at Google: no GOOGLE_APPLICATION_CREDENTIALS, no file, no metadata service"
  }
  const status = cause instanceof Error && "status" in cause ? cause.status : undefined
  return typeof status === "number"
    ? `Google's token endpoint answers ${status}`
    : "Google's token endpoint cannot be reached"
}

const tokens = new KeptRenewed<string>(describe)
