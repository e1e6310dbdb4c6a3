/**
 * People: an account for each address that was proven, and the organisations that the catalogue makes it a member of.
 * Source: interface.md "POST /v1/auth/otp/verify", decisions "Control routes".
 */
import { randomUUID } from "node:crypto"
import { Context, type Duration, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Catalogue } from "../catalogue/catalogue.ts"
import type { CatalogueSnapshot, OrgEntry } from "../catalogue/snapshot.ts"
import type { Role } from "../protocol/catalogue.ts"
import { withDeadline } from "../store/database.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"

export interface Account {
  readonly id: string
  /** In lower case. */
  readonly email: string
  readonly status: "active" | "disabled"
}

export interface Membership {
  readonly org: OrgEntry
  readonly role: Role
  readonly teams: ReadonlyArray<string>
}

export class Accounts extends Context.Service<
  Accounts,
  {
    /** The account of an address that its holder has just proven; made where there is none. */
    readonly proven: (email: string) => Effect.Effect<Account, StoreUnavailable>
    /** The account of an address, where there is one. */
    readonly byEmail: (email: string) => Effect.Effect<Account | undefined, StoreUnavailable>
    readonly find: (id: string) => Effect.Effect<Account | undefined, StoreUnavailable>
    /** Everybody who has ever logged in, by address. */
    readonly list: Effect.Effect<ReadonlyArray<Account>, StoreUnavailable>
    /** Lets a person in or out, and writes that down; undefined where there is no such account. */
    readonly setStatus: (id: string, status: Account["status"]) => Effect.Effect<Account | undefined, StoreUnavailable>
  }
>()("weir/identity/Accounts") {}

/** A person, as a credential names it. */
export interface Person {
  readonly id: string
  /** What was proven goes before the id; absent for who has never logged in. */
  readonly email: string | undefined
}

const declaredAs = ({ document }: CatalogueSnapshot, { id, email }: Person) =>
  (document.users ?? []).filter((user) => (email === undefined ? user.id === id : normalEmail(user.email) === email))

/** The organisations that the catalogue in force makes a person a member of. */
export const membershipsOf = (snapshot: CatalogueSnapshot, person: Person): ReadonlyArray<Membership> =>
  declaredAs(snapshot, person).flatMap(({ id, org: orgId, role }) => {
    const org = snapshot.org(orgId)
    const teams = snapshot.document.teams ?? []
    const own = teams.filter((team) => team.org === orgId && team.disabled !== true && team.members.includes(id))
    return org === undefined ? [] : [{ org, role, teams: own.map((team) => team.id).sort() }]
  })

/** One spelling for an address: its case is nobody's difference. */
export const normalEmail = (email: string): string => email.trim().toLowerCase()

export const layerAccounts = (options: {
  readonly deadline: Duration.Input
}): Layer.Layer<Accounts, never, SqlClient.SqlClient | Catalogue> =>
  Layer.effect(
    Accounts,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const catalogue = yield* Catalogue
      const bounded = withDeadline(options.deadline)

      return Accounts.of({
        proven: Effect.fnUntraced(function* (given) {
          const email = normalEmail(given)
          const minted = `usr_${randomUUID().replaceAll("-", "")}`
          const id = declaredAs(catalogue.current(), { id: minted, email })[0]?.id ?? minted
          // The catalogue's id, unless it was another address's once. The update makes a row come back that was there.
          const [account] = yield* bounded(sql<Account>`
            insert into users (id, email)
            select case when exists (select from users where id = ${id}) then ${minted} else ${id} end, ${email}
            on conflict (email) do update set email = excluded.email returning id, email, status`)
          return account ?? { id, email, status: "active" }
        }),
        byEmail: (given) =>
          Effect.map(
            bounded(sql<Account>`select id, email, status from users where email = ${normalEmail(given)}`),
            ([account]) => account,
          ),
        find: (id) =>
          Effect.map(
            bounded(sql<Account>`select id, email, status from users where id = ${id}`),
            ([account]) => account,
          ),
        list: bounded(sql<Account>`select id, email, status from users order by email`),
        setStatus: (id, status) =>
          Effect.map(
            bounded(sql<Account>`select id, email, status from user_set_status(${id}, ${status})`),
            ([account]) => account,
          ),
      })
    }),
  )
