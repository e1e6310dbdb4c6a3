/** Mail to the owners of an organisation, at the addresses of their accounts. */
import { Effect, Layer } from "effect"
import { OwnerMail, OwnerMailFailed } from "../money/budgets/owner-mail.ts"
import { People } from "../tenants/people.ts"
import { Mailer } from "./mailer.ts"

export const layerOwnerMail = Layer.effect(
  OwnerMail,
  Effect.gen(function* () {
    const { send } = yield* Mailer
    const people = yield* People
    if (send === undefined) return OwnerMail.of({ send: undefined })
    return OwnerMail.of({
      send: Effect.fnUntraced(function* (orgId, letter) {
        const to = yield* people.owners(orgId)
        if (to.length === 0) return
        yield* Effect.mapError(send({ to, ...letter }), ({ cause }) => new OwnerMailFailed({ cause }))
      }),
    })
  }),
)
