/**
 * Logging in with a code that comes by mail; whoever proves an address for the first time has an account from then on.
 * Asking tells nobody whether there is one: the reply and its time are the same. Source: interface.md "POST /v1/auth/otp/verify".
 */
import { Context, Effect, FiberSet, Layer } from "effect"
import { Mailer } from "../mail/mailer.ts"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { Accounts, normalEmail } from "./accounts.ts"
import { Logins, type LoginTokens } from "./logins.ts"
import { codeTtlMs, OneTimeCodes } from "./one-time-codes.ts"

export class MailLogin extends Context.Service<
  MailLogin,
  {
    /** Sends a code, in the background. An address that has had its share for this hour gets none, and no other reply. */
    readonly request: (
      email: string,
    ) => Effect.Effect<void, ServiceError<"auth_channel_undelivered"> | StoreUnavailable>
    readonly verify: (
      email: string,
      code: string,
    ) => Effect.Effect<LoginTokens, ServiceError<"otp_invalid" | "otp_rate_limited" | "forbidden"> | StoreUnavailable>
  }
>()("weir/identity/MailLogin") {
  static readonly layer = Layer.effect(
    MailLogin,
    Effect.gen(function* () {
      const { send } = yield* Mailer
      const accounts = yield* Accounts
      const codes = yield* OneTimeCodes
      const logins = yield* Logins
      const underway = yield* FiberSet.make()

      return MailLogin.of({
        request: Effect.fnUntraced(function* (given) {
          if (send === undefined) {
            return yield* serviceError("auth_channel_undelivered", "Mail cannot be sent at the moment")
          }
          const email = normalEmail(given)
          const code = yield* codes.make("login", email)
          if (code === undefined) return yield* Effect.logWarning("An address has had its share of codes for this hour")
          const sent = send({ to: email, subject: `Your code is ${code}`, text: mailText(code) })
          yield* FiberSet.run(
            underway,
            Effect.catch(sent, (error) => Effect.logError("A code could not be sent", error.cause)),
          )
        }),
        verify: Effect.fnUntraced(function* (given, code) {
          const email = normalEmail(given)
          yield* codes.spend("login", email, code.trim())
          return yield* logins.begin(yield* accounts.proven(email), "otp")
        }),
      })
    }),
  )
}

const mailText = (code: string): string => `Your code to log in is ${code}

It is good for ${codeTtlMs / 60_000} minutes, and once. If you did not ask for it, you need not do anything.
`
