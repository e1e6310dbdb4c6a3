/** A service that issues tokens, for a test: its answers are functions, and it remembers what it was asked. */
import { createServer, type IncomingMessage, type RequestListener } from "node:http"
import { createServer as createSecureServer } from "node:https"
import { text } from "node:stream/consumers"
import { portOf } from "../../src/testing/port.ts"
import { authority, issued } from "./certificate.ts"

export interface Asked {
  readonly method: string
  readonly path: string
  readonly headers: IncomingMessage["headers"]
  readonly body: string
  /** The body as a form. */
  readonly form: Readonly<Record<string, string>>
}

export interface Answer {
  readonly status?: number
  readonly body: string | object
  readonly type?: string
  readonly headers?: Readonly<Record<string, string>>
}

export interface Issuer {
  readonly url: string
  readonly asked: Array<Asked>
  /** Replaces what it answers. */
  answer: (asked: Asked) => Answer | Promise<Answer>
  readonly stop: () => void
}

/** The authority that a client of a secure one must know. */
export const issuerAuthority = authority

export const startIssuer = async (
  answer: Issuer["answer"],
  { isSecure = false }: { readonly isSecure?: boolean } = {},
): Promise<Issuer> => {
  const asked: Array<Asked> = []
  const listener: RequestListener = async (request, response) => {
    const body = await text(request)
    const received = {
      method: request.method ?? "",
      path: request.url ?? "",
      headers: request.headers,
      body,
      form: Object.fromEntries(new URLSearchParams(body)),
    }
    asked.push(received)
    const { status = 200, body: said, type = "application/json", headers = {} } = await issuer.answer(received)
    response.writeHead(status, { "content-type": type, ...headers })
    response.end(typeof said === "string" ? said : JSON.stringify(said))
  }
  const server = isSecure ? createSecureServer(issued.server, listener) : createServer(listener)
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve))
  const issuer: Issuer = {
    url: `${isSecure ? "https" : "http"}://127.0.0.1:${portOf(server)}`,
    asked,
    answer,
    stop: () => {
      server.close()
      server.closeAllConnections()
    },
  }
  return issuer
}

/** Entra: discovery, and a token for a client that knows the secret. */
export const startEntra = async (
  secret: string,
): Promise<Issuer & { readonly forms: () => ReadonlyArray<Asked["form"]> }> => {
  let tokens = 0
  const entra: Issuer = await startIssuer(
    ({ path, form }) => {
      const [, tenant = ""] = path.split("/")
      const place = `${entra.url}/${tenant}`
      if (path.includes("/.well-known/openid-configuration")) {
        return {
          body: {
            issuer: `${place}/v2.0`,
            authorization_endpoint: `${place}/oauth2/v2.0/authorize`,
            token_endpoint: `${place}/oauth2/v2.0/token`,
            jwks_uri: `${place}/keys`,
          },
        }
      }
      const isKnown = form["client_secret"] === secret || form["client_assertion"] !== undefined
      return isKnown
        ? { body: { token_type: "Bearer", expires_in: 3599, access_token: `entra-${++tokens}` } }
        : {
            status: 401,
            body: { error: "invalid_client", error_description: "AADSTS7000215: Invalid client secret provided." },
          }
    },
    { isSecure: true },
  )
  const forms = () => entra.asked.filter(({ method }) => method === "POST").map(({ form }) => form)
  return Object.assign(entra, { forms })
}
