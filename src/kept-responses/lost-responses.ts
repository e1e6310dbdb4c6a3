/**
 * Responses whose node has died. One of which nothing was billed, and no part of an answer was written, is made once more, by the
 * node that takes it; others have failed. Any number of nodes look for them.
 */
import { Clock, Effect, FiberSet, type Scope } from "effect"
import { forAll } from "../background.ts"
import { usageOf } from "../dialects/openai-responses/response-object.ts"
import { editJsonText, set } from "../protocol/json/json-edit.ts"
import type { Sealer } from "../store/seal.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import type { BackgroundStore, CalledResponse, EventPart, LostResponse } from "./background-store.ts"
import type { RowContent } from "./content-objects.ts"
import {
  type KeptContent,
  type KeptOwner,
  type KeptRequest,
  type KeptWork,
  openRequest,
  openWork,
} from "./kept-response.ts"

/** A response that another call makes once more. */
export interface RepeatedResponse extends CalledResponse {
  readonly owner: KeptOwner
  readonly keyId: string
  readonly request: KeptRequest
  /** Its work at a vendor; undefined if it runs at none. */
  readonly work: KeptWork | undefined
  /** The request id that its settlement spends. */
  readonly requestId: string
  readonly createdMs: number
  /** The number of the next part of its events. */
  readonly part: number
}

/** How responses are made once more. */
export interface Repeat {
  /** The gateway's request id of a new call. */
  readonly newRef: () => string
  /** @returns the error, if the request is refused; undefined if it has run, or is left to a later look */
  readonly run: (response: RepeatedResponse) => Effect.Effect<object | undefined>
}

/** The largest request that is kept to be made again. */
export const mostRequestBytes = 1024 * 1024
const mostLost = 100

interface LostServices {
  readonly store: BackgroundStore["Service"]
  readonly sealer: Sealer
  readonly read: (
    orgId: string,
    id: string,
    row: RowContent,
  ) => Effect.Effect<KeptContent | undefined, StoreUnavailable>
  readonly end: (
    orgId: string,
    id: string,
    state: "failed",
    content: KeptContent,
    ref: string,
  ) => Effect.Effect<boolean, StoreUnavailable>
  readonly eventsIn: (
    orgId: string,
    id: string,
    parts: ReadonlyArray<EventPart>,
  ) => ReadonlyArray<{ readonly text: string }>
  readonly leaseMs: number
}

export const makeLostResponses = Effect.fnUntraced(function* (services: LostServices) {
  const { store, sealer, read, end, eventsIn, leaseMs } = services
  const clock = yield* Clock.Clock
  const repeating = yield* FiberSet.make<void>()
  let repeat: Repeat | undefined

  const fail = Effect.fnUntraced(function* (lost: LostResponse, ref: string, error: object) {
    const { orgId, id, counts } = lost
    const opened = (yield* read(orgId, id, lost)) ?? unreadable(id)
    // Its last checkpoint is billed, as soon as the lease of its node is over.
    const usage = counts && usageOf(counts)
    yield* end(orgId, id, "failed", withState(opened, "failed", { error, usage }), ref)
  })

  /** The request of a response that may be made once more. */
  const requestOf = Effect.fnUntraced(function* ({ orgId, id, counts, again, ...lost }: LostResponse) {
    if (again === undefined || counts !== undefined) return undefined
    const work = lost.work && openWork(sealer, orgId, id, lost.work)
    if (lost.work !== undefined && work === undefined) return undefined
    const request = openRequest(sealer, orgId, { id, sealed: again.sealed }, 2 * mostRequestBytes)
    if (request === undefined) return undefined
    const events = eventsIn(orgId, id, yield* store.events(orgId, id, 0))
    return events.some(({ text }) => hasAnswer(text)) ? undefined : { request, work, keyId: again.keyId }
  })

  const endOrRepeat = Effect.fnUntraced(function* (lost: LostResponse) {
    const asked = repeat === undefined ? undefined : yield* requestOf(lost)
    if (asked === undefined || repeat === undefined) return yield* fail(lost, lost.ref, lostError)
    const ref = repeat.newRef()
    const taken = yield* store.repeat(lost, ref, leaseMs)
    if (taken._tag === "Gone") return
    if (taken._tag === "Spent") return yield* fail(lost, lost.ref, lostError)
    const { orgId, id, owner, requestId, createdAt } = lost
    const { part } = taken
    const made = repeat.run({ orgId, id, ref, owner, ...asked, requestId, createdMs: createdAt.getTime(), part })
    const refused = (error: object | undefined) =>
      error === undefined ? Effect.void : Effect.ignore(fail(lost, ref, error))
    yield* FiberSet.run(repeating, Effect.flatMap(made, refused))
  })

  /** While the database does not answer, no node can renew: after that, all do before one ends the responses of others. */
  let reachableSinceMs = clock.currentTimeMillisUnsafe()
  const look = Effect.gen(function* () {
    const lost = yield* store.lost(mostLost)
    if (clock.currentTimeMillisUnsafe() - reachableSinceMs < leaseMs) return
    yield* forAll(lost, endOrRepeat)
  }).pipe(
    Effect.tapError(() =>
      Effect.sync(() => {
        reachableSinceMs = clock.currentTimeMillisUnsafe()
      }),
    ),
  )

  const repeatWith = (how: Repeat): Effect.Effect<void, never, Scope.Scope> =>
    Effect.acquireRelease(
      Effect.sync(() => {
        repeat = how
      }),
      () =>
        Effect.sync(() => {
          repeat = undefined
        }),
    )
  return { look, repeatWith }
})

/** A response in another state. */
export const withState = (
  { input, response }: KeptContent,
  status: string,
  { error, usage }: { readonly error?: object; readonly usage?: object | undefined } = {},
): KeptContent => ({
  input,
  response: editJsonText(response, [
    set(status, "status"),
    ...(error === undefined ? [] : [set(error, "error")]),
    ...(usage === undefined ? [] : [set(usage, "usage")]),
  ]),
})

/** Whether events have more than the first ones, which say that a response has begun. */
const hasAnswer = (events: string): boolean => /^event: (?!response\.(?:created|queued|in_progress)$)/m.test(events)

/** A response that was sealed with another key. */
const unreadable = (id: string): KeptContent => ({ input: [], response: JSON.stringify({ id, object: "response" }) })

const lostError = {
  code: "server_error",
  message:
    "The gateway that ran this response has ended. Send the request again with another Idempotency-Key: it is a new call",
}
