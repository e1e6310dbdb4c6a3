/** Drafts of a catalogue: entries are added to a text, and vendors in it are called, before anything is applied. */
import { Clock, Context, Effect, Layer, Redacted, Semaphore } from "effect"
import { CatalogueRefused } from "../catalogue/refusal.ts"
import { secretReferences } from "../catalogue/secret-references.ts"
import { type CatalogueSnapshot, makeSnapshot } from "../catalogue/snapshot.ts"
import { refuseUnresolved, StoredSecrets } from "../catalogue/stored-secrets.ts"
import type { Draft, DraftEntries, OffersRequest, VendorOffers } from "../protocol/control/draft.ts"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import { dateOf, dayMs } from "../protocol/values/instant.ts"
import { ResolveSecret } from "../secrets.ts"
import { type Actor, AuditLog } from "../store/audit-log.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { VendorClient } from "../upstream/client.ts"
import { startThread } from "../worker-thread.ts"
import { addToDraft, type Checked, type OffersJob, offersForDraft, vendorOfDraft } from "./draft-jobs.ts"
import { type DraftJob, isDraftAnswer } from "./draft-protocol.ts"
import { listModels } from "./vendor-models.ts"

export class Drafts extends Context.Service<
  Drafts,
  {
    /** Adds entries to a text; see {@link addToDraft}. */
    readonly add: (text: string, add: DraftEntries) => Effect.Effect<Draft, CatalogueRefused>
    /**
     * A snapshot of the text, for a call of one of its vendors that is about to happen. The audit log records the call,
     * because no catalogue in force has the vendor.
     */
    readonly vendor: (
      text: string,
      vendor: string,
      by: Actor,
    ) => Effect.Effect<CatalogueSnapshot, CatalogueRefused | StoreUnavailable>
    /** The models that a vendor of the text lists, with their prices in a price file. */
    readonly offers: (
      vendor: string,
      asked: typeof OffersRequest.Type,
      by: Actor,
    ) => Effect.Effect<VendorOffers, CatalogueRefused | ServiceError<"not_found"> | StoreUnavailable>
  }
>()("weir/setup/Drafts") {
  static readonly layer = Layer.effect(
    Drafts,
    Effect.gen(function* () {
      const client = yield* VendorClient
      const auditLog = yield* AuditLog
      const resolveSecret = yield* ResolveSecret
      const stored = yield* StoredSecrets
      const oneAtATime = yield* Semaphore.make(1)
      /** Here, or in a thread if it takes long. */
      const run = <J extends DraftJob, A>(job: J, here: (job: J) => Checked<A>): Effect.Effect<A, CatalogueRefused> =>
        isLong(job)
          ? oneAtATime.withPermits(1)(inThread<A>(job))
          : Effect.suspend(() =>
              Effect.mapError(Effect.fromResult(here(job)), (issues) => new CatalogueRefused({ issues })),
            )

      const vendor = Effect.fn("Drafts.vendor")(function* (text: string, id: string, by: Actor) {
        const document = yield* run({ kind: "vendor", text, vendor: id }, vendorOfDraft)
        yield* Effect.flatMap(stored.read(secretReferences(document)), (unresolved) =>
          refuseUnresolved(unresolved, text),
        )
        const snapshot = makeSnapshot(document, 0n, "draft", resolveSecret)
        const entry = snapshot.vendor(id)
        if (entry !== undefined) {
          const { baseUrl, credential } = entry.vendor
          const detail = { vendor: id, baseUrl, ...(credential !== undefined && { credential }) }
          yield* auditLog.write("vendor.tried", by, detail)
        }
        return snapshot
      })

      const offers = Effect.fn("Drafts.offers")(function* (
        id: string,
        { text, prices, provider, markup = "0%" }: typeof OffersRequest.Type,
        by: Actor,
      ) {
        const entry = (yield* vendor(text, id, by)).vendor(id)
        if (entry === undefined) return yield* serviceError("not_found", "The text has no such vendor")
        const key = entry.credential === undefined ? undefined : Redacted.value(entry.credential)
        const { listed, problem } = yield* Effect.match(listModels(client, entry.vendor, key, entry.network), {
          onFailure: ({ message }) => ({ listed: undefined, problem: message }),
          onSuccess: (names) => ({ listed: names, problem: null }),
        })
        const nowMs = yield* Clock.currentTimeMillis
        const [today, tomorrow] = [dateOf(nowMs), dateOf(nowMs + dayMs)]
        const job: OffersJob = { kind: "offers", text, vendor: id, listed, prices, provider, markup, today, tomorrow }
        const offered = yield* run(job, offersForDraft)
        return { listed: listed?.length ?? 0, problem, ...offered }
      })

      return Drafts.of({ add: (text, add) => run({ kind: "add", text, add }, addToDraft), vendor, offers })
    }),
  )
}

/** The size of a job that takes some milliseconds; starting a thread takes longer. */
const smallLength = 16 * 1024

/** About as much as an entry of a catalogue takes. */
const entryLength = 100

const isLong = (job: DraftJob): boolean => job.text.length + restLength(job) > smallLength

const restLength = (job: DraftJob): number => {
  switch (job.kind) {
    case "add":
      return Object.values(job.add).reduce((sum, entries) => sum + entries.length, 0) * entryLength
    case "vendor":
      return 0
    case "offers":
      return (job.prices?.length ?? 0) + (job.listed?.length ?? 0) * entryLength
  }
}

/** A thread for each job: they are few, and a person waits for them. */
const inThread = <A>(job: DraftJob): Effect.Effect<A, CatalogueRefused> =>
  Effect.callback((resume) => {
    const worker = startThread(import.meta, "draft-worker", {
      workerData: job,
      isMessage: isDraftAnswer<A>,
      onMessage: (message) =>
        resume(
          message.outcome === "done"
            ? Effect.succeed(message.result)
            : Effect.fail(new CatalogueRefused({ issues: message.issues })),
        ),
      onEnd: (cause) => resume(Effect.die(cause)),
    })
    return Effect.promise(() => worker.terminate())
  })
