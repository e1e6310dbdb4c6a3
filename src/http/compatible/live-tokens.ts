/** `POST /gemini/v1alpha/auth_tokens`: an end user's token for sessions with Google's Live API, as `authTokens.create` asks for it. */
import { randomUUID } from "node:crypto"
import { Clock, Effect, Schema } from "effect"
import { HttpServerResponse } from "effect/http"
import { AppTokens } from "../../admission/app-tokens.ts"
import { EndUserId } from "../../protocol/control/app-token.ts"
import { serviceError } from "../../protocol/error.ts"
import { invalidInput } from "../../protocol/json/issues.ts"
import { Sealing } from "../../store/seal.ts"
import type { Authenticated } from "../caller-request.ts"
import { decodeBody, headerOf } from "../request.ts"
import { isApplication, nobody } from "./client-secrets.ts"
import { longestLifeMs, sealLiveToken } from "./live-token.ts"

const FieldNames = Schema.String.check(Schema.isPattern(/^[A-Za-z_][\w.]*(?:,[A-Za-z_][\w.]*)*$/))

const TokenRequest = Schema.Struct({
  uses: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 }))),
  expireTime: Schema.optionalKey(Schema.String),
  newSessionExpireTime: Schema.optionalKey(Schema.String),
  bidiGenerateContentSetup: Schema.optionalKey(Schema.Record(Schema.String, Schema.Json)),
  fieldMask: Schema.optionalKey(FieldNames),
})

/** Source: https://ai.google.dev/api/live#authtoken */
const usualMs = { expires: 30 * 60_000, begins: 60_000 }
/** The shortest lifetime of end users' tokens. */
const leastMs = 60_000
/** A token is in the address of a socket, and HTTP takes 16 KiB of an address and its headers. */
const mostTokenBytes = 8 * 1024

export const makeLiveTokens = Effect.gen(function* () {
  const tokens = yield* AppTokens
  const { sealer } = yield* Sealing

  return ({ caller, body, request }: Authenticated) =>
    Effect.gen(function* () {
      if (!isApplication(caller)) return yield* serviceError("forbidden", "Only an application's key may make tokens")
      const asked = yield* decodeBody(TokenRequest, body.length === 0 ? noBody : body)
      const endUserId = yield* headerOf("x-svc-end-user-id", EndUserId, request)
      const nowMs = yield* Clock.currentTimeMillis
      const expiresMs = yield* timeOf("expireTime", asked.expireTime, nowMs, usualMs.expires)
      const beginsUntilMs = yield* timeOf("newSessionExpireTime", asked.newSessionExpireTime, nowMs, usualMs.begins)
      const seconds = Math.ceil(Math.max(leastMs, expiresMs - nowMs) / 1000)
      const { token, expiresAt } = yield* tokens.mint(caller, endUserId ?? nobody, seconds)
      const { uses = 1, bidiGenerateContentSetup: setup, fieldMask } = asked
      const name = sealLiveToken(sealer, {
        token,
        id: randomUUID(),
        uses,
        beginsUntilMs,
        madeAtMs: nowMs,
        ...(setup !== undefined && { setup }),
        fields: fieldMask?.split(",") ?? [],
      })
      if (name.length > mostTokenBytes)
        return yield* invalidInput([{ path: "bidiGenerateContentSetup", message: "is too long" }])
      const times = { expireTime: expiresAt.toISOString(), newSessionExpireTime: new Date(beginsUntilMs).toISOString() }
      return HttpServerResponse.jsonUnsafe({ name, uses, ...times }, { headers: { "cache-control": "no-store" } })
    })
})

const noBody = Buffer.from("{}")

const timeOf = (path: string, text: string | undefined, nowMs: number, usual: number) => {
  const atMs = text === undefined ? nowMs + usual : Date.parse(text)
  return atMs > nowMs && atMs <= nowMs + longestLifeMs
    ? Effect.succeed(atMs)
    : Effect.fail(invalidInput([{ path, message: "must be a time within the next 20 hours" }]))
}
