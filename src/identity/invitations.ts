/** Mail to people who became members of an organisation: they log in with the address to which it was sent. */
import { Context, Effect, FiberSet, Layer } from "effect"
import type { Org } from "../protocol/catalogue.ts"
import { Mailer } from "./mailer.ts"

export class Invitations extends Context.Service<
  Invitations,
  {
    /** Sends an invitation in the background; false if mail is not configured. @param page where to log in */
    readonly send: (email: string, org: Org, page: string) => Effect.Effect<boolean>
  }
>()("weir/identity/Invitations") {
  static readonly layer = Layer.effect(
    Invitations,
    Effect.gen(function* () {
      const { send } = yield* Mailer
      const underway = yield* FiberSet.make()
      return Invitations.of({
        send: Effect.fnUntraced(function* (email, { name }, page) {
          if (send === undefined) return false
          // A header is one line.
          const subject = `You were invited to ${name.replace(/\p{Cc}+/gu, " ").slice(0, 100)}`
          yield* FiberSet.run(
            underway,
            Effect.catch(send({ to: email, subject, text: textOf(name, page) }), (error) =>
              Effect.logError("An invitation could not be sent", error.cause),
            ),
          )
          return true
        }),
      })
    }),
  )
}

const textOf = (name: string, page: string): string => `You are now a member of ${name}.

Log in with this address: ${page}
`
