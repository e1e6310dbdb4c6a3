/** Device login: a device gets tokens after a person approves it elsewhere. Source: RFC 8628. */
import { randomInt } from "node:crypto"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import { mintSecret, sha256 } from "../secrets.ts"
import { queryDeadline } from "../store/database.ts"
import { afterNow } from "../store/store-time.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { Accounts } from "./accounts.ts"
import { Logins, type LoginTokens } from "./logins.ts"

export interface StartedDevice {
  readonly deviceCode: string
  /** XXXX-XXXX. */
  readonly userCode: string
}

/** A device that waits for a decision. */
export interface PendingDevice {
  /** XXXX-XXXX. */
  readonly userCode: string
  readonly clientName: string
  readonly scope: string | undefined
}

export type PollError = ServiceError<
  "device_code_pending" | "device_code_slow_down" | "device_code_expired" | "device_code_denied" | "forbidden"
>

export class DeviceLogin extends Context.Service<
  DeviceLogin,
  {
    readonly start: (clientName: string, scope: string | undefined) => Effect.Effect<StartedDevice, StoreUnavailable>
    /** Returns tokens once, after approval. */
    readonly poll: (deviceCode: string) => Effect.Effect<LoginTokens, PollError | StoreUnavailable>
    /** The device of a user code, while it waits. */
    readonly pending: (userCode: string) => Effect.Effect<PendingDevice | undefined, StoreUnavailable>
    /**
     * Approves or denies a device; an unknown, expired or decided code is not found. The device's tokens act in the same
     * organisation as the login of the person who approves.
     */
    readonly decide: (
      userCode: string,
      by: { readonly userId: string; readonly orgId: string | undefined },
      approve: boolean,
    ) => Effect.Effect<void, ServiceError<"not_found"> | StoreUnavailable>
  }
>()("weir/identity/DeviceLogin") {
  static readonly layer = Layer.effect(
    DeviceLogin,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const accounts = yield* Accounts
      const logins = yield* Logins
      const bounded = yield* queryDeadline

      return DeviceLogin.of({
        start: Effect.fnUntraced(function* (clientName, scope) {
          const deviceCode = mintSecret("dc")
          const typed = Array.from({ length: codeLength }, () => letters[randomInt(letters.length)]).join("")
          yield* bounded(sql`
            insert into device_codes (device_sha256, user_code, client_name, scope, expires_at, interval_s)
            values (${sha256(deviceCode)}, ${typed}, ${clientName}, ${scope ?? null},
              ${afterNow(sql, deviceTtlS * 1000)}, ${pollIntervalS}::int)`)
          return { deviceCode, userCode: shownUserCode(typed) }
        }),
        pending: Effect.fnUntraced(function* (userCode) {
          const typed = normalUserCode(userCode)
          const [row] = yield* bounded(sql<{ client_name: string; scope: string | null }>`
            select client_name, scope from device_codes
            where user_code = ${typed} and state = 'pending' and expires_at > now()`)
          if (row === undefined) return undefined
          return { userCode: shownUserCode(typed), clientName: row.client_name, scope: row.scope ?? undefined }
        }),
        poll: Effect.fnUntraced(function* (deviceCode) {
          const [poll] = yield* bounded(sql<Poll>`select * from device_poll(${sha256(deviceCode)})`)
          const { verdict = "expired", user_id: userId, org_id: orgId, interval_s: interval } = poll ?? {}
          if (verdict === "approved" && userId) {
            const account = yield* accounts.find(userId)
            if (account !== undefined) return yield* logins.begin(account, "device", orgId ?? undefined)
          }
          return yield* refusals[verdict === "approved" ? "expired" : verdict](interval ?? pollIntervalS)
        }),
        decide: Effect.fnUntraced(function* (userCode, { userId, orgId }, approve) {
          const [row] = yield* bounded(sql<{ decided: boolean }>`
            select device_decide(${normalUserCode(userCode)}, ${userId}, ${approve}, ${orgId ?? null}) as decided`)
          if (row?.decided !== true) return yield* serviceError("not_found", "The code does not exist or has expired")
        }),
      })
    }),
  )
}

export const deviceTtlS = 600
export const pollIntervalS = 5

/** Letters that are not confused with one another and form no words. RFC 8628 section 6.1. */
const letters = "BCDFGHJKLMNPQRSTVWXZ"
const codeLength = 8

interface Poll {
  readonly verdict: "pending" | "approved" | "denied" | "slow_down" | "expired"
  readonly user_id: string | null
  readonly org_id: string | null
  readonly interval_s: number | null
}

const shownUserCode = (typed: string): string => `${typed.slice(0, 4)}-${typed.slice(4)}`

/** Normalises what a person typed: any case, with or without hyphen. */
const normalUserCode = (typed: string): string => typed.toUpperCase().replace(/[^A-Z]/g, "")

const refusals = {
  pending: (interval: number) =>
    serviceError("device_code_pending", "Nobody has approved this device yet", { detail: { interval } }),
  slow_down: (interval: number) =>
    serviceError("device_code_slow_down", "Polling is too frequent", {
      detail: { interval },
      retryAfterMs: interval * 1000,
    }),
  expired: () => serviceError("device_code_expired", "The device code has expired"),
  denied: () => serviceError("device_code_denied", "Access was denied"),
}
