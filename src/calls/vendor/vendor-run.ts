/**
 * A reply that a vendor makes in its own background: it is asked to begin, and then polled until it has ended. To the call it is one
 * request with a late reply. A node that dies leaves it to another one, which goes on with the polls.
 */
import { Effect, type Fiber, Option } from "effect"
import { pollAfter } from "../../background.ts"
import type { CallTarget } from "../../catalogue/snapshot.ts"
import type { Deadlines } from "../../deadlines.ts"
import { parseObject, stringAt } from "../../dialects/parse/json.ts"
import { chunksOfBody } from "../../media/media-file.ts"
import { editJsonText, set } from "../../protocol/json/json-edit.ts"
import type { StoreUnavailable } from "../../store/unavailable.ts"
import {
  fetchWhole,
  type ReplyListener,
  UpstreamBroken,
  type UpstreamRequest,
  VendorClient,
  type WholeReply,
} from "../../upstream/client.ts"
import { authorize } from "./credential.ts"

/** A response that runs at a vendor. */
export interface VendorWork {
  /** The key of its target. */
  readonly target: string
  /** The vendor's own id. */
  readonly id: string
}

/** The longest time that a vendor may take, in milliseconds. */
export const longestRunMs = 24 * 3_600_000
const askMs = 30_000
const longestPollMs = 15_000
/** The time that a vendor may take to end what was cancelled. */
const cancelledMs = 60_000
const mostReplyBytes = 32 * 1024 * 1024

/** One response, as its call and its client's connection share it. */
export class VendorRun {
  readonly #note: (work: VendorWork) => Effect.Effect<boolean, StoreUnavailable>
  #earlier: VendorWork | undefined
  #work: VendorWork | undefined
  #isCancelled = false
  #onCancel: (() => void) | undefined
  /** Ends its call, which has nothing to bill. */
  onNothing: () => void = () => {}
  /** Removes what the vendor has stored of it. */
  removal: Effect.Effect<void> = Effect.void

  /**
   * @param earlier the response that runs at the vendor already
   * @param note stores the work, before the first poll. False if the response was cancelled or erased
   */
  constructor(earlier: VendorWork | undefined, note: (work: VendorWork) => Effect.Effect<boolean, StoreUnavailable>) {
    this.#earlier = earlier
    this.#work = earlier
    this.#note = note
  }

  /** The key of the target at which it runs already. */
  get target(): string | undefined {
    return this.#earlier?.target
  }

  /** Whether it goes on at the vendor, also if this node ends. */
  get isOpen(): boolean {
    return this.#work !== undefined && !this.#isCancelled
  }

  get isCancelled(): boolean {
    return this.#isCancelled
  }

  /** The response was cancelled or erased: its vendor is asked to cancel it, and the call ends with the vendor's report. */
  cancel(): void {
    this.#isCancelled = true
    this.#onCancel?.()
  }

  /** The earlier response, once. */
  takeEarlier(): string | undefined {
    const id = this.#earlier?.id
    this.#earlier = undefined
    return id
  }

  begun(work: VendorWork): Effect.Effect<boolean, StoreUnavailable> {
    this.#work = work
    return this.#note(work)
  }

  ended(): void {
    this.#work = undefined
  }

  /** Waits, but not longer than until it is cancelled. */
  wait(millis: number): Effect.Effect<void> {
    const cancelled = Effect.callback<void>((resume) => {
      const told = () => resume(Effect.void)
      this.#onCancel = told
    })
    return Effect.raceFirst(Effect.sleep(millis), cancelled)
  }
}

interface RunOptions {
  readonly client: VendorClient["Service"]
  readonly deadlines: Deadlines
  readonly fork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
  /** The target that is asked now. */
  readonly current: () => CallTarget | undefined
}

/** A client whose requests run in the background of their vendor. */
export const runAtVendor = (run: VendorRun, options: RunOptions): VendorClient["Service"] =>
  VendorClient.of({
    start: (request, listener) => {
      let isOver = false
      const guarded: ReplyListener = {
        connected: () => isOver || listener.connected(),
        head: (head) => isOver || listener.head(head),
        bytes: (bytes) => isOver || listener.bytes(bytes),
        ended: () => isOver || listener.ended(),
        broken: (error) => isOver || listener.broken(error),
      }
      const fiber = options.fork(
        Effect.catch(reply(run, options, request, guarded), (error) =>
          Effect.sync(() => {
            run.ended()
            guarded.broken(error)
          }),
        ),
      )
      const leave = () => {
        isOver = true
        fiber.interruptUnsafe()
      }
      return { pause: () => {}, resume: () => {}, leave, abort: leave }
    },
  })

const reply = Effect.fnUntraced(function* (
  run: VendorRun,
  { client, deadlines, current }: RunOptions,
  request: UpstreamRequest,
  listener: ReplyListener,
): Effect.fn.Return<void, UpstreamBroken> {
  listener.connected()
  const target = current()
  if (target === undefined) return yield* new UpstreamBroken({ cause: "no target is asked" })
  const [path = "", query] = request.path.split("?", 2)
  const within = { deadlines, timeoutMs: askMs }
  const ask = (method: "GET" | "POST" | "DELETE", id: string, verb = ""): Effect.Effect<WholeReply | undefined> => {
    const place = `${path}/${id}${verb}${query === undefined ? "" : `?${query}`}`
    return authorize(client, target, { path: place, body: "" }).pipe(
      Effect.flatMap((authorization) =>
        fetchWhole(
          client,
          { ...request, method, path: place, headers: { accept: "application/json", ...authorization }, body: "" },
          mostReplyBytes,
          within,
        ),
      ),
      Effect.option,
      Effect.map(Option.getOrUndefined),
    )
  }
  const give = ({ status, headers, body }: WholeReply) => {
    run.ended()
    listener.head({ status, headers })
    listener.bytes(Buffer.from(body))
    listener.ended()
  }

  let id = run.takeEarlier()
  if (id === undefined) {
    const text = yield* Effect.promise(() => textOf(request.body))
    const body = editJsonText(text, [set(true, "background"), set(true, "store")])
    const made = yield* fetchWhole(client, { ...request, body }, mostReplyBytes, within)
    const named = stringAt(parseObject(made.body) ?? {}, "id")
    if (made.status !== 200 || named === undefined || !/^[\w-]{1,256}$/.test(named)) return give(made)
    run.removal = Effect.asVoid(ask("DELETE", named))
    if (!isRunning(made)) return give(made)
    id = named
    const isNoted = yield* Effect.retry(run.begun({ target: target.key, id }), { times: 5 }).pipe(
      Effect.catch(() => Effect.succeed(true)),
    )
    if (!isNoted) run.cancel()
  }
  const running = id
  run.removal = Effect.asVoid(ask("DELETE", running))
  let cancelledAtMs: number | undefined
  let isToldToCancel = false
  for (let polls = 0; ; polls++) {
    if (!run.isCancelled || cancelledAtMs !== undefined) yield* run.wait(pollAfter(polls, longestPollMs, Math.random()))
    if (run.isCancelled) {
      if (cancelledAtMs === undefined) polls = 0
      cancelledAtMs ??= performance.now()
      if (performance.now() - cancelledAtMs > cancelledMs) return run.onNothing()
      if (!isToldToCancel) {
        const answer = yield* ask("POST", running, "/cancel")
        isToldToCancel = answer !== undefined && answer.status < 500 && answer.status !== 429
      }
    }
    const now = yield* ask("GET", running)
    // A vendor that does not answer now, or takes no credential for a moment, goes on with its work.
    if (now?.status === 404)
      return run.isCancelled
        ? run.onNothing()
        : yield* new UpstreamBroken({ cause: "the vendor does not know the response" })
    if (now?.status !== 200 || isRunning(now)) continue
    if (run.isCancelled && hasNothing(now.body)) return run.onNothing()
    return give({ ...now, body: run.isCancelled ? asCutOff(now.body) : asFailed(now.body) })
  }
})

const statusOf = (body: string): string | undefined => stringAt(parseObject(body) ?? {}, "status")

const isRunning = ({ body }: WholeReply): boolean => {
  const status = statusOf(body)
  return status === "queued" || status === "in_progress"
}

/** Whether a response was cancelled before anything came of it. */
const hasNothing = (body: string): boolean => {
  const { status, usage } = parseObject(body) ?? {}
  return status === "cancelled" && (usage === undefined || usage === null)
}

/** A response that was cancelled here is billed for what came, as one that was cut off. */
const asCutOff = (body: string): string =>
  statusOf(body) === "cancelled"
    ? editJsonText(body, [set("incomplete", "status"), set({ reason: "max_output_tokens" }, "incomplete_details")])
    : body

/** A response that somebody else has cancelled at the vendor. */
const asFailed = (body: string): string =>
  statusOf(body) === "cancelled"
    ? editJsonText(body, [
        set("failed", "status"),
        set({ code: "server_error", message: "The response was cancelled at the vendor" }, "error"),
      ])
    : body

const textOf = async (body: UpstreamRequest["body"]): Promise<string> => {
  if (typeof body === "string") return body
  if (body instanceof Uint8Array) return Buffer.from(body).toString("utf8")
  const chunks: Array<Buffer> = []
  for await (const chunk of chunksOfBody(body)) chunks.push(chunk)
  return Buffer.concat(chunks).toString("utf8")
}
