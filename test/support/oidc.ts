/** A real OpenID Connect provider over TLS, which logs in any subject; and one with invalid ID tokens. */
import { createHash } from "node:crypto"
import type { RequestListener } from "node:http"
import { createServer, type Server } from "node:https"
import { text } from "node:stream/consumers"
import { rootCertificates, setDefaultCACertificates } from "node:tls"
import { exportJWK, generateKeyPair, SignJWT } from "jose"
import Provider from "oidc-provider"
import { portOf } from "../../src/testing/port.ts"
import type { Browser, Shown } from "./browser.ts"
import { certificate, privateKey } from "./certificate.ts"

const listen = async (handle: (origin: string) => RequestListener): Promise<{ origin: string; server: Server }> => {
  setDefaultCACertificates([...rootCertificates, certificate])
  const server = createServer({ cert: certificate, key: privateKey })
  await new Promise<void>((resolve) => server.listen(0, "localhost", resolve))
  const origin = `https://localhost:${portOf(server)}`
  server.on("request", handle(origin))
  return { origin, server }
}

const stopping = (server: Server) => () =>
  new Promise<void>((resolve) => {
    server.closeAllConnections()
    server.close(() => resolve())
  })

export interface TestProvider {
  readonly issuer: string
  /** The email address of a subject, if any. */
  readonly emails: Map<string, string>
  /** Other claims of a subject, which are in the ID token. */
  readonly claims: Map<string, Readonly<Record<string, unknown>>>
  /** Logs in with the browser's current page as a subject, and consents. */
  readonly logIn: (browser: Browser, subject: string) => Promise<Shown>
  readonly stop: () => Promise<void>
}

export const clientId = "weir-test"
/** The secret that the tests' resolver returns. */
const clientSecret = "vendor-credential"

/** @param redirectUris evaluated at the first request: the gateway's address is not known before */
export const startOidc = async (redirectUris: () => ReadonlyArray<string>): Promise<TestProvider> => {
  const emails = new Map<string, string>()
  const claims: TestProvider["claims"] = new Map()
  let provider: Provider | undefined
  const { origin, server } = await listen((issuer) => (request, response) => {
    provider ??= makeProvider(issuer, redirectUris(), { emails, claims })
    void provider.callback()(request, response)
  })
  return {
    issuer: origin,
    emails,
    claims,
    logIn: async (browser, subject) => {
      const { pathname } = browser.shown.url
      await browser.submit(pathname, { login: subject, password: "any" })
      return browser.submit(browser.shown.url.pathname, {})
    },
    stop: stopping(server),
  }
}

const makeProvider = (
  issuer: string,
  redirectUris: ReadonlyArray<string>,
  { emails, claims }: Pick<TestProvider, "emails" | "claims">,
): Provider =>
  new Provider(issuer, {
    clients: [{ client_id: clientId, client_secret: clientSecret, redirect_uris: [...redirectUris] }],
    claims: {
      openid: ["sub", "groups", "hasgroups"],
      email: ["email", "email_verified"],
      profile: ["oid", "preferred_username"],
    },
    // Entra ID puts the claims of the scopes into the ID token too.
    conformIdTokenClaims: false,
    cookies: { keys: ["a key of this test's cookies"] },
    pkce: { required: () => true },
    findAccount: (_context, sub) => {
      const email = emails.get(sub)
      const verified = email !== undefined && { email, email_verified: true }
      return { accountId: sub, claims: () => ({ sub, ...verified, ...claims.get(sub) }) }
    },
  })

/** The faults of a dishonest provider. */
export interface Spoiled {
  readonly claims?: Record<string, unknown>
  readonly signedByAnother?: boolean
  readonly unsigned?: boolean
  readonly tokenStatus?: number
  readonly metadata?: Record<string, unknown>
  readonly userinfo?: Record<string, unknown>
}

/** A provider that redirects straight back and answers as scripted. */
export const startHostileOidc = async () => {
  const ours = await generateKeyPair("ES256")
  const another = await generateKeyPair("ES256")
  const jwk = { ...(await exportJWK(ours.publicKey)), kid: "k", alg: "ES256", use: "sig" }
  let spoiled: Spoiled = {}
  let nonce = ""
  const seen = { challenge: "", verifierFits: false, metadataAsked: 0 }

  const idToken = async (issuer: string): Promise<string> => {
    const claims = { nonce, email: "ada@example.com", ...spoiled.claims }
    const head = spoiled.unsigned === true ? "none" : "ES256"
    const nowS = Math.floor(Date.now() / 1000)
    const payload = { iss: issuer, aud: clientId, sub: "subject", iat: nowS, exp: nowS + 60, ...claims }
    if (head === "none") {
      const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url")
      return `${part({ alg: "none" })}.${part(payload)}.`
    }
    const signer = spoiled.signedByAnother === true ? another.privateKey : ours.privateKey
    return new SignJWT(payload).setProtectedHeader({ alg: "ES256", kid: "k" }).sign(signer)
  }

  const { origin, server } = await listen((issuer) => async (request, response) => {
    const url = new URL(request.url ?? "/", issuer)
    const json = (value: unknown, status = 200) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value))
    if (url.pathname === "/.well-known/openid-configuration") {
      seen.metadataAsked++
      return json({
        issuer,
        authorization_endpoint: `${issuer}/auth`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/jwks`,
        userinfo_endpoint: `${issuer}/me`,
        response_types_supported: ["code"],
        id_token_signing_alg_values_supported: ["ES256"],
        ...spoiled.metadata,
      })
    }
    if (url.pathname === "/jwks") return json({ keys: [jwk] })
    if (url.pathname === "/me") return json({ sub: "subject", ...spoiled.userinfo })
    if (url.pathname === "/auth") {
      nonce = url.searchParams.get("nonce") ?? ""
      seen.challenge = url.searchParams.get("code_challenge") ?? ""
      const back = new URL(url.searchParams.get("redirect_uri") ?? issuer)
      back.searchParams.set("code", "c")
      back.searchParams.set("state", url.searchParams.get("state") ?? "")
      return response.writeHead(302, { location: back.href }).end()
    }
    const form = new URLSearchParams(await text(request))
    const challenge = createHash("sha256")
      .update(form.get("code_verifier") ?? "")
      .digest("base64url")
    seen.verifierFits = challenge === seen.challenge
    if (spoiled.tokenStatus !== undefined) return json({ error: "invalid_client" }, spoiled.tokenStatus)
    return json({ access_token: "a", token_type: "Bearer", id_token: await idToken(issuer) })
  })
  return {
    issuer: origin,
    seen,
    spoil: (how: Spoiled) => {
      spoiled = how
    },
    stop: stopping(server),
  }
}
