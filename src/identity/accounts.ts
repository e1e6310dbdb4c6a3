/**
 * People: an account for each verified address, and the organisations of which the catalogue makes it a member.
 * Source: interface.md "POST /v1/auth/otp/verify", decisions "Control routes".
 */
import { randomUUID } from "node:crypto"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Catalogue } from "../catalogue/catalogue.ts"
import type { CatalogueSnapshot, OrgEntry } from "../catalogue/snapshot.ts"
import type { Role } from "../protocol/catalogue.ts"
import { queryDeadline } from "../store/database.ts"
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
    /** The account of a verified address; created if there is none. */
    readonly forVerifiedEmail: (email: string) => Effect.Effect<Account, StoreUnavailable>
    /** The account of an address, if there is one. */
    readonly byEmail: (email: string) => Effect.Effect<Account | undefined, StoreUnavailable>
    readonly find: (id: string) => Effect.Effect<Account | undefined, StoreUnavailable>
    /** All accounts, by address. */
    readonly list: Effect.Effect<ReadonlyArray<Account>, StoreUnavailable>
    /** Enables or disables an account, with an audit record; undefined if there is no such account. */
    readonly setStatus: (id: string, status: Account["status"]) => Effect.Effect<Account | undefined, StoreUnavailable>
  }
>()("weir/identity/Accounts") {
  static readonly layer = Layer.effect(
    Accounts,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const catalogue = yield* Catalogue
      const bounded = yield* queryDeadline

      return Accounts.of({
        forVerifiedEmail: Effect.fnUntraced(function* (address) {
          const email = normalEmail(address)
          const minted = `usr_${randomUUID().replaceAll("-", "")}`
          const id = declaredAs(catalogue.current(), { id: minted, email })[0]?.id ?? minted
          // Uses the catalogue's id unless another address has it. The update makes an existing row be returned.
          const [account] = yield* bounded(sql<Account>`
            insert into users (id, email)
            select case when exists (select from users where id = ${id}) then ${minted} else ${id} end, ${email}
            on conflict (email) do update set email = excluded.email returning id, email, status`)
          return account ?? { id, email, status: "active" }
        }),
        byEmail: (address) =>
          Effect.map(
            bounded(sql<Account>`select id, email, status from users where email = ${normalEmail(address)}`),
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
}

/** A person as a credential identifies it. */
export interface Person {
  readonly id: string
  /** A verified address takes precedence over the id; absent for somebody who has never logged in. */
  readonly email: string | undefined
}

const declaredAs = ({ document }: CatalogueSnapshot, { id, email }: Person) =>
  (document.users ?? []).filter((user) => (email === undefined ? user.id === id : normalEmail(user.email) === email))

/** The organisations of which the current catalogue makes a person a member. */
export const membershipsOf = (snapshot: CatalogueSnapshot, person: Person): ReadonlyArray<Membership> =>
  declaredAs(snapshot, person).flatMap(({ id, org: orgId, role }) => {
    const org = snapshot.org(orgId)
    const teams = snapshot.document.teams ?? []
    const own = teams.filter((team) => team.org === orgId && team.disabled !== true && team.members.includes(id))
    return org === undefined ? [] : [{ org, role, teams: own.map((team) => team.id).sort() }]
  })

/** Canonical spelling of an address: trimmed, lower case. */
export const normalEmail = (email: string): string => email.trim().toLowerCase()
