/**
 * Secrets of Azure's Key Vault, with the identity of the machine.
 * Source: https://learn.microsoft.com/rest/api/keyvault/secrets/get-secret/get-secret
 */
import { Effect, Schema } from "effect"
import { makeAzureIdentity } from "../cloud-identities/azure.ts"
import { askAs, type Client, type ReadSecret, reader, refusedWith } from "./store.ts"

const store = "Azure Key Vault"
const apiVersion = "7.4"

const readReply = reader(store, Schema.Struct({ value: Schema.String }))

/** @param template the address of a vault, with `{vault}` in place of its name */
export const readAzure = (client: Client, template: string): ReadSecret => {
  const identity = makeAzureIdentity({
    scope: scopeOf(template),
    client: { clientId: undefined },
    authorityHost: undefined,
  })
  return Effect.fnUntraced(function* (name) {
    const [vault = "", ...secret] = name.split("/")
    const { origin, pathname } = new URL(template.replace("{vault}", vault))
    const { status, body } = yield* askAs(identity, client, store, {
      method: "GET",
      baseUrl: origin,
      path: `${pathname.replace(/\/$/, "")}/secrets/${secret.join("/")}?api-version=${apiVersion}`,
    })
    if (status !== 200) return yield* refusedWith(store, status)
    return (yield* readReply(body)).value
  })
}

/** A token is for the domain of the vaults, which national clouds have of their own. */
const scopeOf = (template: string): `https://${string}` =>
  `https://${/^https:\/\/\{vault\}\.([^/:]+)/.exec(template)?.[1] ?? "vault.azure.net"}/.default`
