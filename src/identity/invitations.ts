/**
 * Invitations of people to organisations: mailed, and open until the person answers. An open one gives no rights. A person
 * who belongs to no organisation accepts their only invitation by logging in with a mailed code.
 */
import { Context, Effect, FiberSet, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { Org } from "../protocol/catalogue/tenant.ts"
import type { Invitation } from "../protocol/control/login.ts"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import { ChangeFeed } from "../store/change-feed.ts"
import { queryDeadline } from "../store/database.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import type { Account } from "./accounts.ts"
import type { Principal } from "./bearers.ts"
import { Mailer } from "./mailer.ts"

type Addressee = Pick<Account, "id" | "email">

export class Invitations extends Context.Service<
  Invitations,
  {
    /** Sends an invitation in the background; false if mail is not configured. @param page the address of the login page */
    readonly send: (email: string, org: Org, page: string) => Effect.Effect<boolean>
    /** Open invitations that the principal may answer, by their organisations' ids: none unless it acts in all of the person's. */
    readonly open: (principal: Principal) => Effect.Effect<ReadonlyArray<Invitation>, StoreUnavailable>
    readonly isOpen: (email: string, orgId: string) => Effect.Effect<boolean, StoreUnavailable>
    /** Accepts or declines. */
    readonly answer: (
      principal: Principal,
      orgId: string,
      answer: "accept" | "decline",
    ) => Effect.Effect<void, ServiceError<"forbidden" | "not_found"> | StoreUnavailable>
    /** Accepts an organisation's invitation, if there is one, for a person who has just proved the address to it. */
    readonly acceptFrom: (orgId: string, person: Addressee) => Effect.Effect<void, StoreUnavailable>
    /** Accepts the only invitation of a person who belongs to no organisation, and has just logged in. */
    readonly acceptOnly: (person: Addressee) => Effect.Effect<void, StoreUnavailable>
  }
>()("weir/identity/Invitations") {
  static readonly layer = Layer.effect(
    Invitations,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const feed = yield* ChangeFeed
      const bounded = yield* queryDeadline
      const { send } = yield* Mailer
      const underway = yield* FiberSet.make()

      /** Makes a change known to this node at once. */
      const applied = Effect.fnUntraced(function* (isDone: boolean) {
        if (isDone) yield* feed.catchUp
        return isDone
      })
      const answered = ({ id, email }: Addressee, orgId: string, accept: boolean) =>
        bounded(sql<{ done: boolean }>`
          select invitation_answer(${email}, ${orgId}, ${accept}, ${id}) as done`).pipe(
          Effect.flatMap(([row]) => applied(row?.done === true)),
        )

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
        open: (principal) => {
          const person = addresseeOf(principal)
          return person === undefined
            ? Effect.succeed([])
            : bounded(sql<Invitation>`
                select i.org_id as id, o.document ->> 'name' as name, i.role from invitations i
                join tenants o on o.kind = 'org' and o.id = i.org_id and o.status <> 'closed'
                where i.email = ${person.email} order by i.org_id limit ${mostListed}::int`)
        },
        isOpen: (email, orgId) =>
          Effect.map(
            bounded(sql`select from invitations where email = ${email} and org_id = ${orgId}`),
            (rows) => rows.length > 0,
          ),
        answer: Effect.fnUntraced(function* (principal, orgId, answer) {
          const person = addresseeOf(principal)
          if (person === undefined) return yield* noLogin
          if (!(yield* answered(person, orgId, answer === "accept"))) return yield* noInvitation
        }),
        acceptFrom: (orgId, person) => Effect.asVoid(answered(person, orgId, true)),
        acceptOnly: ({ id, email }) =>
          bounded(sql<{ done: boolean }>`select invitation_accept_only(${email}, ${id}) as done`).pipe(
            Effect.flatMap(([row]) => applied(row?.done === true)),
            Effect.asVoid,
          ),
      })
    }),
  )
}

/** Each organisation may invite a person once, but there may be many. */
const mostListed = 100

/** The person, if it has logged in and acts in all of its organisations. */
const addresseeOf = ({ person, hasLoggedIn, orgId }: Principal): Addressee | undefined =>
  person?.email !== undefined && hasLoggedIn && orgId === undefined ? { id: person.id, email: person.email } : undefined

const noLogin = serviceError("forbidden", "This requires a login with a mailed code")
const noInvitation = serviceError("not_found", "There is no open invitation of this organisation")

/** Lines below 76 characters: longer ones would be encoded. RFC 2045 section 6.7. */
const textOf = (name: string, page: string): string => `You were invited to ${name}.

Log in with this address: ${page}

If you belong to no organisation and this is your only invitation,
logging in accepts it. Otherwise it changes nothing until you accept it:
in the console, or with the command weir invitations accept.
`
