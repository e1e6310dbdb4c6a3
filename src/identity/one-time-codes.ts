/**
 * One-time codes: six digits, valid for ten minutes and one use. Stored as a keyed hash, because six digits can be
 * guessed from a plain hash. Source: RFC 6238 section 5.2 (single use).
 */
import { createHmac, randomInt } from "node:crypto"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import { queryDeadline } from "../store/database.ts"
import { afterNow } from "../store/store-time.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { KeyRing } from "./key-ring.ts"

/** The purpose of a code; it is invalid for any other purpose. */
export type CodePurpose = "login" | "sso-link"

export class OneTimeCodes extends Context.Service<
  OneTimeCodes,
  {
    /**
     * Creates a code, beside the last ones; undefined if the subject has reached its hourly limit.
     * @param occasion binds the code to more than its subject, e.g. to one link
     */
    readonly make: (
      purpose: CodePurpose,
      subject: string,
      occasion?: string,
    ) => Effect.Effect<string | undefined, StoreUnavailable>
    /** Succeeds once, for one of the last codes; the others are spent with it. */
    readonly spend: (
      purpose: CodePurpose,
      subject: string,
      code: string,
      occasion?: string,
    ) => Effect.Effect<void, ServiceError<"otp_invalid" | "otp_rate_limited"> | StoreUnavailable>
  }
>()("weir/identity/OneTimeCodes") {
  static readonly layer = Layer.effect(
    OneTimeCodes,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const [key] = yield* KeyRing
      const bounded = yield* queryDeadline
      const macKey = key.derive("one-time-codes")
      const macOf = (purpose: CodePurpose, subject: string, code: string, occasion = "") =>
        createHmac("sha256", macKey)
          .update(JSON.stringify([purpose, subject, code, occasion]))
          .digest()

      return OneTimeCodes.of({
        make: Effect.fnUntraced(function* (purpose, subject, occasion) {
          const code = String(randomInt(1_000_000)).padStart(6, "0")
          const [made] = yield* bounded(sql<{ put: boolean }>`
            select one_time_code_put(${purpose}, ${subject}, ${macOf(purpose, subject, code, occasion)},
              ${afterNow(sql, codeTtlMs)}, ${maxHourSent[purpose]}::int,
              ${maxEarlier}::int) as put`)
          return made?.put === true ? code : undefined
        }),
        spend: Effect.fnUntraced(function* (purpose, subject, code, occasion) {
          const [tried] = yield* bounded(sql<{ verdict: "right" | "wrong" | "exhausted" }>`
            select one_time_code_try(${purpose}, ${subject}, ${macOf(purpose, subject, code, occasion)},
              ${maxWrong}::int, ${maxHourWrong}::int) as verdict`)
          if (tried?.verdict === "right") return
          if (tried?.verdict !== "exhausted") return yield* serviceError("otp_invalid", "The code is not valid")
          return yield* serviceError("otp_rate_limited", "Too many wrong codes; request another code, or wait an hour")
        }),
      })
    }),
  )
}

export const codeTtlMs = 600_000
/**
 * Limits: codes that are valid beside the newest, wrong attempts per code, wrong attempts per subject and hour, codes per
 * subject and hour. Anybody may ask for a login of any address: all who ask share the limit of the address, and each of
 * them has a lower limit of its own (anonymous.ts). So a code stays valid when the next ones are made. A wrong attempt
 * counts for each code that is valid then, and the attempts of an hour are bounded in sum: three codes of six digits and
 * 15 attempts are guessed with a chance of 45 in a million.
 */
const maxEarlier = 2
const maxWrong = 5
const maxHourWrong = 15
const maxHourSent: Readonly<Record<CodePurpose, number>> = { login: 60, "sso-link": 10 }
