/**
 * `POST /openai/v1/realtime/client_secrets`: an end user's token under OpenAI's name, for browsers that open a realtime
 * session by themselves. Source: OpenAI API reference, "Create client secret".
 */
import { Clock, Effect, Schema } from "effect"
import { HttpServerResponse } from "effect/http"
import { AppTokens } from "../../admission/app-tokens.ts"
import type { AppCaller } from "../../identity/app-keys.ts"
import type { Caller } from "../../identity/caller.ts"
import { EndUserId } from "../../protocol/control/app-token.ts"
import { serviceError } from "../../protocol/error.ts"
import type { Authenticated } from "../caller-request.ts"
import { decodeBody, headerOf } from "../request.ts"

/** The fields with which a session begins, which its client sends itself: a token does not carry them. */
const SecretRequest = Schema.Struct({
  expires_after: Schema.optionalKey(
    Schema.Struct({
      anchor: Schema.optionalKey(Schema.Literal("created_at")),
      seconds: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 10, maximum: 7200 }))),
    }),
  ),
  session: Schema.optionalKey(
    Schema.Struct({
      type: Schema.optionalKey(Schema.Literal("realtime")),
      model: Schema.optionalKey(Schema.NonEmptyString.check(Schema.isMaxLength(128))),
    }),
  ),
})

const usualSeconds = 600
/** The shortest lifetime of end users' tokens. */
const leastSeconds = 60
/** The end user of a request that names none. */
export const nobody = "anonymous"

export const makeClientSecrets = Effect.map(
  AppTokens,
  (tokens) => (call: Authenticated) =>
    Effect.gen(function* () {
      const { caller, body, request } = call
      if (!isApplication(caller)) {
        return yield* serviceError("forbidden", "Only an application's key may make client secrets")
      }
      const { expires_after, session } = yield* decodeBody(SecretRequest, body.length === 0 ? noBody : body)
      const endUserId = yield* headerOf("openai-safety-identifier", EndUserId, request)
      const seconds = Math.max(leastSeconds, expires_after?.seconds ?? usualSeconds)
      const { token, expiresAt } = yield* tokens.mint(caller, endUserId ?? nobody, seconds)
      const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
      return HttpServerResponse.jsonUnsafe(
        {
          value: token,
          expires_at: Math.floor(expiresAt.getTime() / 1000),
          session: { type: "realtime", object: "realtime.session", created_at: now, ...session },
        },
        { headers: { "cache-control": "no-store" } },
      )
    }),
)

const noBody = Buffer.from("{}")

export const isApplication = (caller: Caller): caller is AppCaller =>
  caller.app !== undefined && caller.endUserId === undefined && caller.person === undefined
