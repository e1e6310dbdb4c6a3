/**
 * Mail to an organisation's owners when one of its budgets has reached a threshold. One node sends it; if that node dies
 * before the mail has left, another sends it a minute later, with the same message id.
 */
import { createHash } from "node:crypto"
import { Context, Effect, Layer, Option, Schema } from "effect"
import { runEvery } from "../../background.ts"
import { BudgetState } from "../../protocol/control/budget.ts"
import { queryDeadline } from "../../store/database.ts"
import { inThoseThatAnswer, Shards } from "../../store/shards/shards.ts"
import type { StoreUnavailable } from "../../store/unavailable.ts"
import { type Letter, OwnerMail } from "./owner-mail.ts"

export class BudgetMail extends Context.Service<
  BudgetMail,
  {
    /** Sends the mail that is due. No mail is due if mail is not configured. */
    readonly send: Effect.Effect<void, StoreUnavailable>
  }
>()("weir/money/BudgetMail") {
  static readonly layer = Layer.effect(
    BudgetMail,
    Effect.gen(function* () {
      const { send: sendLetter } = yield* OwnerMail
      const shards = yield* Shards
      const bounded = yield* queryDeadline
      if (sendLetter === undefined) return BudgetMail.of({ send: Effect.void })

      const sendOne = Effect.fnUntraced(function* ({ org_id, counter, percent, warning }: DueRow) {
        const said = Option.getOrUndefined(decodeWarning(warning))
        if (said !== undefined) yield* sendLetter(org_id, letterOf(org_id, counter, said))
        yield* bounded(
          shards
            .of(org_id)
            .run(({ sql, books }) => sql`select ${books}budget_mail_sent(${org_id}, ${counter}, ${percent}::int)`),
        )
      })

      const send = Effect.gen(function* () {
        const due = yield* bounded(
          inThoseThatAnswer(
            shards,
            ({ sql, books }) => sql<DueRow>`select * from ${books}budget_mails_take(${batch}::int)`,
          ),
        )
        yield* Effect.forEach(
          due,
          (row) =>
            Effect.catchTag(sendOne(row), "OwnerMailFailed", ({ cause }) =>
              Effect.logError("The warning of a budget could not be sent", cause),
            ),
          { discard: true },
        )
      })
      yield* runEvery(every, "Mail of budget warnings", send)
      return BudgetMail.of({ send })
    }),
  )
}

const every = "5 seconds"
const batch = 20

interface DueRow {
  readonly org_id: string
  readonly counter: string
  readonly percent: number
  readonly warning: unknown
}

/** A warning as `budget_warn` has stored it. */
const Warning = Schema.Struct({
  ...BudgetState.mapFields(({ used, left, isGeneral, warnAt, ...rest }) => rest).fields,
  subject: Schema.String,
  percent: Schema.Int,
  used: Schema.String,
  currency: Schema.optionalKey(Schema.String),
})
const decodeWarning = Schema.decodeUnknownOption(Warning)

const letterOf = (orgId: string, counter: string, warning: typeof Warning.Type): Letter => {
  const { id, scope, subject, period, percent, used, limit, mode, resetAt, currency = "tokens" } = warning
  const hash = createHash("sha256").update(`${orgId} ${counter} ${percent}`).digest("hex")
  return {
    id: `<budget.${hash.slice(0, 32)}@weir>`,
    subject: `Budget ${id} of ${orgId} is used to ${percent} %`,
    text: `The budget ${id} of the organisation ${orgId} has reached a threshold.

For:     ${scope} ${subject}
Used:    ${used} of ${limit} ${currency} this ${period} (${percent} % or more)
Resets:  ${resetAt}

${consequence[mode]}
`,
  }
}

const consequence: Readonly<Record<BudgetState["mode"], string>> = {
  enforce: "Calls that it does not cover any more are refused until then.",
  shadow: "It only counts: no calls are refused.",
}
