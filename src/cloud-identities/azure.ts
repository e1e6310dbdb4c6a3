/**
 * Identities at Azure: an application of Microsoft Entra with its secret, or what the machine has (workload identity,
 * managed identity), by Microsoft's library, which is loaded with the first token that is needed.
 * Source: https://learn.microsoft.com/azure/developer/javascript/sdk/authentication/overview
 */
import type { HttpClient } from "@azure/core-rest-pipeline"
import type { TokenCredential } from "@azure/identity"
import { Redacted } from "effect"
import type { Identity, Route } from "./identity.ts"
import { type Fetch, fetchBy } from "./issuer-fetch.ts"
import { type Issued, KeptRenewed, sentenceBy } from "./renewed.ts"

export interface AzureClient {
  readonly tenantId: string
  readonly clientId: string
  readonly clientSecret: Redacted.Redacted
}

export interface AzureAccessOptions {
  /** Models if absent. */
  readonly scope?: AzureScope
  /** The application, or the machine's identity; `clientId` then names one of several managed identities. */
  readonly client: AzureClient | { readonly clientId: string | undefined }
  /** The address of Entra, e.g. of a national cloud. */
  readonly authorityHost: string | undefined
}

const scopes = {
  models: "https://cognitiveservices.azure.com/.default",
  storage: "https://storage.azure.com/.default",
}
/** The purpose of a token: models, storage, or the address of another service. */
export type AzureScope = keyof typeof scopes | `https://${string}`

const scopeText = (scope: AzureScope): string => (scope === "models" || scope === "storage" ? scopes[scope] : scope)

export const makeAzureIdentity = ({ scope = "models", client, authorityHost }: AzureAccessOptions): Identity => {
  const secrets = "clientSecret" in client ? [client.tenantId, Redacted.value(client.clientSecret)] : ["default"]
  const token = tokens.for(scope, authorityHost, client.clientId, ...secrets)
  return {
    authorize: async (_request, route) => ({
      authorization: `Bearer ${await token.get(() => signIn({ scope, client, authorityHost }, route))}`,
    }),
    problem: () => token.problem,
  }
}

const signIn = async (access: Required<AzureAccessOptions>, route: Route): Promise<Issued<string>> => {
  const credential = await credentialOf(access, fetchBy(route))
  const { token, expiresOnTimestamp } = await credential.getToken(scopeText(access.scope)).then((issued) => {
    if (issued === null) throw new Error("no token was issued")
    return issued
  })
  return { value: token, expiresAtMs: expiresOnTimestamp }
}

const credentialOf = async (
  { client, authorityHost }: Omit<AzureAccessOptions, "scope">,
  fetch: Fetch,
): Promise<TokenCredential> => {
  const { ClientSecretCredential, DefaultAzureCredential } = await import("@azure/identity")
  const { createHttpHeaders } = await import("@azure/core-rest-pipeline")
  const httpClient: HttpClient = {
    sendRequest: async (request) => {
      const { method, url, headers, body } = request
      const reply = await fetch(url, {
        method,
        headers: headers.toJSON(),
        ...(typeof body === "string" && { body }),
      })
      return {
        request,
        status: reply.status,
        headers: createHttpHeaders(Object.fromEntries(reply.headers)),
        bodyAsText: await reply.text(),
      }
    },
  }
  const options = {
    httpClient,
    retryOptions: { maxRetries: 0 },
    // An address of the operator's own is believed.
    ...(authorityHost !== undefined && { authorityHost, disableInstanceDiscovery: true }),
  }
  if ("clientSecret" in client) {
    const { tenantId, clientId, clientSecret } = client
    return new ClientSecretCredential(tenantId, clientId, Redacted.value(clientSecret), options)
  }
  const { clientId } = client
  return new DefaultAzureCredential({
    ...options,
    ...(clientId !== undefined && { managedIdentityClientId: clientId }),
  })
}

/** https://learn.microsoft.com/entra/identity-platform/reference-error-codes */
const sentences: ReadonlyArray<readonly [RegExp, string]> = [
  [/AADSTS7000222/, "the secret of the application has expired: make a new one in Entra"],
  [/AADSTS7000215|invalid_client/, "Entra does not accept the secret of the application"],
  [/AADSTS700016|unauthorized_client/, "the tenant has no such application"],
  [/AADSTS90002/, "Entra has no such tenant"],
  [
    /AADSTS700024|AADSTS70021/,
    "Entra does not accept the token of the workload: it has expired, or is for another one",
  ],
  [
    /ChainedTokenCredential|AggregateAuthenticationError/,
    "this machine has no identity at Azure: no variables, no workload identity, no managed identity",
  ],
]

const tokens = new KeptRenewed<string>(sentenceBy(sentences, "Entra cannot be reached, or answers with an error"))
