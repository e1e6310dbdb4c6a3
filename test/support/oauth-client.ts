/** A client that a person connects in a browser, step by step, so that tests can make each step wrong. */
import { createHash, randomBytes } from "node:crypto"
import { Browser, type Shown } from "./browser.ts"
import type { startSmtp } from "./smtp.ts"

type Smtp = Awaited<ReturnType<typeof startSmtp>>

export const callback = "http://127.0.0.1:4711/callback"

export interface Registered {
  readonly client_id: string
  readonly client_secret?: string
}

export const registrationOf = async (response: Response): Promise<Registered> => {
  const body: unknown = await response.json()
  return { ...pick(body, "client_id"), ...optional(body, "client_secret") } as const
}

const fieldOf = (body: unknown, name: string): unknown =>
  typeof body === "object" && body !== null ? Reflect.get(body, name) : undefined

const pick = (body: unknown, name: "client_id") => {
  const value = fieldOf(body, name)
  if (typeof value !== "string") throw new Error(`no ${name}: ${JSON.stringify(body)}`)
  return { [name]: value }
}

const optional = (body: unknown, name: "client_secret") => {
  const value = fieldOf(body, name)
  return typeof value === "string" ? { [name]: value } : {}
}

/** @param baseUrl the gateway's address @param smtp receives the codes of logins */
export const makeOauthClient = (baseUrl: () => string, smtp: Smtp) => {
  const isOurs = ({ origin }: URL) => origin === new URL(baseUrl()).origin
  const form = (path: string, fields: Record<string, string>, headers: Record<string, string> = {}) =>
    fetch(`${baseUrl()}${path}`, { method: "POST", body: new URLSearchParams(fields), headers })
  const register = (body: object) =>
    fetch(`${baseUrl()}/oauth/register`, {
      method: "POST",
      body: JSON.stringify(body),
      headers: { "content-type": "application/json" },
    })
  const registered = async (more: object = {}) =>
    registrationOf(
      await register({
        client_name: "Editor",
        redirect_uris: [callback],
        token_endpoint_auth_method: "none",
        ...more,
      }),
    )

  const newRequest = (clientId: string, more: Record<string, string | undefined> = {}) => {
    const verifier = randomBytes(32).toString("base64url")
    const fields: Record<string, string | undefined> = {
      response_type: "code",
      client_id: clientId,
      redirect_uri: callback,
      code_challenge: createHash("sha256").update(verifier).digest("base64url"),
      code_challenge_method: "S256",
      state: randomBytes(8).toString("hex"),
      resource: `${baseUrl()}/mcp`,
      scope: "tools",
      ...more,
    }
    const query = new URLSearchParams(
      Object.entries(fields).filter((field): field is [string, string] => field[1] !== undefined),
    )
    return { verifier, state: fields["state"], url: `${baseUrl()}/oauth/authorize?${query}` }
  }

  return {
    form,
    register,
    registered,
    newRequest,
    newBrowser: () => new Browser(isOurs),
    /** Logs in with the login page that a browser shows. */
    logIn: async (browser: Browser, email: string): Promise<Shown> => {
      const before = smtp.lettersTo(email).length
      await browser.submit("login", { email })
      return browser.submit("login/code", { code: await smtp.codeFor(email, before + 1) })
    },
    token: (fields: Record<string, string>, headers: Record<string, string> = {}) =>
      form("/oauth/token", fields, headers),
  }
}

/** The parameters of the answer at which a browser stopped. */
export const answerOf = ({ url }: Shown): Record<string, string> => Object.fromEntries(url.searchParams)
