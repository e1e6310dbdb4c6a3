/**
 * Responses that run without their client. The node that runs one has its lease, and writes its events for readers of other
 * nodes. A node that dies leaves it to the others, who end it as failed; its money is settled as that of any call.
 */
import { Context, Effect, Exit, Layer, type Scope, Semaphore } from "effect"
import { forAll, runEvery } from "../background.ts"
import { compress, decompressAtMost } from "../files/zstd.ts"
import type { KeptFacts } from "../money/settlement.ts"
import { editJsonText, set } from "../protocol/json/json-edit.ts"
import { Sealing } from "../store/seal.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { recordBackgroundResponses } from "../telemetry/metrics.ts"
import { BackgroundStore, type CalledResponse, type EventPart, type SealedResponse } from "./background-store.ts"
import { ContentObjects, type RowContent } from "./content-objects.ts"
import type { EventLog, EventReader } from "./event-log.ts"
import { type KeptContent, type KeptWork, openResponse, sealContent, sealWork } from "./kept-response.ts"
import { makeLostResponses, type Repeat, withState } from "./lost-responses.ts"

/** A response that runs on this node. */
export interface RunningResponse extends CalledResponse {
  readonly log: EventLog
  /** Its content while it runs. */
  readonly content: KeptContent
  /** Ends its call. */
  readonly stop: () => void
}

/** A response with its events that are written. */
interface Written {
  readonly response: RunningResponse
  /** It takes the events that are written. */
  readonly reader: EventReader
  /** Its failure, if that could not be written. */
  failure?: KeptContent | undefined
  readonly writing: Semaphore.Semaphore
  /** The number of parts. */
  parts: number
}

/** The lease of a response; it is renewed each second. */
const leaseMs = 15_000
/** The time for which events can be read after they were written; after that, the response itself is read. */
export const eventsKeptMs = 3_600_000
/** The most bytes of events in one part. */
const mostPartBytes = 64 * 1024 * 1024

export class BackgroundResponses extends Context.Service<
  BackgroundResponses,
  {
    /** Begins a response; it is this node's from here on. */
    readonly begin: (response: RunningResponse, facts: KeptFacts) => Effect.Effect<void, StoreUnavailable>
    /** Goes on with a response that this node has taken. @param part the number of the next part of its events */
    readonly goOn: (response: RunningResponse, part: number) => void
    /** From now on, this node makes responses again whose nodes have died, until the scope is closed. */
    readonly repeatWith: (repeat: Repeat) => Effect.Effect<void, never, Scope.Scope>
    /** Notes that a response runs at its vendor. @returns false if it was cancelled or erased */
    readonly works: (response: RunningResponse, work: KeptWork) => Effect.Effect<boolean, StoreUnavailable>
    /** Leaves a response that goes on at its vendor to other nodes. */
    readonly leave: (response: RunningResponse) => Effect.Effect<void>
    /** A response that runs on this node. */
    readonly running: (orgId: string, id: string) => RunningResponse | undefined
    /**
     * The call of a response has ended.
     * @param failed its content, if it failed
     * @param usage the usage for which it was billed, for a response that was cancelled before
     */
    readonly ended: (
      response: RunningResponse,
      failed: KeptContent | undefined,
      usage: object | undefined,
    ) => Effect.Effect<void>
    /**
     * Cancels a response, on any node.
     * @returns its content then; undefined if it had ended
     */
    readonly cancel: (
      orgId: string,
      id: string,
      content: KeptContent,
    ) => Effect.Effect<KeptContent | undefined, StoreUnavailable>
    /** The events of a response that any node has written, from a part on. */
    readonly events: (
      orgId: string,
      id: string,
      from: number,
    ) => Effect.Effect<ReadonlyArray<{ readonly part: number; readonly text: string }>, StoreUnavailable>
  }
>()("weir/kept-responses/BackgroundResponses") {
  static readonly layer = Layer.effect(
    BackgroundResponses,
    Effect.gen(function* () {
      const store = yield* BackgroundStore
      const objects = yield* ContentObjects
      const { sealer } = yield* Sealing
      const context = yield* Effect.context<never>()
      /** The responses that run here, by their keys. */
      const running = new Map<string, Written>()

      const keyOf = (orgId: string, id: string) => `${orgId} ${id}`
      const contextOf = (orgId: string, id: string, part: number) => `response events ${orgId} ${id} ${part}`

      /** Writes the events that are not written yet. */
      const write = ({ orgId, id, ref }: RunningResponse): Effect.Effect<void, StoreUnavailable> => {
        const written = running.get(keyOf(orgId, id))
        if (written === undefined) return Effect.void
        // The last events are written at the end, when others may be on their way.
        return written.writing.withPermit(
          Effect.suspend(() => {
            const texts = written.reader.waiting()
            if (texts.length === 0) return Effect.void
            const part = written.parts
            const content = sealer.sealBytes(compress(texts.join("")), contextOf(orgId, id, part))
            return Effect.map(store.addEvents({ orgId, id, ref }, { part, content }, eventsKeptMs), () => {
              written.parts++
              written.reader.take(texts.length)
            })
          }),
        )
      }

      const here = () => [...running.values()].map(({ response }) => response)

      yield* runEvery(
        "250 millis",
        "Writing events of responses",
        Effect.suspend(() => forAll(here(), write, { concurrency: 8 })),
      )

      /** Writes a failure; one that could not be written is written with the next renewal. */
      const fail = ({ orgId, id, ref }: CalledResponse, content: KeptContent) =>
        Effect.onExit(end(orgId, id, "failed", content, ref), (exit) =>
          Effect.sync(() => {
            const written = running.get(keyOf(orgId, id))
            if (written !== undefined) written.failure = Exit.isSuccess(exit) ? undefined : content
          }),
        )
      const failures = Effect.suspend(() =>
        forAll(running.values(), ({ response, failure }) =>
          failure === undefined ? Effect.void : Effect.ignore(fail(response, failure)),
        ),
      )
      const renew = Effect.suspend(() => {
        const now = here()
        if (now.length === 0) return Effect.void
        return Effect.map(Effect.andThen(failures, store.renew(now, leaseMs)), (still) => {
          for (const response of now) {
            if (still.has(response.id)) continue
            response.stop()
            forget(response)
          }
        })
      })

      const forget = ({ orgId, id, log }: RunningResponse) => {
        if (!log.isEnded) return
        running.get(keyOf(orgId, id))?.reader.leave()
        running.delete(keyOf(orgId, id))
        recordBackgroundResponses(context, running.size)
      }
      yield* runEvery("1 second", "Renewing responses", renew)

      /** Writes the content of a response, and gives up its object if the row is not written. */
      const writeRow = Effect.fnUntraced(function* (
        orgId: string,
        id: string,
        content: KeptContent,
        write: (sealed: SealedResponse) => Effect.Effect<boolean, StoreUnavailable>,
      ) {
        const row = yield* objects.store(orgId, sealContent(sealer, orgId, id, content))
        const isWritten = yield* write({ orgId, id, ...row })
        if (!isWritten) yield* objects.discard(orgId, [row])
        return isWritten
      })

      /** @param ref the call that makes it; undefined for any */
      const end = (orgId: string, id: string, state: "failed" | "cancelled", content: KeptContent, ref?: string) =>
        writeRow(orgId, id, content, (sealed) => store.end(sealed, state, ref))

      const read = Effect.fnUntraced(function* (orgId: string, id: string, row: RowContent) {
        const content = yield* objects.read(orgId, row)
        return content && openResponse(sealer, orgId, { id, content }, mostPartBytes)
      })

      /** A response that was cancelled is billed after that: it gets its usage then. */
      const amend = Effect.fnUntraced(function* (orgId: string, id: string, usage: object) {
        const row = yield* store.cancelled(orgId, id)
        const opened = row && (yield* read(orgId, id, row))
        if (opened === undefined) return
        const used = { ...opened, response: editJsonText(opened.response, [set(usage, "usage")]) }
        yield* writeRow(orgId, id, used, store.amend)
      })

      const eventsIn = (orgId: string, id: string, parts: ReadonlyArray<EventPart>) =>
        parts.flatMap(({ part, content }) => {
          const opened = sealer.openBytes(content, contextOf(orgId, id, part))
          const text = opened && decompressAtMost(opened, mostPartBytes)
          return text === undefined ? [] : [{ part, text }]
        })

      const lost = yield* makeLostResponses({ store, sealer, read, end, eventsIn, leaseMs })
      yield* runEvery("5 seconds", "Ending lost responses", lost.look)

      const runs = (response: RunningResponse, parts: number) => {
        const { orgId, id, log } = response
        running.set(keyOf(orgId, id), { response, reader: log.read(), writing: Semaphore.makeUnsafe(1), parts })
        recordBackgroundResponses(context, running.size)
      }

      return BackgroundResponses.of({
        begin: (response, facts) => Effect.map(store.begin(response.orgId, facts, leaseMs), () => runs(response, 0)),
        goOn: runs,
        repeatWith: lost.repeatWith,
        works: (response, work) => store.works(response, sealWork(sealer, response.orgId, response.id, work)),
        leave: (response) => {
          response.log.end()
          forget(response)
          return Effect.asVoid(store.renew([response], 0))
        },
        running: (orgId, id) => running.get(keyOf(orgId, id))?.response,
        ended: (response, failed, usage) => {
          const { orgId, id, log } = response
          const failure = failed === undefined ? Effect.void : fail(response, failed)
          const amended = usage === undefined ? Effect.void : amend(orgId, id, usage)
          return Effect.ignore(Effect.andThen(Effect.ignore(write(response)), failure)).pipe(
            Effect.andThen(Effect.ignore(amended)),
            // Its lease is renewed until its end is in the database: a settlement may wait for that.
            Effect.andThen(Effect.sync(() => log.end())),
          )
        },
        cancel: Effect.fnUntraced(function* (orgId, id, content) {
          const cancelled = withState(content, "cancelled")
          const isEnded = yield* end(orgId, id, "cancelled", cancelled)
          running.get(keyOf(orgId, id))?.response.stop()
          return isEnded ? cancelled : undefined
        }),
        events: (orgId, id, from) => Effect.map(store.events(orgId, id, from), (parts) => eventsIn(orgId, id, parts)),
      })
    }),
  )
}
