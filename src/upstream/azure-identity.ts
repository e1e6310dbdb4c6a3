/**
 * An application of Microsoft Entra: its secret buys tokens for Azure's models.
 * Source: https://learn.microsoft.com/entra/identity-platform/v2-oauth2-client-creds-grant-flow
 */
import { Effect, Redacted } from "effect"
import type { Identity } from "./identity.ts"
import { requestToken, tokenFor } from "./oauth-token.ts"

export interface AzureClient {
  readonly tenantId: string
  readonly clientId: string
  readonly clientSecret: Redacted.Redacted
  /** Where Entra is, e.g. of a national cloud. */
  readonly authorityHost: string | undefined
}

const defaultAuthority = "https://login.microsoftonline.com"
const scope = "https://cognitiveservices.azure.com/.default"

export const makeAzureIdentity = ({ tenantId, clientId, clientSecret, authorityHost }: AzureClient): Identity => {
  const uri = `${(authorityHost ?? defaultAuthority).replace(/\/+$/, "")}/${tenantId}/oauth2/v2.0/token`
  const token = tokenFor(uri, clientId, Redacted.value(clientSecret))
  return {
    authorize: async (_request, route) => {
      const form = () => ({
        grant_type: "client_credentials",
        client_id: clientId,
        client_secret: Redacted.value(clientSecret),
        scope,
      })
      return { authorization: `Bearer ${await token.get(() => Effect.runPromise(requestToken(uri, form(), route)))}` }
    },
  }
}
