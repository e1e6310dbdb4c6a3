/**
 * Jobs: what vendors work on after the request that asked for it. Each node takes jobs that are due, asks their vendors, and
 * ends them: done jobs are charged, the holds of all others are released. A job outlives every node.
 *
 * **Details.** A job that runs out of time is asked for once more, and then ended at its vendor. It fails when the vendor
 * says that it has ended, or after `endingMs` of the job store; a result that comes until then is delivered and charged.
 */
import { randomUUID } from "node:crypto"
import { Context, Effect, FiberSet, Layer } from "effect"
import { pollAfter, runEvery } from "../background.ts"
import { CallDeadlines } from "../deadlines.ts"
import type { VendorJob } from "../dialects/media-dialect.ts"
import { parseObject } from "../dialects/parse/json.ts"
import type { VendorFault } from "../dialects/vendor/faults.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { fetchWhole, type UpstreamBroken, VendorClient } from "../upstream/client.ts"
import { makeJobTargets } from "./job-calls.ts"
import { type Job, JobStore } from "./job-store.ts"

/** The interval at which a node looks for jobs that are due. */
const lookEvery = "1 second"
/** Jobs that a node asks for at once; slow vendors do not delay the others. */
const mostAtOnce = 64
const replyMs = 20_000
/** The lease of a job: after it, another node takes the job of a node that died. */
const leaseMs = 3 * replyMs
const maxReplyBytes = 1024 * 1024

/** States of vendors that are logged; a vendor that invents more does not fill the memory. */
const mostUnknownStates = 100

/** The longest time between two polls of a job. */
const longestPollMs = 15_000

type OpenState = "queued" | "running"

/** The state of a job whose vendor reported nothing new. */
const knownState = ({ state }: Job): OpenState => (state === "running" ? "running" : "queued")

const namesOf = ({ orgId, id, vendor, vendorJob }: Job) => ({ org: orgId, job: id, vendor, vendorJob })

/** A failure that ends a job: the vendor does not know the job any more, or refuses the request. */
const endingFault = (fault: VendorFault): VendorFault | undefined => {
  if (fault.blame === "model") return { ...fault, code: "gone" }
  return fault.blame === "request" || fault.blame === "filter" ? fault : undefined
}

/** The code that is stored and returned. A filter has a code of its own, for any name that the vendor gives it. */
const errorCodeOf = (fault: VendorFault | undefined): string =>
  fault?.blame === "filter" ? "content_blocked" : (fault?.code ?? "failed")

export class Jobs extends Context.Service<
  Jobs,
  {
    /**
     * Cancels a job, also at its vendor if possible, and releases its hold.
     * @returns false if it had ended
     */
    readonly cancel: (job: Job) => Effect.Effect<boolean, StoreUnavailable>
  }
>()("weir/jobs/Jobs") {
  static readonly layer = Layer.effect(
    Jobs,
    Effect.gen(function* () {
      const store = yield* JobStore
      const client = yield* VendorClient
      const deadlines = yield* CallDeadlines
      const targetOf = yield* makeJobTargets
      const node = randomUUID()
      const within = { deadlines, timeoutMs: replyMs }

      /** Unknown states that were logged. */
      const unknownStates = new Set<string>()

      /** Polls that have not ended. */
      const polls = yield* FiberSet.make<void>()

      const poll = Effect.fnUntraced(function* (job: Job): Effect.fn.Return<void, StoreUnavailable> {
        const said = yield* ask(job)
        if (said.state === "done") {
          yield* store.end(job, { state: "done", content: said.content })
        } else if (said.state === "failed") {
          yield* store.end(job, { state: "failed", errorCode: job.isOver ? "timeout" : errorCodeOf(said.fault) })
        } else if (job.isGivenUp) {
          yield* Effect.logError("A vendor did not end a job that ran out of time, and may bill it", namesOf(job))
          yield* store.end(job, { state: "failed", errorCode: "timeout" })
        } else {
          if (job.isOver) yield* endAtVendor(job)
          yield* goOn(job, said.state, said.progress)
        }
      })

      /** The next poll reads whether the vendor has ended it: an accepted request to cancel is no proof. */
      const endAtVendor = (job: Job): Effect.Effect<void> =>
        Effect.catch(tellVendor(job), (cause) =>
          Effect.logWarning("A vendor could not be asked to end a job that ran out of time", cause),
        )

      /** Logs a state that no dialect knows, once for each vendor. */
      const logUnknown = (job: Job, state: string): Effect.Effect<void> =>
        Effect.suspend(() => {
          const name = `${job.vendor} ${state}`
          if (unknownStates.has(name) || unknownStates.size >= mostUnknownStates) return Effect.void
          unknownStates.add(name)
          return Effect.logWarning("A vendor reports an unknown state of a job; it counts as running", {
            ...namesOf(job),
            state,
          })
        })

      /** Gives a job back, to be asked for later. */
      const goOn = (job: Job, state: OpenState, progress = 0): Effect.Effect<void, StoreUnavailable> =>
        store.goesOn(job, node, state, progress, pollAfter(job.polls, longestPollMs, Math.random()))

      /** A lease ends with its poll, also if that fails, or the node ends: another node asks then. */
      const pollLeased = (job: Job): Effect.Effect<void> =>
        poll(job).pipe(
          Effect.onError(() => Effect.ignore(goOn(job, knownState(job)))),
          Effect.catch((cause) =>
            Effect.logWarning("The state of a job could not be read; it is read again later", cause),
          ),
        )

      /** The vendor's answer about a job; a vendor that does not answer is asked again. */
      const ask = Effect.fnUntraced(function* (job: Job): Effect.fn.Return<VendorJob, StoreUnavailable> {
        const same: VendorJob = { state: knownState(job) }
        const found = yield* targetOf(job)
        if (found === undefined) return same
        const asked = found.request(found.dialect.poll(job.vendorJob))
        const reply = yield* Effect.option(
          Effect.flatMap(asked, (wire) => fetchWhole(client, wire, maxReplyBytes, within)),
        )
        if (reply._tag === "None") return same
        const { status, body } = reply.value
        if (status !== 200) {
          const fault = endingFault(found.target.dialect.decodeError(status, body))
          return fault === undefined ? same : { state: "failed", fault }
        }
        const json = parseObject(body)
        const said = json && found.dialect.status(json)
        if (said?.unknownState !== undefined) yield* logUnknown(job, said.unknownState)
        return said ?? same
      })

      const look = Effect.gen(function* () {
        const room = mostAtOnce - (yield* FiberSet.size(polls))
        if (room <= 0) return
        // A job that was taken is asked for, even if the node ends now.
        yield* Effect.uninterruptibleMask((restore) =>
          Effect.flatMap(restore(store.take(node, room, leaseMs)), (due) =>
            Effect.forEach(due, (job) => FiberSet.run(polls, pollLeased(job)), { discard: true }),
          ),
        )
      })
      yield* runEvery(lookEvery, "Jobs", look)

      const tellVendor = Effect.fnUntraced(function* (
        job: Job,
      ): Effect.fn.Return<void, StoreUnavailable | UpstreamBroken> {
        const found = yield* targetOf(job)
        const wire = found?.dialect.cancel?.(job.vendorJob)
        if (found !== undefined && wire !== undefined) {
          yield* fetchWhole(client, yield* found.request(wire), maxReplyBytes, within)
        }
      })

      return Jobs.of({
        cancel: Effect.fnUntraced(function* (job) {
          const isEnded = yield* store.end(job, { state: "cancelled" })
          if (isEnded) {
            yield* Effect.catch(tellVendor(job), (cause) =>
              Effect.logWarning("A vendor could not be asked to cancel a job", cause),
            )
          }
          return isEnded
        }),
      })
    }),
  )
}
