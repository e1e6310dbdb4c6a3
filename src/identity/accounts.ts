/** Accounts of people, one for each verified address. */
import { randomUUID } from "node:crypto"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { normalEmail } from "../protocol/values/text.ts"
import { queryDeadline } from "../store/database.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"

export interface Account {
  readonly id: string
  /** The address, in lower case. */
  readonly email: string
  readonly status: "active" | "disabled"
}

export class Accounts extends Context.Service<
  Accounts,
  {
    /** The account of a verified address; created if there is none. */
    readonly forVerifiedEmail: (email: string) => Effect.Effect<Account, StoreUnavailable>
    /** The account of an address, if there is one. */
    readonly byEmail: (email: string) => Effect.Effect<Account | undefined, StoreUnavailable>
    readonly find: (id: string) => Effect.Effect<Account | undefined, StoreUnavailable>
    /** Enables or disables an account, with an audit record; undefined if there is no such account. */
    readonly setStatus: (id: string, status: Account["status"]) => Effect.Effect<Account | undefined, StoreUnavailable>
  }
>()("weir/identity/Accounts") {
  static readonly layer = Layer.effect(
    Accounts,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const bounded = yield* queryDeadline

      return Accounts.of({
        forVerifiedEmail: Effect.fnUntraced(function* (address) {
          const email = normalEmail(address)
          const minted = `usr_${randomUUID().replaceAll("-", "")}`
          // Uses the id of a member with this address unless another address has it. The update makes an existing row be
          // returned.
          const [account] = yield* bounded(sql<Account>`
            insert into users (id, email)
            select coalesce((
              select id from tenants m
              where kind = 'user' and label = ${email} and status <> 'closed'
                and not exists (select from users u where u.id = m.id)
              order by revision limit 1), ${minted}), ${email}
            on conflict (email) do update set email = excluded.email returning id, email, status`)
          return account ?? { id: minted, email, status: "active" }
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
        setStatus: (id, status) =>
          Effect.map(
            bounded(sql<Account>`select id, email, status from user_set_status(${id}, ${status})`),
            ([account]) => account,
          ),
      })
    }),
  )
}
