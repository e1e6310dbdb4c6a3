/**
 * Login by a mailed code; the first verification of an address creates its account. The reply to a request and its
 * timing do not reveal whether there is an account.
 */
import { Context, Effect, Layer } from "effect"
import type { ServiceError } from "../protocol/error.ts"
import { normalEmail } from "../protocol/values/text.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { Accounts } from "./accounts.ts"
import { Invitations } from "./invitations.ts"
import { Logins, type LoginTokens } from "./logins.ts"
import { MailedCodes } from "./mailed-codes.ts"
import { OneTimeCodes } from "./one-time-codes.ts"

export class MailLogin extends Context.Service<
  MailLogin,
  {
    /**
     * Sends a code. Above the hourly limit of an address nothing is sent, and the reply is the same.
     * @param mayAsk whether the caller may have codes sent to this address; only run if mail can be sent at all
     */
    readonly request: <E>(
      email: string,
      mayAsk: Effect.Effect<boolean, E>,
    ) => Effect.Effect<void, ServiceError<"auth_channel_undelivered"> | StoreUnavailable | E>
    readonly verify: (
      email: string,
      code: string,
    ) => Effect.Effect<LoginTokens, ServiceError<"otp_invalid" | "otp_rate_limited" | "forbidden"> | StoreUnavailable>
  }
>()("weir/identity/MailLogin") {
  static readonly layer = Layer.effect(
    MailLogin,
    Effect.gen(function* () {
      const mailed = yield* MailedCodes
      const accounts = yield* Accounts
      const codes = yield* OneTimeCodes
      const logins = yield* Logins
      const invitations = yield* Invitations

      return MailLogin.of({
        request: Effect.fnUntraced(function* (email, mayAsk) {
          yield* mailed.requireChannel
          if (yield* mayAsk) yield* mailed.send("login", normalEmail(email))
        }),
        verify: Effect.fnUntraced(function* (address, code) {
          const email = normalEmail(address)
          yield* codes.spend("login", email, code.trim())
          const login = yield* logins.begin(yield* accounts.forVerifiedEmail(email), "otp")
          yield* invitations.acceptOnly(login.account)
          return login
        }),
      })
    }),
  )
}
