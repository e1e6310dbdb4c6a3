/**
 * Headers of every reply: browsers must not guess another content type, and must not use HTTP for a gateway that they have
 * reached by HTTPS. Sources: Fetch Standard, "X-Content-Type-Options"; RFC 6797.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { WeirConfig } from "../config.ts"
import { isHttps } from "./request.ts"

export const noSniff = ["x-content-type-options", "nosniff"] as const

/** A year. Subdomains are not included, because somebody else may own them. */
const strictTransport = "max-age=31536000"

export const makeSecurityHeaders = (config: Pick<WeirConfig["Service"], "publicUrl" | "tls">) => {
  const secure = isHttps(config)
  return (_request: IncomingMessage, response: ServerResponse): void => {
    response.setHeader(...noSniff)
    if (secure) response.setHeader("strict-transport-security", strictTransport)
  }
}
