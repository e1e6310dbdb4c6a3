/**
 * One-time codes that come by mail: six digits, ten minutes, once. Only a keyed hash is kept, because six digits are soon
 * guessed from a plain one. Source: interface.md "POST /v1/auth/otp/verify", RFC 6238 section 5.2 (single use).
 */
import { createHmac, randomInt } from "node:crypto"
import { Clock, Context, type Duration, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import { withDeadline } from "../store/database.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { KeyRing } from "./key-ring.ts"

/** What a code is for: one of another purpose is no code. */
export type CodePurpose = "login" | "sso-link"

export class OneTimeCodes extends Context.Service<
  OneTimeCodes,
  {
    /**
     * A new code, in the place of the one before; undefined where the subject has had its share for this hour.
     * @param occasion what the code is bound to beside its subject: it is right for the same one only
     */
    readonly make: (
      purpose: CodePurpose,
      subject: string,
      occasion?: string,
    ) => Effect.Effect<string | undefined, StoreUnavailable>
    /** Succeeds for the right code, once. */
    readonly spend: (
      purpose: CodePurpose,
      subject: string,
      code: string,
      occasion?: string,
    ) => Effect.Effect<void, ServiceError<"otp_invalid" | "otp_rate_limited"> | StoreUnavailable>
  }
>()("weir/identity/OneTimeCodes") {}

export const codeTtlMs = 600_000
/** Wrong attempts at one code, and at all codes of a subject within an hour; codes made within an hour. */
const maxWrong = 5
const maxHourWrong = 15
const maxHourSent = 10

export const layerOneTimeCodes = (options: {
  readonly deadline: Duration.Input
}): Layer.Layer<OneTimeCodes, never, SqlClient.SqlClient | KeyRing> =>
  Layer.effect(
    OneTimeCodes,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const [key] = yield* KeyRing
      const bounded = withDeadline(options.deadline)
      const macKey = key.derive("one-time-codes")
      const macOf = (purpose: CodePurpose, subject: string, code: string, occasion = "") =>
        createHmac("sha256", macKey)
          .update(JSON.stringify([purpose, subject, code, occasion]))
          .digest()

      return OneTimeCodes.of({
        make: Effect.fnUntraced(function* (purpose, subject, occasion) {
          const code = String(randomInt(1_000_000)).padStart(6, "0")
          const expiresAt = new Date((yield* Clock.currentTimeMillis) + codeTtlMs).toISOString()
          const [made] = yield* bounded(sql<{ put: boolean }>`
            select one_time_code_put(${purpose}, ${subject}, ${macOf(purpose, subject, code, occasion)},
              ${expiresAt}::text::timestamptz, ${maxHourSent}::int) as put`)
          return made?.put === true ? code : undefined
        }),
        spend: Effect.fnUntraced(function* (purpose, subject, code, occasion) {
          const [tried] = yield* bounded(sql<{ verdict: "right" | "wrong" | "exhausted" }>`
            select one_time_code_try(${purpose}, ${subject}, ${macOf(purpose, subject, code, occasion)},
              ${maxWrong}::int, ${maxHourWrong}::int) as verdict`)
          if (tried?.verdict === "right") return
          if (tried?.verdict !== "exhausted") return yield* serviceError("otp_invalid", "The code is not valid")
          return yield* serviceError("otp_rate_limited", "Too many wrong codes; ask for another one, or wait an hour")
        }),
      })
    }),
  )
