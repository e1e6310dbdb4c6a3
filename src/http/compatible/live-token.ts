/**
 * Tokens for sessions with Google's Live API, for browsers and phones. A token is sealed and carries all that it allows: an end
 * user's token, its uses, and the configuration that it fixes. No store has it.
 * Source: https://ai.google.dev/gemini-api/docs/ephemeral-tokens
 */
import { Option, Schema } from "effect"
import { isObject, type JsonObject } from "../../dialects/parse/json.ts"
import type { Sealer } from "../../store/seal.ts"

/** The longest lifetime of a token. Source: https://ai.google.dev/api/live#authtoken */
export const longestLifeMs = 20 * 3_600_000

const prefix = "auth_tokens/"

const LiveTokenContent = Schema.Struct({
  /** The end user's token. */
  token: Schema.String,
  /** The id by which its uses are counted. */
  id: Schema.String,
  /** The number of sessions that it may begin; 0 is any number. */
  uses: Schema.Int,
  /** The time after which it begins no session, and the time at which it was made. */
  beginsUntilMs: Schema.Number,
  madeAtMs: Schema.Number,
  /** The fields of its configuration that a session cannot change. All of them if it has a configuration without a list. */
  setup: Schema.optionalKey(Schema.Record(Schema.String, Schema.Json)),
  fields: Schema.Array(Schema.String),
})
export type LiveToken = typeof LiveTokenContent.Type

const decode = Schema.decodeUnknownOption(Schema.fromJsonString(LiveTokenContent))
const context = "live-token"

export const sealLiveToken = (sealer: Sealer, token: LiveToken): string =>
  `${prefix}${sealer.sealBytes(Buffer.from(JSON.stringify(token)), context).toString("base64url")}`

/** Whether a credential is such a token. */
export const isLiveToken = (credential: string): boolean => credential.startsWith(prefix)

/** @returns undefined if it is not one of ours */
export const openLiveToken = (sealer: Sealer, credential: string): LiveToken | undefined => {
  const opened = sealer.openBytes(Buffer.from(credential.slice(prefix.length), "base64url"), context)
  return opened && Option.getOrUndefined(decode(opened.toString("utf8")))
}

/**
 * The configuration of a session that a token allows.
 * @param sent the configuration that the client has sent
 */
export const constrained = ({ setup, fields }: LiveToken, sent: JsonObject): JsonObject => {
  if (setup === undefined && fields.length === 0) return sent
  // A conversation is the client's own to resume.
  const resumption = sent["sessionResumption"] ?? sent["session_resumption"]
  if (fields.length === 0) return { ...setup, ...(resumption !== undefined && { sessionResumption: resumption }) }
  return fields.reduce<JsonObject>((config, field) => withField(config, setup ?? {}, field.split(".")), sent)
}

/** The object with the value that another one has at a path; without it if the other one has none. */
const withField = (object: JsonObject, other: JsonObject, [name = "", ...rest]: ReadonlyArray<string>): JsonObject => {
  const camel = name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
  const snake = camel.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  const { [camel]: ownCamel, [snake]: ownSnake, ...others } = object
  const own = ownCamel ?? ownSnake
  const fixed = other[camel] ?? other[snake]
  if (rest.length === 0) return fixed === undefined ? others : { ...others, [camel]: fixed }
  const inner = withField(isObject(own) ? own : {}, isObject(fixed) ? fixed : {}, rest)
  return { ...others, [camel]: inner }
}
