/** The managed identity of the machine on which tests run: it starts once in each process, and is not stopped. */
import { startIssuer } from "./issuer.ts"

/** Tokens by their purpose. */
const tokens: Readonly<Record<string, string>> = {
  "https://cognitiveservices.azure.com": "managed",
  "https://vault.azure.net": "managed-for-vaults",
}

const variable = "WEIR_TEST_MANAGED_IDENTITY"

/** A managed identity, with the variables by which Azure announces it. */
export const managedIdentity = async (): Promise<{
  readonly IDENTITY_ENDPOINT: string
  readonly IDENTITY_HEADER: string
}> => {
  process.env[variable] ??= (await start()).url
  return { IDENTITY_ENDPOINT: `${process.env[variable]}/msi/token`, IDENTITY_HEADER: "of-the-machine" }
}

const start = () =>
  startIssuer(({ headers, path }) => {
    if (headers["x-identity-header"] !== "of-the-machine") return { status: 401, body: {} }
    const resource = new URL(path, "http://machine").searchParams.get("resource") ?? ""
    const token = Object.hasOwn(tokens, resource) ? tokens[resource] : undefined
    if (token === undefined) return { status: 400, body: {} }
    const expires = String(Math.floor(Date.now() / 1000) + 3600)
    return { body: { access_token: token, expires_on: expires, resource, token_type: "Bearer" } }
  })

/**
 * Azure's library keeps the first way to a managed identity for as long as a process lives; files of tests share their process,
 * and each has a way of its own.
 */
export const forgetManagedIdentity = async (): Promise<void> => {
  const { ManagedIdentityApplication } = await import("@azure/msal-node")
  const client: object = Reflect.get(new ManagedIdentityApplication(), "managedIdentityClient")
  if (client.constructor.name !== "ManagedIdentityClient") throw new Error("Azure's library keeps its way elsewhere")
  Reflect.set(client.constructor, "identitySource", undefined)
}
