/**
 * Addresses of PostgreSQL: `postgres://[user:password@]host[:port]/database?parameter=value`, with the parameters of libpq
 * that are supported here. Another parameter is refused: an operator who writes `ssl=true` must not be connected in plain
 * text.
 *
 * @see https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-PARAMKEYWORDS
 */
import { Result } from "effect"

/**
 * The encryption of a connection and the authorities that it trusts; undefined if the driver's own reading of `sslmode` is
 * enough.
 */
export interface DatabaseTls {
  /** Whether the certificate must have the server's name; `verify-ca` accepts any name. */
  readonly checksName: boolean
  /** Files in PEM; the machine's authorities if `ca` is absent. */
  readonly ca: string | undefined
  readonly cert: string | undefined
  readonly key: string | undefined
}

export interface DatabaseUrl {
  readonly host: string
  readonly password: string | undefined
  readonly tls: DatabaseTls | undefined
}

const modes = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"]

/** The allowed values of each parameter; a parameter without a list takes any value. */
const parameters: Readonly<Record<string, ReadonlyArray<string> | undefined>> = Object.assign(Object.create(null), {
  host: undefined,
  port: undefined,
  user: undefined,
  password: undefined,
  dbname: undefined,
  application_name: undefined,
  options: undefined,
  connect_timeout: undefined,
  sslmode: modes,
  sslrootcert: undefined,
  sslcert: undefined,
  sslkey: undefined,
  // The driver implements these values; `require` is met by a certificate that is verified, see below.
  channel_binding: ["disable", "prefer", "require"],
  // Parameters that need no code here: pools work, readiness asks for a server that takes writes, sockets are kept alive.
  pgbouncer: ["true"],
  target_session_attrs: ["any", "read-write", "primary"],
  keepalives: undefined,
  keepalives_idle: undefined,
  keepalives_interval: undefined,
  keepalives_count: undefined,
  sslsni: ["1"],
  gssencmode: ["disable", "prefer"],
})

/** @returns the parts of the text, or the error, which never contains the password */
export const parseDatabaseUrl = (text: string): Result.Result<DatabaseUrl, string> => {
  const url = URL.parse(text)
  if (!/^postgres(ql)?:/.test(text)) return Result.fail("it must begin with postgres://")
  if (url === null || url.hostname.includes(","))
    return Result.fail("it is no URL of one server; a folder of sockets is written ?host=/folder after a host")
  const given = url.searchParams
  for (const [name, value] of given) {
    if (!(name in parameters)) return Result.fail(`the parameter ${JSON.stringify(name)} is unknown${adviceOf(name)}`)
    const allowed = parameters[name]
    if (allowed?.includes(value) === false) return Result.fail(`${name} is one of ${allowed.join(", ")}`)
  }
  const password = given.get("password") ?? decode(url.password)
  if (password === undefined) return Result.fail("its password is not percent-encoded")
  const mode = given.get("sslmode") ?? "disable"
  const [ca, cert, key] = ["sslrootcert", "sslcert", "sslkey"].map((name) => given.get(name) || undefined)
  if ((cert === undefined) !== (key === undefined)) return Result.fail("sslcert and sslkey belong together")
  const isVerified = mode.startsWith("verify-") || mode === "require"
  if (given.get("channel_binding") === "require" && !isVerified) {
    return Result.fail("channel_binding=require needs sslmode=verify-full, verify-ca or require")
  }
  if ((ca ?? cert) !== undefined && !isVerified) {
    return Result.fail("sslrootcert, sslcert and sslkey need sslmode=verify-full, verify-ca or require")
  }
  const host = (given.get("host") ?? url.hostname).replace(/^\[|\]$/g, "")
  const isSystem = ca === undefined || ca === "system"
  return Result.succeed({
    host: host === "" ? "localhost" : host,
    password: password || undefined,
    tls: isVerified
      ? {
          // libpq, too, reads `require` as `verify-ca` if there is an authority. Without one libpq verifies nothing; this code does.
          checksName: mode === "verify-full" || (mode === "require" && isSystem) || ca === "system",
          ca: isSystem ? undefined : ca,
          cert,
          key,
        }
      : undefined,
  })
}

const adviceOf = (name: string): string => (name === "ssl" ? "; write sslmode=verify-full" : "")

const decode = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
