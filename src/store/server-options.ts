/**
 * The options of connections to a server of PostgreSQL, by its URL. Passwords and certificates in files are read for each
 * connection.
 */
import { isIP } from "node:net"
import { type ConnectionOptions, checkServerIdentity } from "node:tls"
import type * as PgClient from "@effect/sql-pg/PgClient"
import { Effect, Redacted, Result } from "effect"
import { type DatabaseTls, parseDatabaseUrl } from "../protocol/values/database-url.ts"
import { currentFiles, currentSecret, isInFile } from "../secret-files.ts"

const variable = "SVC_DATABASE_URL"

/** Options of connections to a server; `url` may be that of another server of the same cluster. */
export const serverOptions = (url: Redacted.Redacted): Pick<PgClient.PgClientConfig, "url" | "ssl" | "password"> => {
  const { host, tls } = Result.getOrThrow(parseDatabaseUrl(Redacted.value(url)))
  return {
    url,
    ...(tls !== undefined && { ssl: tlsOptions(host, tls) }),
    ...(isInFile(variable) && { password: currentPassword(url) }),
  }
}

/** The user stays the one of the start, because a password that is rotated belongs to it. */
const currentPassword = (url: Redacted.Redacted): Effect.Effect<Redacted.Redacted> => {
  const current = currentSecret(variable, url)
  return Effect.sync(() => {
    const parsed = parseDatabaseUrl(Redacted.value(current()))
    return Redacted.make((Result.isSuccess(parsed) && parsed.success.password) || "")
  })
}

const tlsOptions = (host: string, { checksName, ca, cert, key }: DatabaseTls): ConnectionOptions =>
  Object.defineProperties(
    {
      ...(isIP(host) === 0 && { servername: host }),
      // The socket is made before, so TLS needs the name of the host.
      checkServerIdentity: (_: string, certificate: Parameters<typeof checkServerIdentity>[1]) =>
        checksName ? checkServerIdentity(host, certificate) : undefined,
    },
    currentFiles({ ca, cert, key }),
  )
