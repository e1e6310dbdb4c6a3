/**
 * The answer to a call of a server at which the caller has no account: the address at which the account is connected, in the form
 * that the client takes.
 * Sources: https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#url-elicitation-required-error,
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr
 */
import { createHash } from "node:crypto"
import { isObject } from "../../dialects/parse/json.ts"
import { ownInput } from "../../kinds/tool/tool-message.ts"
import type { ServiceError } from "../../protocol/error.ts"
import type { JsonObject, MessageError, RequestMessage } from "../../protocol/mcp/message.ts"
import { metaNames } from "../../protocol/mcp/versions.ts"
import type { NeededAccount } from "../../tool-servers/ask-server.ts"
import { metaIn } from "./read-message.ts"
import type { ClientSession } from "./session-token.ts"

/** The way in which a client takes addresses that its person is asked to open. */
export interface AccountAsking {
  readonly origin: string
  readonly isStateless: boolean
  readonly takesAddresses: boolean
}

export const askingOf = (
  origin: string,
  isStateless: boolean,
  message: RequestMessage,
  session: ClientSession | undefined,
): AccountAsking => {
  const capabilities = isStateless ? metaIn(message)[metaNames.capabilities] : session?.capabilities
  const elicitation = isObject(capabilities) ? capabilities["elicitation"] : undefined
  const takesAddresses = isObject(elicitation) && isObject(elicitation["url"])
  return { origin: origin.replace(/\/$/, ""), isStateless, takesAddresses }
}

/** The account that a failure of a call names; undefined if it is about something else. */
export const neededIn = ({ message, detail }: ServiceError): NeededAccount | undefined => {
  if (detail?.["reason"] !== "account_needed") return undefined
  const { server, path } = detail
  return typeof server === "string" ? { server, message, ...(typeof path === "string" && { path }) } : undefined
}

/** The code of an error that asks a person to open an address. */
const addressNeeded = -32042

export const accountAnswer = (
  needed: NeededAccount,
  { origin, isStateless, takesAddresses }: AccountAsking,
): { readonly result: JsonObject } | { readonly error: MessageError } => {
  const { server, path } = needed
  const url = path === undefined ? undefined : `${origin}${path}`
  const message = path === undefined ? needed.message : needed.message.replace(path, url ?? path)
  if (url === undefined || !takesAddresses) {
    const detail = { reason: "account_needed", server, ...(url !== undefined && { url }) }
    return { error: { code: 403, message, data: { error: { code: "forbidden", message, detail } } } }
  }
  if (isStateless) {
    const request = { method: "elicitation/create", params: { mode: "url", message, url } }
    return { result: { resultType: "input_required", inputRequests: { [ownInput]: request } } }
  }
  const elicitationId = createHash("sha256").update(url).digest("hex").slice(0, 32)
  return {
    error: { code: addressNeeded, message, data: { elicitations: [{ mode: "url", elicitationId, url, message }] } },
  }
}

/** The name of the tool of a server at which the caller has no account: it answers with the address. */
export const connectTool = (needed: NeededAccount, name: string): JsonObject => ({
  name: "connect_account",
  title: `Connect ${name}`,
  description: `Gives the address at which the person connects an account at ${name}. Its other tools are listed after that. ${needed.message}`,
  inputSchema: { type: "object", properties: {} },
  annotations: { readOnlyHint: true },
})
