/**
 * HTTP calls to vendors. A call is opened in a scope and torn down with it: however an exchange ends, the body is
 * consumed or its socket is destroyed. Bytes arrive as chunks of one socket read, and reading stops when nobody
 * consumes them.
 */
import type { LookupFunction } from "node:net"
import { Context, Data, Effect, Layer, Result, Scope } from "effect"
import { Agent, type Dispatcher } from "undici"
import { Egress, type EgressBlocked } from "./egress.ts"

export interface UpstreamRequest {
  /** POST if absent. */
  readonly method?: "GET" | "POST"
  readonly baseUrl: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Whether a user chose the address: then it passes the egress guard, here and at each connection. */
  readonly isGuarded?: boolean
}

export interface UpstreamHead {
  readonly status: number
  /** Lower-case names; several values of one name are joined. */
  readonly headers: Readonly<Record<string, string>>
}

/** The vendor could not be reached, or the connection broke. */
export class UpstreamBroken extends Data.TaggedError("UpstreamBroken")<{ readonly cause: unknown }> {}

/** One running call; its three stages are awaited in order. */
export interface UpstreamCall {
  /** The connection is established and the request is being sent. */
  readonly connected: Effect.Effect<void, UpstreamBroken>
  readonly head: Effect.Effect<UpstreamHead, UpstreamBroken>
  /** All bytes that arrived since the last read; undefined at the end. */
  readonly read: Effect.Effect<Uint8Array | undefined, UpstreamBroken>
  /** The reply is complete: let the connection finish its body, so that it can be reused. */
  readonly leave: () => void
}

export class VendorClient extends Context.Service<
  VendorClient,
  {
    readonly open: (request: UpstreamRequest) => Effect.Effect<UpstreamCall, never, Scope.Scope>
  }
>()("weir/upstream/VendorClient") {
  static readonly layer = Layer.effect(
    VendorClient,
    Effect.gen(function* () {
      const egress = yield* Egress
      const makeAgent = (connect: { readonly lookup?: LookupFunction }) =>
        Effect.acquireRelease(
          // The exchange's timeout tiers apply; undici's own timeouts are off.
          Effect.sync(
            () => new Agent({ headersTimeout: 0, bodyTimeout: 0, connect: { timeout: 0, ...connect }, pipelining: 1 }),
          ),
          (agent) => Effect.promise(() => agent.destroy()),
        )
      const agent = yield* makeAgent({})
      // The egress guard is the connection's lookup: it connects to the address that was checked. Redirects are not
      // followed.
      const guarded = yield* makeAgent({ lookup: egress.lookup })
      const makeCall = (request: UpstreamRequest) => {
        if (request.isGuarded !== true) return new Call(agent, request)
        const checked = egress.check(request.baseUrl)
        return Result.isSuccess(checked) ? new Call(guarded, request) : blockedCall(checked.failure)
      }
      // Does what `acquireRelease` does, without copying the context for each call.
      const open = (request: UpstreamRequest) =>
        Effect.uninterruptible(
          Effect.flatMap(Effect.scope, (scope) => {
            const call = makeCall(request)
            return Effect.as(
              Scope.addFinalizer(
                scope,
                Effect.sync(() => call.release()),
              ),
              call,
            )
          }),
        )
      return VendorClient.of({ open })
    }),
  )
}

/** A call that the egress guard blocked. */
const blockedCall = (cause: EgressBlocked): UpstreamCall & { readonly release: () => void } => {
  const broken = Effect.fail(new UpstreamBroken({ cause }))
  return { connected: broken, head: broken, read: broken, leave: () => {}, release: () => {} }
}

/** Unread bytes of one call above which its socket is paused. */
const highWaterBytes = 64 * 1024

/** How long a complete reply may take to end its body before its socket is destroyed. */
const leaveMs = 500

const jsonContent = { "content-type": "application/json" }

class Call implements UpstreamCall, Dispatcher.DispatchHandler {
  #controller: Dispatcher.DispatchController | undefined
  #head: UpstreamHead | undefined
  #chunks: Array<Uint8Array> = []
  #bytes = 0
  #ended = false
  #discarding = false
  #failure: UpstreamBroken | undefined
  #wake: (() => void) | undefined

  constructor(agent: Agent, { method = "POST", baseUrl, path, headers, body }: UpstreamRequest) {
    const url = new URL(baseUrl)
    const prefix = url.pathname.replace(/\/$/, "")
    agent.dispatch(
      {
        origin: url.origin,
        path: `${prefix}${path}`,
        method,
        headers: { ...(method === "POST" && jsonContent), "user-agent": "weir", ...headers },
        body: method === "POST" ? body : null,
      },
      this,
    )
  }

  readonly connected = this.#when(() => (this.#controller === undefined ? undefined : true)).pipe(Effect.asVoid)
  readonly head = this.#when(() => this.#head)
  readonly read = this.#when(() => this.#take()).pipe(Effect.map((bytes) => bytes ?? undefined))

  leave(): void {
    this.#discard()
    if (this.#ended) return
    setTimeout(() => this.#abort(), leaveMs).unref()
  }

  release(): void {
    if (this.#ended || this.#discarding) return
    this.#discard()
    this.#abort()
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#discarding) this.#abort()
    else this.#notify()
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: HeaderValues): void {
    if (status < 200) return
    this.#head = { status, headers: joinValues(headers) }
    this.#notify()
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#discarding) return
    this.#chunks.push(chunk)
    this.#bytes += chunk.length
    this.#notify()
    // The reader may have consumed everything just now: resuming inside this callback would lose the parser's remaining
    // bytes.
    if (this.#bytes >= highWaterBytes) controller.pause()
  }

  onResponseEnd(): void {
    this.#ended = true
    this.#notify()
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, cause: Error): void {
    this.#ended = true
    this.#failure = new UpstreamBroken({ cause })
    this.#notify()
  }

  /** All bytes; null at the end; undefined if there are none yet. */
  #take(): Uint8Array | null | undefined {
    const [first] = this.#chunks
    if (first === undefined) return this.#ended && this.#failure === undefined ? null : undefined
    const bytes = this.#chunks.length === 1 ? first : Buffer.concat(this.#chunks)
    this.#chunks = []
    this.#bytes = 0
    if (this.#controller?.paused === true) this.#controller.resume()
    return bytes
  }

  /** Waits for a value; one waiter at a time, because an exchange reads its call in order. */
  #when<A>(value: () => A | undefined): Effect.Effect<A, UpstreamBroken> {
    return Effect.callback<A, UpstreamBroken>((resume) => {
      const look = () => {
        // Consuming bytes resumes the socket, which may deliver more at once: those are for the next waiter.
        this.#wake = undefined
        const found = value()
        if (found === undefined && this.#failure === undefined) this.#wake = look
        if (found !== undefined) resume(Effect.succeed(found))
        else if (this.#failure !== undefined) resume(Effect.fail(this.#failure))
      }
      look()
      return Effect.sync(() => {
        this.#wake = undefined
      })
    })
  }

  #notify(): void {
    this.#wake?.()
  }

  #discard(): void {
    this.#discarding = true
    this.#chunks = []
    this.#bytes = 0
    if (this.#controller?.paused === true) this.#controller.resume()
  }

  #abort(): void {
    if (!this.#ended) this.#controller?.abort(new Error("the exchange is over"))
  }
}

type HeaderValues = Readonly<Record<string, string | ReadonlyArray<string> | undefined>>

const joinValues = (headers: HeaderValues): Readonly<Record<string, string>> => {
  const joined: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) joined[name.toLowerCase()] = typeof value === "string" ? value : value.join(", ")
  }
  return joined
}
