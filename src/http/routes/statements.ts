/** Routes of usage records and ledger entries. Source: decisions "Control routes". */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Statements } from "../../money/statements.ts"
import { Api } from "../../protocol/api.ts"
import { type Member, makeForBearer, requireAdmin } from "../bearer.ts"
import { type PageQuery, pageOf } from "../page-query.ts"

export const statementRoutes = HttpApiBuilder.group(
  Api,
  "statements",
  Effect.fn(function* (handlers) {
    const { forMember } = yield* makeForBearer
    const statements = yield* Statements

    const pageFor = (member: Member, query: PageQuery) => Effect.andThen(requireAdmin(member), pageOf(query))

    return handlers
      .handleRaw("usageStatement", ({ request, query }) =>
        forMember(request, (member) =>
          Effect.flatMap(pageFor(member, query), (page) => statements.usage(member.org.org.id, page)),
        ),
      )
      .handleRaw("ledgerStatement", ({ request, query }) =>
        forMember(request, (member) =>
          Effect.flatMap(pageFor(member, query), (page) => statements.ledger(member.org.org.id, page)),
        ),
      )
  }),
)
