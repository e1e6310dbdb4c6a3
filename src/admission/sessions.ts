/**
 * Sessions: stored in the database at first sight, kept active by the gate, ended for good. Inside the window no
 * request waits for a write: last-seen times are written in the background.
 */
import { randomUUID } from "node:crypto"
import { Clock, Context, Effect, Layer } from "effect"
import { runEvery } from "../background.ts"
import { WeirConfig } from "../config.ts"
import { type Caller, sessionOwner } from "../identity/caller.ts"
import type { ServiceError } from "../protocol/error.ts"
import { isUlid } from "../protocol/values/ulid.ts"
import { CallQueries } from "../store/connections.ts"
import { queryDeadline } from "../store/database.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { recordConcurrency } from "../telemetry/metrics.ts"
import {
  type Admission,
  type AdmissionError,
  type AdmitRequest,
  type Counted,
  Gate,
  retryInBackground,
  type SessionClaim,
  sessionArchived,
  unknownSession,
} from "./gate.ts"

import { noTokens } from "./rates/ended.ts"

export type Admitted = Exclude<Admission, { readonly _tag: "UnknownSession" }>

export class Sessions extends Context.Service<
  Sessions,
  {
    /** Admits a request in a session: one call of the gate if it knows the session, and no write to the database. */
    readonly admit: (
      request: AdmitRequest,
      caller: Caller,
      sessionId: string,
    ) => Effect.Effect<Admitted, AdmissionError>
    /**
     * Opens a session with an id of ours, or renews one. If the gate does not answer, sessions inside the window pass.
     */
    readonly heartbeat: (
      request: AdmitRequest,
      caller: Caller,
      sessionId: string | undefined,
    ) => Effect.Effect<string, AdmissionError>
    /** Ends a session; ending it again is no error. */
    readonly archive: (
      caller: Caller,
      sessionId: string,
    ) => Effect.Effect<void, ServiceError<"not_found"> | StoreUnavailable>
  }
>()("weir/admission/Sessions") {
  static readonly layer = Layer.effect(
    Sessions,
    Effect.gen(function* () {
      const { sessionWindowS, gateMode } = yield* WeirConfig
      const windowMs = sessionWindowS * 1000
      const { sql } = yield* CallQueries
      const gate = yield* Gate
      const services = yield* Effect.context<never>()
      const bounded = yield* queryDeadline
      /** When sessions of this node were last seen, and by which owner. */
      const recent = new Map<string, { readonly owner: string; readonly seenMs: number }>()
      const unwritten = new Set<string>()

      const find = (id: string) =>
        bounded(sql<SessionRow>`select org_id, caller, state, last_seen_at from sessions where id = ${id}`).pipe(
          Effect.map((rows) => rows[0]),
        )

      const claimOf = (
        caller: Caller,
        id: string,
        more: Pick<SessionClaim, "ifUnknown" | "lastSeenMs">,
      ): SessionClaim => ({
        id,
        caller: sessionOwner(caller),
        windowMs,
        cap: gateMode === "off" ? undefined : caller.plan?.concurrency,
        enforces: gateMode === "enforce",
        ...more,
      })

      const touch = Effect.fnUntraced(function* (caller: Caller, id: string) {
        recent.delete(id)
        recent.set(id, { owner: ownerOf(caller), seenMs: yield* Clock.currentTimeMillis })
        unwritten.add(id)
        const [oldest] = recent.keys()
        if (recent.size > maxRecent && oldest !== undefined) recent.delete(oldest)
      })

      const isOwn = (row: SessionRow, caller: Caller): boolean =>
        row.org_id === caller.org.id && row.caller === sessionOwner(caller)

      /** Stores a session at first sight. If the id belongs to another owner, the gate removes it. */
      const register = Effect.fnUntraced(function* (caller: Caller, id: string) {
        const owner = sessionOwner(caller)
        const orgId = caller.org.id
        const added = yield* bounded(sql<{ id: string }>`
          insert into sessions (id, org_id, caller) values (${id}, ${orgId}, ${owner})
          on conflict (id) do nothing returning id`)
        if (added.length > 0) return
        const row = yield* find(id)
        const isOurs = row !== undefined && isOwn(row, caller)
        if (isOurs && row.state === "active") return
        yield* gate.endSession(orgId, id, owner, isOurs ? "archive" : "forget")
        return yield* isOurs ? sessionArchived(id) : unknownSession()
      })

      const enter = Effect.fnUntraced(function* (request: AdmitRequest, caller: Caller, id: string, isNew: boolean) {
        const ifUnknown = isNew || isUlid(id) ? "register" : "report"
        const first = yield* gate.admit({ ...request, session: claimOf(caller, id, { ifUnknown }) })
        if (first._tag !== "UnknownSession") return first
        // The gate does not have the session any more, or it never existed.
        const row = yield* find(id)
        if (row === undefined || !isOwn(row, caller)) return yield* unknownSession()
        if (row.state === "archived") return yield* sessionArchived(id)
        const lastSeenMs = row.last_seen_at.getTime()
        const second = yield* gate.admit({
          ...request,
          session: claimOf(caller, id, { ifUnknown: "report", lastSeenMs }),
        })
        return second._tag === "UnknownSession" ? yield* unknownSession() : second
      })

      /** If the gate let the request pass unchecked, the stored session decides. */
      const admitUnknown = Effect.fnUntraced(function* (caller: Caller, id: string, isNew: boolean) {
        const row = yield* find(id)
        if (row === undefined) return isNew || isUlid(id) ? yield* register(caller, id) : yield* unknownSession()
        if (!isOwn(row, caller)) return yield* unknownSession()
        if (row.state === "archived") return yield* sessionArchived(id)
      })

      const admit = Effect.fnUntraced(function* (request: AdmitRequest, caller: Caller, id: string, isNew: boolean) {
        const admission = yield* enter(request, caller, id, isNew).pipe(Effect.tapError(countRefusal))
        if (admission._tag !== "Admitted") return admission
        const { session } = admission
        if (session !== undefined) recordConcurrency(services, session.wouldReject ? "would_reject" : "admitted")
        // If the request is refused after all, release what the gate claimed for it.
        yield* writeDown(caller, id, isNew, session?.entry).pipe(
          Effect.tapError(() => withdraw(request, admission.counted)),
        )
        yield* touch(caller, id)
        return admission
      })

      const writeDown = (
        caller: Caller,
        id: string,
        isNew: boolean,
        entry: Entry | undefined,
      ): Effect.Effect<void, ServiceError<"not_found" | "session_archived"> | StoreUnavailable> => {
        if (entry === undefined) return admitUnknown(caller, id, isNew)
        if (entry !== "registered") return Effect.void
        // A slot without a stored session would be unknown to everybody: release it.
        return register(caller, id).pipe(
          Effect.tapError((error) => (error._tag === "StoreUnavailable" ? forget(caller, id) : Effect.void)),
        )
      }

      const forget = (caller: Caller, id: string) =>
        Effect.ignore(gate.endSession(caller.org.id, id, sessionOwner(caller), "forget"))

      const withdraw = (request: AdmitRequest, counted: Counted | undefined) => {
        const { owner, keyId, register: claim } = request
        const ended = counted === undefined ? Effect.void : gate.ended(request, counted, noTokens)
        return claim === undefined
          ? ended
          : Effect.andThen(ended, Effect.ignore(gate.withdraw({ owner, keyId, ...claim })))
      }

      const countRefusal = (error: AdmissionError) =>
        Effect.sync(() => {
          const isFull = error._tag === "ServiceError" && error.code === "plan_concurrency_exceeded"
          if (isFull) recordConcurrency(services, "rejected")
        })

      /** Whether a session is stored and inside the window, as far as is known without the gate. */
      const isInsideWindow = Effect.fnUntraced(function* (caller: Caller, id: string) {
        const sinceMs = (yield* Clock.currentTimeMillis) - windowMs
        const seen = recent.get(id)
        if (seen !== undefined) return seen.owner === ownerOf(caller) && seen.seenMs > sinceMs
        const row = yield* Effect.catch(find(id), () => Effect.undefined)
        if (row === undefined || row.state === "archived") return false
        return `${row.org_id} ${row.caller}` === ownerOf(caller) && row.last_seen_at.getTime() > sinceMs
      })

      // The database has a clock of its own: it is given the time since a session was seen.
      const writeBehind = Effect.flatMap(Clock.currentTimeMillis, (nowMs) => {
        const rows = [...unwritten].flatMap((id) => {
          const seen = recent.get(id)
          return seen === undefined ? [] : [{ id, ago_ms: Math.max(0, nowMs - seen.seenMs) }]
        })
        if (rows.length === 0) return Effect.void
        unwritten.clear()
        return bounded(sql`
          update sessions s set last_seen_at = greatest(s.last_seen_at, now() - x.ago_ms * interval '1 millisecond')
          from jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb) as x(id text, ago_ms double precision)
          where s.id = x.id`).pipe(
          Effect.tapError(() =>
            Effect.sync(() => {
              for (const { id } of rows) unwritten.add(id)
            }),
          ),
        )
      })
      yield* runEvery(writeBehindEvery, "Storing last-seen times", writeBehind)
      yield* Effect.addFinalizer(() => Effect.ignore(writeBehind))

      return Sessions.of({
        admit: (request, caller, id) => admit(request, caller, id, false),
        heartbeat: Effect.fnUntraced(function* (request, caller, known) {
          const id = known ?? `ses_${randomUUID().replaceAll("-", "")}`
          return yield* admit(request, caller, id, known === undefined).pipe(
            Effect.as(id),
            Effect.catch((error) => {
              if (error._tag !== "ServiceError" || error.code !== "plan_gate_unavailable") return Effect.fail(error)
              return Effect.flatMap(isInsideWindow(caller, id), (isInside) =>
                isInside ? Effect.as(touch(caller, id), id) : Effect.fail(error),
              )
            }),
          )
        }),
        archive: Effect.fnUntraced(function* (caller, id) {
          const row = yield* find(id)
          if (row === undefined || !isOwn(row, caller)) return yield* unknownSession()
          yield* bounded(sql`
            update sessions set state = 'archived', archived_at = now() where id = ${id} and state = 'active'`)
          recent.delete(id)
          unwritten.delete(id)
          // The session has ended: if the gate does not answer now, it is updated later.
          yield* retryInBackground(gate.endSession(caller.org.id, id, sessionOwner(caller), "archive"))
        }),
      })
    }),
  )
}

interface SessionRow {
  readonly org_id: string
  readonly caller: string
  readonly state: "active" | "archived"
  readonly last_seen_at: Date
}

/** The interval at which last-seen times are written. */
const writeBehindEvery = "2 seconds"

/** Last-seen times kept for the next write and for when the gate does not answer; the oldest are dropped first. */
const maxRecent = 100_000

type Entry = NonNullable<Extract<Admission, { readonly _tag: "Admitted" }>["session"]>["entry"]

const ownerOf = (caller: Caller): string => `${caller.org.id} ${sessionOwner(caller)}`
