/**
 * Secrets that a catalogue names in a store (`vault:`, `aws-sm:`, `gcp-sm:`, `azure-kv:`).
 *
 * **Details**
 *
 * They are read before a catalogue is loaded, and then repeatedly while it is in force; resolving a reference only returns
 * the value that was read last. A store that fails changes nothing: the last value stays in force, and a problem of the node
 * says so.
 */
import { Clock, Context, Effect, Layer, Schedule } from "effect"
import { runEvery } from "../background.ts"
import { WeirConfig } from "../config.ts"
import { type StoreReference, storeReferenceOf } from "../protocol/values/secret-ref.ts"
import { readSecretBy } from "../secret-stores/stores.ts"
import { ResolveSecret } from "../secrets.ts"
import { NodeProblems } from "../telemetry/node-problems.ts"
import { VendorClient } from "../upstream/client.ts"
import type { CatalogueIssue } from "./load.ts"
import { CatalogueRefused } from "./refusal.ts"
import { type PickedSecret, pickSecret } from "./secret-member.ts"

export interface Unresolved {
  readonly ref: string
  /** The reason, in a sentence without the secret. */
  readonly problem: string
}

export class StoredSecrets extends Context.Service<
  StoredSecrets,
  {
    /**
     * Reads now the secrets in stores that these references name; other references are ignored.
     * @returns those that have no value at all
     */
    readonly read: (refs: Iterable<string>) => Effect.Effect<ReadonlyArray<Unresolved>>
    /** Reads secrets that were not read within the period, or failed a moment ago. */
    readonly readOld: (refs: Iterable<string>) => Effect.Effect<ReadonlyArray<Unresolved>>
    /** Keeps reading these and reports failures, in place of the references that were followed before. */
    readonly follow: (refs: Iterable<string>) => Effect.Effect<void>
    /** The value that was read last. */
    readonly resolve: (ref: StoreReference) => string | undefined
  }
>()("weir/catalogue/StoredSecrets") {
  static readonly layer = Layer.effect(
    StoredSecrets,
    Effect.gen(function* () {
      const config = yield* WeirConfig
      const readSecret = readSecretBy(yield* VendorClient, config)
      const problems = yield* NodeProblems
      const entries = new Map<string, Entry>()
      let followed: ReadonlySet<string> = new Set()

      const entryOf = (ref: StoreReference): Entry => {
        const known = entries.get(ref.whole)
        if (known !== undefined) return known
        const made = new Entry(ref)
        entries.set(ref.whole, made)
        return made
      }

      const readEntry = Effect.fnUntraced(function* (entry: Entry) {
        const { failure, text } = yield* readSecret(entry.ref).pipe(
          Effect.retry({ schedule: pauses, times: 2, while: ({ mayPass }) => mayPass }),
          Effect.match({
            onFailure: ({ sentence }) => ({ failure: sentence, text: undefined }),
            onSuccess: (text) => ({ failure: undefined, text }),
          }),
        )
        const nowMs = yield* Clock.currentTimeMillis
        entry.readAtMs = nowMs
        if (failure === undefined) entry.succeed(text, nowMs + config.secretsRefreshMs * (1 - jitter * Math.random()))
        else entry.fail(failure, nowMs, config.secretsRefreshMs)
      })

      const readAll = (due: ReadonlyArray<Entry>) =>
        Effect.forEach(due, readEntry, { concurrency: mostAtOnce, discard: true }).pipe(
          Effect.timeoutOption(deadline),
          Effect.andThen(tellAll),
        )

      const referencesIn = (refs: Iterable<string>): ReadonlyArray<StoreReference> =>
        [...new Set(refs)].flatMap((ref) => storeReferenceOf(ref) ?? [])

      /** Updates the log and the node's problems from the entries. */
      const tellAll = Effect.suspend(() =>
        Effect.forEach([...entries.values()], (entry) => tell(entry), { discard: true }),
      )

      const tell = Effect.fnUntraced(function* (entry: Entry) {
        const problem = followed.has(entry.ref.whole) ? entry.problem : undefined
        if (problem === entry.told) return
        entry.told = problem
        const what = entry.ref.whole
        if (problem === undefined) {
          yield* problems.end(what)
          return yield* followed.has(what) ? Effect.logInfo(`${what} can be read again`) : Effect.void
        }
        const rest = entry.hasText ? "; the value that was read last stays in force" : ""
        yield* problems.begin(what, `${problem}${rest}`)
        yield* Effect.logError(`${what} cannot be read: ${problem}${rest}`)
      })

      const readThese = Effect.fnUntraced(function* (
        refs: Iterable<string>,
        isDue: (entry: Entry, nowMs: number) => boolean,
      ) {
        const found = referencesIn(refs)
        if (found.length === 0) return []
        const nowMs = yield* Clock.currentTimeMillis
        yield* readAll([...new Set(found.map(entryOf))].filter((entry) => isDue(entry, nowMs)))
        return found.flatMap((ref): ReadonlyArray<Unresolved> => {
          const { value, problem } = entryOf(ref).pick(ref.member)
          return value === undefined
            ? [{ ref: textOf(ref), problem: problem ?? "its store does not answer in time" }]
            : []
        })
      })

      const look = Effect.gen(function* () {
        const nowMs = yield* Clock.currentTimeMillis
        for (const [whole, entry] of entries) {
          const wasRead = entry.readAtMs > 0
          if (wasRead && !followed.has(whole) && nowMs > entry.readAtMs + forgottenAfterMs) entries.delete(whole)
        }
        const due = [...entries].flatMap(([whole, entry]) =>
          followed.has(whole) && nowMs >= entry.dueAtMs ? [entry] : [],
        )
        if (due.length > 0) yield* readAll(due)
      })
      yield* runEvery("1 second", "Reading secrets of stores", look)

      return StoredSecrets.of({
        read: (refs) => readThese(refs, () => true),
        readOld: (refs) => readThese(refs, ({ dueAtMs }, nowMs) => nowMs >= dueAtMs),
        follow: (refs) =>
          Effect.suspend(() => {
            const found = referencesIn(refs)
            followed = new Set(found.map(({ whole }) => whole))
            const isOld = ({ readAtMs }: Entry, nowMs: number) => nowMs >= readAtMs + justReadMs
            return Effect.andThen(readThese(refs, isOld), tellAll)
          }),
        resolve: (ref) => entries.get(ref.whole)?.pick(ref.member).value,
      })
    }),
  )
}

/** Resolves references to stores in addition to those that the machine has. */
export const layerResolveStored = Layer.effect(
  ResolveSecret,
  Effect.gen(function* () {
    const resolve = yield* ResolveSecret
    const stored = yield* StoredSecrets
    return (ref: string) => {
      const inStore = storeReferenceOf(ref)
      return inStore === undefined ? resolve(ref) : stored.resolve(inStore)
    }
  }),
)

/**
 * Refuses a catalogue whose secrets cannot be read.
 * @param text the text in which the lines are found
 */
export const refuseUnresolved = (
  unresolved: ReadonlyArray<Unresolved>,
  text = "",
): Effect.Effect<void, CatalogueRefused> =>
  unresolved.length === 0
    ? Effect.void
    : Effect.fail(new CatalogueRefused({ issues: unresolved.slice(0, mostIssues).map((each) => issueOf(each, text)) }))

const issueOf = ({ ref, problem }: Unresolved, text: string): CatalogueIssue => {
  const line = text.slice(0, Math.max(0, text.indexOf(ref))).split("\n").length
  return { path: "", line, message: `${ref} cannot be read: ${problem}` }
}

const mostIssues = 16

const textOf = ({ whole, member }: StoreReference): string => (member === undefined ? whole : `${whole}#${member}`)

/** A secret of a store, as it was read last. */
class Entry {
  readonly ref: StoreReference
  /** The time of the next read; 0 before the first time. */
  dueAtMs = 0
  /** The time when its store was asked last. */
  readAtMs = 0
  /** The problem that was last reported to operators. */
  told: string | undefined
  #text: string | undefined
  #failure: string | undefined
  #failures = 0
  readonly #picked = new Map<string | undefined, PickedSecret & { readonly from: string }>()

  constructor(ref: StoreReference) {
    this.ref = ref
  }

  get hasText(): boolean {
    return this.#text !== undefined
  }

  /** The reason why it, or a member that was asked for, could not be read the last time. */
  get problem(): string | undefined {
    return this.#failure ?? [...this.#picked.values()].find(({ problem }) => problem !== undefined)?.problem
  }

  succeed(text: string, dueAtMs: number): void {
    this.#text = text
    this.#failure = undefined
    this.#failures = 0
    this.dueAtMs = dueAtMs
    for (const member of this.#picked.keys()) this.pick(member)
  }

  fail(sentence: string, nowMs: number, mostMs: number): void {
    this.#failure = sentence
    this.dueAtMs = nowMs + Math.min(mostMs, firstPauseMs * 2 ** Math.min(this.#failures++, 20))
  }

  /** A member that has disappeared keeps the value that it had. */
  pick(member: string | undefined): PickedSecret {
    const text = this.#text
    if (text === undefined) return { value: undefined, problem: this.#failure }
    const known = this.#picked.get(member)
    if (known?.from === text) return known
    const { value, problem } = pickSecret(text, member)
    const picked = { value: value ?? known?.value, problem, from: text }
    this.#picked.set(member, picked)
    return picked
  }
}

/** Secrets that are read at once. */
const mostAtOnce = 8
/** The time that a catalogue waits for all of its secrets. */
const deadline = "20 seconds"
/** Pauses before a store is asked again that may answer in a moment. */
const pauses = Schedule.exponential("200 millis", 4)
/** The pause after the first failure, while nobody waits; it is doubled up to the period. */
const firstPauseMs = 2000
/** The time for which a secret that was read is not read again: a catalogue is checked, and then loaded. */
const justReadMs = 10_000
/** The share by which periods differ: nodes that were started together do not ask together. */
const jitter = 0.1
/** The time that a secret is kept if no catalogue in force names it, such as a secret of an identity provider. */
const forgottenAfterMs = 3_600_000
