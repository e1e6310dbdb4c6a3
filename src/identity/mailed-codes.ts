/**
 * Sends one-time codes by mail in the background, so that the reply's timing does not reveal whether a mail was sent.
 */
import { Context, Effect, FiberSet, Layer } from "effect"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { Mailer } from "./mailer.ts"
import { type CodePurpose, codeTtlMs, OneTimeCodes } from "./one-time-codes.ts"

export class MailedCodes extends Context.Service<
  MailedCodes,
  {
    /** Fails where no mail can be sent at all. */
    readonly requireChannel: Effect.Effect<void, ServiceError<"auth_channel_undelivered">>
    /**
     * Creates a code and sends it; false if the address has reached its hourly limit.
     * @param occasion see {@link OneTimeCodes}
     */
    readonly send: (
      purpose: CodePurpose,
      email: string,
      occasion?: string,
    ) => Effect.Effect<boolean, ServiceError<"auth_channel_undelivered"> | StoreUnavailable>
  }
>()("weir/identity/MailedCodes") {
  static readonly layer = Layer.effect(
    MailedCodes,
    Effect.gen(function* () {
      const { send } = yield* Mailer
      const codes = yield* OneTimeCodes
      const underway = yield* FiberSet.make()

      const channel =
        send === undefined
          ? Effect.fail(serviceError("auth_channel_undelivered", "Mail is not configured"))
          : Effect.succeed(send)

      return MailedCodes.of({
        requireChannel: Effect.asVoid(channel),
        send: Effect.fnUntraced(function* (purpose, email, occasion) {
          const deliver = yield* channel
          const code = yield* codes.make(purpose, email, occasion)
          if (code === undefined) {
            yield* Effect.logWarning("An address has reached its hourly limit of codes")
            return false
          }
          const sent = deliver({ to: email, subject: `Your code is ${code}`, text: mailText(purposes[purpose], code) })
          yield* FiberSet.run(
            underway,
            Effect.catch(sent, (error) => Effect.logError("A code could not be sent", error.cause)),
          )
          return true
        }),
      })
    }),
  )
}

const purposes: Readonly<Record<CodePurpose, string>> = {
  login: "to log in",
  "sso-link": "to link your organisation's login to this address",
}

const mailText = (purpose: string, code: string): string => `Your code ${purpose} is ${code}

It is valid for ${codeTtlMs / 60_000} minutes and one use. If you did not request it, ignore this mail.
`
