/** The parameters of a request for authorization. Sources: OAuth 2.1 section 4.1.1; RFC 7636; RFC 8707. */
import { Result } from "effect"
import type { OauthRequest } from "../../identity/oauth/oauth-requests.ts"
import type { Parameters } from "./oauth-reply.ts"
import { serverOfResource } from "./resources.ts"

/** A request that its client gets back. */
export interface Refused {
  readonly error: string
  readonly description: string
}

const refused = (error: string, description: string) => Result.fail<Refused>({ error, description })

/** @param origin our public address */
export const readAuthorization = (
  parameters: Parameters,
  origin: string,
): Result.Result<Pick<OauthRequest, "state" | "challenge" | "server">, Refused> => {
  const [type, mode, resource] = [
    parameters.get("response_type"),
    parameters.get("response_mode") ?? "query",
    parameters.get("resource"),
  ]
  if (parameters.has("request")) return refused("request_not_supported", "request is not supported")
  if (parameters.has("request_uri")) return refused("request_uri_not_supported", "request_uri is not supported")
  if (type === undefined) return refused("invalid_request", "response_type is required")
  if (type !== "code") return refused("unsupported_response_type", "response_type is code")
  if (mode !== "query") return refused("invalid_request", "response_mode is query")
  const challenge = parameters.get("code_challenge")
  if (challenge === undefined) return refused("invalid_request", "code_challenge is required (RFC 7636)")
  if (parameters.get("code_challenge_method") !== "S256")
    return refused("invalid_request", "code_challenge_method is S256")
  if (!challengePattern.test(challenge)) return refused("invalid_request", "code_challenge is not one of S256")
  const place = resource === undefined ? {} : serverOfResource(origin, resource)
  if (place === "unknown") return refused("invalid_target", "The resource is not one of this server")
  // Each answer to it would need a person, and none may be asked.
  if (parameters.get("prompt")?.split(" ").includes("none") === true)
    return refused("interaction_required", "A person must decide")
  return Result.succeed({ state: parameters.get("state"), challenge, server: place.server })
}

/** A SHA-256 as base64url. */
const challengePattern = /^[A-Za-z0-9_-]{43}$/
