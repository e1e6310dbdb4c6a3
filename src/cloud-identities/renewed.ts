/**
 * A token, or keys for a limited time, that are fetched once for all calls and renewed in the background before they expire:
 * no call waits while they are valid. Unused ones are not renewed.
 */
import { hash } from "node:crypto"
import { IdentityFailed } from "./identity.ts"

export interface Issued<A> {
  readonly value: A
  readonly expiresAtMs: number
}

/** The share of its life after which it is renewed; up to a tenth of it earlier, so that nodes differ. */
const renewAfter = 0.8
const jitter = 0.1
/** The time before its end from which it is not used any more. */
const marginMs = 5_000
/** The pause after a renewal that failed, while the old one is used. */
const retryMs = 5_000
/** The time in which an issuer must answer. */
const deadlineMs = 10_000
/** The longest time of Node's timers. */
const longestTimerMs = 2 ** 31 - 1

export interface RenewedOptions {
  readonly nowMs?: () => number
  /** Runs something later; a process does not wait for it. */
  readonly later?: (run: () => void, ms: number) => void
  readonly deadlineMs?: number
}

const runLater = (run: () => void, ms: number): void => {
  setTimeout(run, Math.min(ms, longestTimerMs)).unref()
}

export class Renewed<A> {
  readonly #describe: (cause: unknown) => string
  readonly #nowMs: () => number
  readonly #later: (run: () => void, ms: number) => void
  readonly #deadlineMs: number
  #current: Issued<A> | undefined
  #renewAtMs = 0
  #fetching: Promise<Issued<A>> | undefined
  /** The request of the last user, e.g. through another proxy; undefined if nobody has used it yet. */
  #fetchOfUser: (() => Promise<Issued<A>>) | undefined
  #problem: string | undefined

  /** @param describe returns the reason why an issuer gave nothing, in a sentence without secrets */
  constructor(describe: (cause: unknown) => string, options: RenewedOptions = {}) {
    this.#describe = describe
    this.#nowMs = options.nowMs ?? Date.now
    this.#later = options.later ?? runLater
    this.#deadlineMs = options.deadlineMs ?? deadlineMs
  }

  /** The reason why the last attempt to get one failed; undefined if it did not. */
  get problem(): string | undefined {
    return this.#problem
  }

  /** @param fetch asks the issuer */
  async get(fetch: () => Promise<Issued<A>>): Promise<A> {
    this.#fetchOfUser = fetch
    const current = this.#valid()
    if (current === undefined) return (await this.#renew(fetch)).value
    if (this.#nowMs() >= this.#renewAtMs) this.#renewBehind(fetch)
    return current.value
  }

  /** Drops the current one: it was revoked before its end. */
  forget(): void {
    this.#current = undefined
  }

  #valid(): Issued<A> | undefined {
    const current = this.#current
    return current !== undefined && this.#nowMs() < current.expiresAtMs - marginMs ? current : undefined
  }

  /** Renews in the background; the old one is used until its end. */
  #renewBehind(fetch: () => Promise<Issued<A>>): void {
    this.#renewAtMs = this.#nowMs() + retryMs
    this.#renew(fetch).catch(() => this.#renewLater(retryMs))
  }

  #renewLater(ms: number): void {
    this.#later(() => {
      const isDue = this.#valid() !== undefined && this.#nowMs() >= this.#renewAtMs
      if (isDue && this.#fetchOfUser !== undefined) this.#renewBehind(this.#fetchOfUser)
    }, ms)
  }

  #renew(fetch: () => Promise<Issued<A>>): Promise<Issued<A>> {
    this.#fetching ??= within(this.#deadlineMs, fetch())
      .then(
        (issued) => {
          const lifeMs = issued.expiresAtMs - this.#nowMs()
          const renewMs = lifeMs * (renewAfter - jitter * Math.random())
          this.#current = issued
          this.#renewAtMs = this.#nowMs() + renewMs
          this.#problem = undefined
          this.#fetchOfUser = undefined
          this.#renewLater(renewMs)
          return issued
        },
        (cause: unknown) => {
          this.#problem =
            cause === tooSlow ? `the issuer took longer than ${this.#deadlineMs} ms` : this.#describe(cause)
          throw new IdentityFailed({ sentence: this.#problem })
        },
      )
      .finally(() => {
        this.#fetching = undefined
      })
    return this.#fetching
  }
}

/** The reason why an issuer gave nothing: the first sentence whose pattern its error has. */
export const sentenceBy =
  (sentences: ReadonlyArray<readonly [pattern: RegExp, sentence: string]>, otherwise: string) =>
  (cause: unknown): string => {
    const text = cause instanceof Error ? `${cause.name} ${cause.message}` : ""
    return sentences.find(([pattern]) => pattern.test(text))?.[1] ?? otherwise
  }

const tooSlow = new Error("too slow")

const within = <A>(ms: number, work: Promise<A>): Promise<A> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(tooSlow), ms)
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })

/** Tokens outlive a change of the catalogue: they are stored under the hash of the values that they are requested with. */
export class KeptRenewed<A> {
  readonly #describe: (cause: unknown) => string
  readonly #kept = new Map<string, Renewed<A>>()

  constructor(describe: (cause: unknown) => string) {
    this.#describe = describe
  }

  for(...secrets: ReadonlyArray<string | undefined>): Renewed<A> {
    const key = hash("sha256", JSON.stringify(secrets))
    const known = this.#kept.get(key)
    if (known !== undefined) return known
    const made = new Renewed<A>(this.#describe)
    this.#kept.set(key, made)
    const [oldest] = this.#kept.keys()
    if (this.#kept.size > mostKept && oldest !== undefined) this.#kept.delete(oldest)
    return made
  }
}

const mostKept = 1000
