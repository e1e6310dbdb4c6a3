/** What an organisation used and paid. Source: decisions "Control routes". */
import { Effect, Schema } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { type Page, Statements } from "../../money/statements.ts"
import { Api } from "../../protocol/api.ts"
import { invalidInput } from "../../protocol/issues.ts"
import { type Member, makeForBearer, requireAdmin } from "../bearer.ts"

const defaultLimit = 50

const Limit = Schema.FiniteFromString.pipe(
  Schema.decodeTo(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 200 }))),
)
const decodeLimit = Schema.decodeUnknownEffect(Limit)

interface PageQuery {
  readonly limit?: string
  readonly cursor?: string
}

export const statementRoutes = HttpApiBuilder.group(
  Api,
  "statements",
  Effect.fn(function* (handlers) {
    const { forMember } = yield* makeForBearer
    const statements = yield* Statements

    const pageOf = Effect.fnUntraced(function* (member: Member, { limit, cursor }: PageQuery) {
      yield* requireAdmin(member)
      const read =
        limit === undefined ? Effect.succeed(defaultLimit) : Effect.mapError(decodeLimit(limit), () => wrongLimit)
      return { limit: yield* read, cursor } satisfies Page
    })

    return handlers
      .handleRaw("usageStatement", ({ request, query }) =>
        forMember(request, (member) =>
          Effect.flatMap(pageOf(member, query), (page) => statements.usage(member.org.org.id, page)),
        ),
      )
      .handleRaw("ledgerStatement", ({ request, query }) =>
        forMember(request, (member) =>
          Effect.flatMap(pageOf(member, query), (page) => statements.ledger(member.org.org.id, page)),
        ),
      )
  }),
)

const wrongLimit = invalidInput([{ path: "limit", message: "an integer from 1 to 200 is needed" }])
