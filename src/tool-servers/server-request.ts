/** A message as a request to a server of tools. Pure. */
import type { SentRequest } from "../dialects/wire.ts"
import { headerText } from "../tools/header-values.ts"
import { isStateless, type ServerSession } from "./server-session.ts"

export interface Outgoing {
  /** JSON. */
  readonly text: string
  readonly method: string
  /** The tool, prompt or resource that it names. */
  readonly name?: string | undefined
  /** Headers of arguments. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** @param session undefined before there is one @param headers of the server */
export const requestTo = (
  baseUrl: string,
  headers: Readonly<Record<string, string>>,
  session: Pick<ServerSession, "version" | "sessionId"> | undefined,
  { text, method, name, headers: ofArguments }: Outgoing,
): SentRequest => ({
  method: "POST",
  path: lastSlash(baseUrl),
  headers: {
    ...headers,
    accept: "application/json, text/event-stream",
    ...(session !== undefined && { "mcp-protocol-version": session.version }),
    ...(session?.sessionId !== undefined && { "mcp-session-id": session.sessionId }),
    ...(session !== undefined &&
      isStateless(session) && {
        "mcp-method": method,
        ...(name !== undefined && { "mcp-name": headerText(name) }),
        ...ofArguments,
      }),
  },
  body: text,
})

/** A base URL loses its last slash, which is a part of a server's address. */
export const lastSlash = (baseUrl: string): string =>
  URL.canParse(baseUrl) && new URL(baseUrl).pathname.endsWith("/") ? "/" : ""
