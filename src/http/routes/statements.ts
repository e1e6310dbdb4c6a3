/** Routes of usage records and ledger entries. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { newRequestId } from "../../calls/calls.ts"
import { Statements } from "../../money/statements.ts"
import { Api } from "../../protocol/api.ts"
import { type Member, makeForBearer, requireAdmin } from "../bearer.ts"
import { type PageQuery, pageOf } from "../page-query.ts"
import type { Request } from "../request.ts"
import { respond } from "../respond.ts"
import { usageCsv } from "../usage-csv.ts"

export const statementRoutes = HttpApiBuilder.group(
  Api,
  "statements",
  Effect.fn(function* (handlers) {
    const { forMember, principalOf, memberIn } = yield* makeForBearer
    const statements = yield* Statements

    const pageFor = (member: Member, query: PageQuery) => Effect.andThen(requireAdmin(member), pageOf(query))

    /** A link cannot have headers: its query names the organisation. */
    const csv = Effect.fnUntraced(function* (request: Request, org: string | undefined) {
      const member = yield* memberIn(request, yield* principalOf(request), org)
      yield* requireAdmin(member)
      return yield* usageCsv(statements, member.org.org.id)
    })

    return handlers
      .handleRaw("usageCsv", ({ request, query }) => respond(newRequestId(), csv(request, query.org)))
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
