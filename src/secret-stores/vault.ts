/**
 * Secrets of HashiCorp Vault's key-value engine, version 1 and 2, with a token, or signed in as a service account of
 * Kubernetes or by AppRole.
 * Source: https://developer.hashicorp.com/vault/api-docs/secret/kv/kv-v2,
 * https://developer.hashicorp.com/vault/api-docs/auth/kubernetes, https://developer.hashicorp.com/vault/api-docs/auth/approle
 */
import { Effect, Redacted, Schema } from "effect"
import { IdentityFailed } from "../cloud-identities/identity.ts"
import { type Issued, Renewed } from "../cloud-identities/renewed.ts"
import { secretInFile } from "../secret-files.ts"
import { readNetwork } from "../upstream/network.ts"
import { ask, type Client, type ReadSecret, reader, refusedWith, SecretUnread, unread } from "./store.ts"

export interface VaultOptions {
  /** `VAULT_ADDR`. */
  readonly url: string | undefined
  readonly namespace: string | undefined
  /** The file of a certificate authority in PEM, read for each request. */
  readonly caFile: string | undefined
  /** The token of this moment. */
  readonly token: () => Redacted.Redacted | undefined
  /** The login that is used if there is no token. */
  readonly login: VaultLogin | undefined
}

/** A method of `auth/` and its arguments. */
export interface VaultLogin {
  /** The path where the method is mounted. */
  readonly mount: string
  readonly as: KubernetesLogin | AppRoleLogin
}

interface KubernetesLogin {
  readonly role: string
  /** The file of the service account's token, read for each login. */
  readonly jwtFile: string
}

interface AppRoleLogin {
  readonly roleId: string
  readonly secretId: () => Redacted.Redacted | undefined
}

const store = "Vault"
/** A login whose token has no end is made again after this. */
const longestLifeMs = 3_600_000

const isRecord = Schema.is(Schema.Record(Schema.String, Schema.Json))
const readReply = reader(store, Schema.Struct({ data: Schema.Record(Schema.String, Schema.Json) }))
const readLogin = reader(
  store,
  Schema.Struct({ auth: Schema.Struct({ client_token: Schema.NonEmptyString, lease_duration: Schema.Finite }) }),
)

export const readVault = (client: Client, { url, namespace, caFile, token, login }: VaultOptions): ReadSecret => {
  const send = (method: "GET" | "POST", path: string, headers: Readonly<Record<string, string>>, body = "") => {
    const address = url === undefined ? null : URL.parse(url)
    if (address === null || !/^https?:$/.test(address.protocol)) {
      return Effect.fail(unread("VAULT_ADDR is not set, or is no http(s) URL"))
    }
    const ca = caFile === undefined ? undefined : secretInFile(caFile)
    if (caFile !== undefined && ca === undefined) return Effect.fail(unread(`VAULT_CACERT: ${caFile} cannot be read`))
    return ask(client, store, {
      method,
      baseUrl: address.origin,
      path: `${address.pathname.replace(/\/$/, "")}/v1/${path.split("/").map(encodeURIComponent).join("/")}`,
      headers: {
        "x-vault-request": "true",
        ...(namespace !== undefined && { "x-vault-namespace": namespace }),
        ...headers,
      },
      body,
      network: ca === undefined ? undefined : readNetwork({ tls: { ca } }, () => undefined),
    })
  }

  const signIn = Effect.fnUntraced(function* ({ mount, as }: VaultLogin) {
    const startedAtMs = Date.now()
    const json = { "content-type": "application/json" }
    const { status, body } = yield* send("POST", `auth/${mount}/login`, json, JSON.stringify(yield* loginBody(as)))
    if (status !== 200) return yield* unread(`Vault answers ${status} to the login at auth/${mount}`)
    const { client_token: value, lease_duration: lifeS } = (yield* readLogin(body)).auth
    return { value, expiresAtMs: startedAtMs + (lifeS > 0 ? lifeS * 1000 : longestLifeMs) } satisfies Issued<string>
  })

  const issued = new Renewed<string>((cause) => (cause instanceof SecretUnread ? cause.sentence : loginFailed))
  const issuedToken = (login: VaultLogin) =>
    Effect.tryPromise({
      try: () => issued.get(() => Effect.runPromise(signIn(login))),
      catch: (cause) => unread(cause instanceof IdentityFailed ? cause.sentence : loginFailed, true),
    })

  const read = (path: string, token: string) => send("GET", path, { "x-vault-token": token })

  return Effect.fnUntraced(function* (path) {
    const given = token()
    if (given !== undefined) return yield* secretOf(path, yield* read(path, Redacted.value(given)))
    if (login === undefined) return yield* unread(noWay)
    const reply = yield* read(path, yield* issuedToken(login))
    if (reply.status !== 403) return yield* secretOf(path, reply)
    // A token may have been revoked before its end.
    issued.forget()
    return yield* secretOf(path, yield* read(path, yield* issuedToken(login)))
  })
}

/** Version 2 has the secret's members in `data.data`, beside `data.metadata`. */
const secretOf = Effect.fnUntraced(function* (path: string, reply: { readonly status: number; readonly body: string }) {
  if (reply.status === 404) {
    return yield* unread(`Vault has nothing at ${path}; a path of version 2 has data/ behind its mount`)
  }
  if (reply.status !== 200) return yield* refusedWith(store, reply.status)
  const { data } = yield* readReply(reply.body)
  return JSON.stringify(isRecord(data["data"]) && isRecord(data["metadata"]) ? data["data"] : data)
})

const loginBody = (as: VaultLogin["as"]) => {
  if ("roleId" in as) {
    const secretId = as.secretId()
    return Effect.succeed({
      role_id: as.roleId,
      ...(secretId !== undefined && { secret_id: Redacted.value(secretId) }),
    })
  }
  const jwt = secretInFile(as.jwtFile)
  return jwt === undefined
    ? Effect.fail(unread(`the token of the service account cannot be read: ${as.jwtFile}`))
    : Effect.succeed({ role: as.role, jwt })
}

const noWay = "there is no way to sign in to Vault: set VAULT_TOKEN, SVC_VAULT_ROLE or SVC_VAULT_ROLE_ID"
const loginFailed = "the login at Vault failed"
