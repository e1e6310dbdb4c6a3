/** The credential of OpenAI's sockets: a header, or for browsers a subprotocol. A query is logged by proxies. */
import { type ServiceError, serviceError } from "../../protocol/error.ts"
import type { RuntimeRequest } from "../caller-request.ts"
import { withCredential } from "../compatible/credential.ts"
import type { Upgrade } from "./upgrades.ts"

/** Source: OpenAI, "Realtime API with WebSockets", connecting from a browser. */
const keyProtocol = "openai-insecure-api-key."

/** The request with its credential in the headers of twp/1. */
export const withSocketCredential = (
  request: RuntimeRequest,
  { protocols }: Pick<Upgrade, "protocols">,
): RuntimeRequest => {
  const key = protocols.find((name) => name.startsWith(keyProtocol))?.slice(keyProtocol.length)
  return withCredential(
    key === undefined ? request : { ...request, headers: { ...request.headers, authorization: `Bearer ${key}` } },
  )
}

/** The reason why a credential in the query is refused; undefined if there is none. */
export const queryCredential = ({ url }: RuntimeRequest): ServiceError<"unauthorized"> | undefined => {
  const query = new URL(url, "http://gateway").searchParams
  return ["key", "api_key", "api-key", "token", "access_token"].some((name) => query.has(name))
    ? serviceError("unauthorized", "A credential in the query is logged by proxies: send it in a header")
    : undefined
}

/** The subprotocol that is chosen: never one that carries a key. */
export const chosenProtocol = (protocols: ReadonlyArray<string>, known: string): string | undefined =>
  protocols.includes(known) ? known : protocols.find((name) => !name.startsWith(keyProtocol))
