/** Stored logins of this user, one per gateway, in a file that only this user can read. */
import { closeSync, mkdirSync, openSync, readFileSync, rmSync, statSync } from "node:fs"
import { homedir } from "node:os"
import { dirname, join } from "node:path"
import { Effect, Option, Schedule, Schema } from "effect"
import { writeWholeFile } from "../files/whole-file.ts"
import { Failed } from "./target.ts"

/** A login at one gateway. */
export const Credential = Schema.Struct({
  email: Schema.String,
  accessToken: Schema.String,
  /** Milliseconds since 1970. */
  expiresAtMs: Schema.Int,
  refreshToken: Schema.String,
})
export type Credential = typeof Credential.Type

const Kept = Schema.fromJsonString(Schema.Record(Schema.String, Credential))
const decodeKept = Schema.decodeUnknownOption(Kept)

const file = (): string =>
  join(process.env["XDG_CONFIG_HOME"] ?? join(homedir(), ".config"), "weir", "credentials.json")

const readAll = (): Readonly<Record<string, Credential>> => {
  try {
    return Option.getOrElse(decodeKept(readFileSync(file(), "utf8")), () => ({}))
  } catch {
    return {}
  }
}

export const credentialFor = (url: string): Credential | undefined => readAll()[url]

/** Stores a login, or removes it if undefined. */
export const storeCredential = (url: string, credential: Credential | undefined): void => {
  const { [url]: _old, ...others } = readAll()
  const kept = credential === undefined ? others : { ...others, [url]: credential }
  writeWholeFile(file(), JSON.stringify(kept, undefined, 2))
}

/** A lock older than this belongs to a process that died: no refresh takes as long. */
const staleMs = 30_000

/** Runs one refresh at a time among all processes of this user: a refresh token used twice ends its login. */
export const alone = <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E | Failed, R> =>
  Effect.acquireUseRelease(
    Effect.retry(Effect.try({ try: takeLock, catch: () => new Failed(`${lock()} is held by another process`) }), {
      schedule: Schedule.spaced("50 millis"),
      times: 400,
    }),
    () => work,
    () => Effect.sync(() => rmSync(lock(), { force: true })),
  )

const lock = (): string => `${file()}.lock`

const takeLock = (): void => {
  mkdirSync(dirname(file()), { recursive: true, mode: 0o700 })
  const age = Date.now() - (statSync(lock(), { throwIfNoEntry: false })?.mtimeMs ?? Date.now())
  if (age > staleMs) rmSync(lock(), { force: true })
  closeSync(openSync(lock(), "wx", 0o600))
}
