/**
 * Logins: a short-lived access token and a refresh token that is valid for one use. A refresh token that is used twice
 * ends its login. Source: RFC 9700 section 4.14.
 */

import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { WeirConfig } from "../config.ts"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import { mintSecret, sha256 } from "../secrets.ts"
import { makeCachedLookup } from "../store/cached-lookup.ts"
import { queryDeadline } from "../store/database.ts"
import { afterNow } from "../store/store-time.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { AccessJwts, type TokenUse } from "./access-jwts.ts"
import { type Account, Accounts } from "./accounts.ts"

export interface LoginTokens {
  readonly loginId: string
  readonly accessToken: string
  readonly refreshToken: string
  readonly account: Account
}

/** The person behind an access token. */
export interface LoggedIn {
  readonly loginId: string
  readonly account: Account
  /** If present, the login acts only in this organisation, whose identity provider authenticated the person. */
  readonly orgId: string | undefined
}

export class Logins extends Context.Service<
  Logins,
  {
    /**
     * Starts a login for an authenticated person.
     * @param orgId the organisation whose identity provider authenticated it
     */
    readonly begin: (
      account: Account,
      method: "otp" | "device" | "sso",
      orgId?: string,
    ) => Effect.Effect<LoginTokens, ServiceError<"forbidden"> | StoreUnavailable>
    /** Rotates the tokens. */
    readonly refresh: (
      refreshToken: string,
    ) => Effect.Effect<LoginTokens, ServiceError<"unauthorized" | "token_expired" | "forbidden"> | StoreUnavailable>
    /** Ends the login of a refresh token; does nothing for an unknown token. */
    readonly end: (refreshToken: string) => Effect.Effect<void, StoreUnavailable>
    /** Ends a login by its id. */
    readonly endById: (loginId: string) => Effect.Effect<void, StoreUnavailable>
    /** The token of a login for the cookie of a browser. */
    readonly browserToken: (login: Pick<LoginTokens, "account" | "loginId">) => Effect.Effect<string>
    /** The person behind a token, if the login is still valid. */
    readonly authenticate: (
      token: string,
      use: TokenUse,
    ) => Effect.Effect<LoggedIn, ServiceError<"unauthorized" | "token_expired"> | StoreUnavailable>
  }
>()("weir/identity/Logins") {
  static readonly layer = Layer.effect(
    Logins,
    Effect.gen(function* () {
      const { authStaleMs } = yield* WeirConfig
      const sql = yield* SqlClient.SqlClient
      const jwts = yield* AccessJwts
      const accounts = yield* Accounts
      const bounded = yield* queryDeadline

      const activeLogin = yield* makeCachedLookup<ActiveLoginRow>(
        (loginId) =>
          bounded(
            sql<ActiveLoginRow>`
              select u.id, u.email, u.status, l.org_id from logins l join users u on u.id = l.user_id
              where l.id = ${loginId} and l.ended_at is null and u.status = 'active'`,
          ).pipe(Effect.map((rows) => rows[0])),
        authStaleMs,
      )

      const nextRefresh = Effect.sync(() => {
        const secret = mintSecret("rt")
        return { secret, hash: sha256(secret) }
      })

      const tokensOf = (account: Account, loginId: string, refreshToken: string) =>
        Effect.map(jwts.sign({ userId: account.id, loginId }, "bearer"), (accessToken) => ({
          loginId,
          accessToken,
          refreshToken,
          account,
        }))

      return Logins.of({
        begin: Effect.fnUntraced(function* (account, method, orgId) {
          if (account.status === "disabled") return yield* unusable
          const loginId = mintSecret("lgn").slice(0, 24)
          const { secret, hash } = yield* nextRefresh
          yield* bounded(sql`
            with login as (
              insert into logins (id, user_id, method, org_id)
              values (${loginId}, ${account.id}, ${method}, ${orgId ?? null}) returning id
            )
            insert into refresh_tokens (secret_sha256, login_id, expires_at)
            select ${hash}, id, ${afterNow(sql, refreshTtlMs)} from login`)
          return yield* tokensOf(account, loginId, secret)
        }),
        refresh: Effect.fnUntraced(function* (refreshToken) {
          const { secret, hash } = yield* nextRefresh
          const [rotation] = yield* bounded(sql<Rotation>`
            select * from login_refresh(${sha256(refreshToken)}, ${hash}, ${afterNow(sql, refreshTtlMs)})`)
          if (rotation?.verdict === "expired") return yield* serviceError("token_expired", "The login has expired")
          if (rotation?.verdict === "reused") {
            yield* Effect.logWarning("A refresh token was used twice; its login was ended", {
              login: rotation.login_id,
            })
          }
          const { login_id: loginId, user_id: userId } = rotation ?? {}
          if (rotation?.verdict !== "rotated" || !loginId || !userId) return yield* notValid
          const account = yield* accounts.find(userId)
          if (account?.status !== "active") return yield* unusable
          return yield* tokensOf(account, loginId, secret)
        }),
        end: (refreshToken) =>
          Effect.asVoid(
            bounded(sql`
              update logins set ended_at = now() where ended_at is null and id =
                (select login_id from refresh_tokens where secret_sha256 = ${sha256(refreshToken)})`),
          ),
        endById: (loginId) =>
          Effect.asVoid(bounded(sql`update logins set ended_at = now() where ended_at is null and id = ${loginId}`)),
        browserToken: ({ account, loginId }) => jwts.sign({ userId: account.id, loginId }, "browser"),
        authenticate: Effect.fnUntraced(function* (token, use) {
          const { loginId, userId } = yield* jwts.verify(token, use)
          const row = yield* activeLogin(loginId)
          if (row?.id !== userId) return yield* notValid
          const { org_id: orgId, ...account } = row
          return { loginId, account, orgId: orgId ?? undefined }
        }),
      })
    }),
  )
}

const refreshTtlMs = 30 * 24 * 3600 * 1000

interface ActiveLoginRow extends Account {
  readonly org_id: string | null
}

interface Rotation {
  readonly verdict: "rotated" | "reused" | "expired" | "unknown"
  readonly login_id: string | null
  readonly user_id: string | null
}

const notValid = serviceError("unauthorized", "The token is not valid")
const unusable = serviceError("forbidden", "The account is disabled")
