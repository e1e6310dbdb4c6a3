/**
 * Pages of other sites must not use a gateway of the machine on which they are shown.
 * Source: https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#security--endpoint
 */
import type { WeirConfig } from "../../config.ts"

const local: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "[::1]"])

/** @returns whether a request with an `Origin` is answered; one without comes from no page */
export const makeOriginCheck = ({
  publicUrl,
  publicHosts,
  corsOrigins,
}: Pick<WeirConfig["Service"], "publicUrl" | "publicHosts" | "corsOrigins">) => {
  const own = publicUrl === undefined ? undefined : URL.parse(publicUrl)?.host
  return (origin: string | undefined): boolean => {
    if (origin === undefined || corsOrigins.includes("*") || corsOrigins.includes(origin)) return true
    const url = URL.parse(origin)
    if (url === null) return false
    return url.host === own || publicHosts.includes(url.host) || local.has(url.hostname)
  }
}
