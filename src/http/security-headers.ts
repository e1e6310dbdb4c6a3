/**
 * Headers of every reply: no content is taken for another type than it has, and a gateway that is reached by HTTPS is never
 * asked over HTTP again. Sources: Fetch Standard, "X-Content-Type-Options"; RFC 6797.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { WeirConfig } from "../config.ts"
import { isHttps } from "./request.ts"

export const noSniff = ["x-content-type-options", "nosniff"] as const

/** A year. Without subdomains, which may be somebody else's. */
const strictTransport = "max-age=31536000"

export const makeSecurityHeaders = (config: Pick<WeirConfig["Service"], "publicUrl" | "tls">) => {
  const secure = isHttps(config)
  return (_request: IncomingMessage, response: ServerResponse): void => {
    response.setHeader(...noSniff)
    if (secure) response.setHeader("strict-transport-security", strictTransport)
  }
}
