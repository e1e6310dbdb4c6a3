/**
 * HTTP calls to vendors. Received bytes are pushed to a listener, in the turn of the event loop in which they were read from
 * the socket; the listener pauses the socket when it has no room.
 */
import { Context, Data, Effect, Layer, Result } from "effect"
import type { Dispatcher } from "undici"
import type { Deadlines } from "../deadlines.ts"
import { bytesOfBody, chunksOfBody, type MediaBody } from "../media/media-file.ts"
import { makeDispatchers } from "./dispatchers.ts"
import { Egress } from "./egress.ts"
import type { Network } from "./network.ts"
import { inPieces } from "./pieces.ts"

export interface UpstreamRequest {
  /** POST if absent. */
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE"
  readonly baseUrl: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** The body; bytes belong to the call from here on, and their memory is freed when they are sent. */
  readonly body: string | Uint8Array | MediaBody
  /** Whether a user chose the address: then it passes the egress guard, here and at each connection. */
  readonly isGuarded?: boolean
  /** The proxy and certificates for its address, if they differ from the machine's. */
  readonly network?: Network | undefined
}

export interface UpstreamHead {
  readonly status: number
  /** Lower-case names; several values of one name are joined. */
  readonly headers: Readonly<Record<string, string>>
}

export const isEventStream = ({ headers }: UpstreamHead): boolean =>
  eventStreams.some((type) => headers["content-type"]?.startsWith(type) === true)

/** Events as text, and in Amazon's frames. */
const eventStreams = ["text/event-stream", "application/vnd.amazon.eventstream"]

/** The vendor could not be reached, or the connection broke. */
export class UpstreamBroken extends Data.TaggedError("UpstreamBroken")<{ readonly cause: unknown }> {}

const shortages: ReadonlySet<unknown> = new Set(["EMFILE", "ENFILE", "ENOBUFS", "EADDRNOTAVAIL", "ENOMEM"])

/** Whether this machine had no file, port or memory for a connection: the vendor was not even asked. */
export const isShortage = ({ cause }: UpstreamBroken): boolean => hasShortage(cause)

const hasShortage = (cause: unknown): boolean => {
  if (cause instanceof AggregateError) return cause.errors.some(hasShortage)
  return cause instanceof Error && (("code" in cause && shortages.has(cause.code)) || hasShortage(cause.cause))
}

/** The listener of a call's events. After `ended` or `broken` there is no further event. */
export interface ReplyListener {
  /** The connection is established and the request is being sent. */
  readonly connected: () => void
  readonly head: (head: UpstreamHead) => void
  /** All bytes of one read of the socket. */
  readonly bytes: (bytes: Uint8Array) => void
  readonly ended: () => void
  readonly broken: (error: UpstreamBroken) => void
}

/** A running call. Its caller ends it with `leave` or `abort`. */
export interface UpstreamCall {
  /** Stops reading; bytes of a read that was under way may still come. */
  readonly pause: () => void
  readonly resume: () => void
  /** The reply is complete: lets the connection finish its body, so that it can be reused. */
  readonly leave: () => void
  /** Destroys the socket of a call that has not ended. */
  readonly abort: () => void
}

export class VendorClient extends Context.Service<
  VendorClient,
  {
    /** Starts a call; its events go to the listener, perhaps before this returns. */
    readonly start: (request: UpstreamRequest, listener: ReplyListener) => UpstreamCall
  }
>()("weir/upstream/VendorClient") {
  static readonly layer = Layer.effect(
    VendorClient,
    Effect.gen(function* () {
      const egress = yield* Egress
      const dispatcherFor = yield* makeDispatchers
      const refuse = (listener: ReplyListener, cause: unknown) => {
        listener.broken(new UpstreamBroken({ cause }))
        return noCall
      }
      return VendorClient.of({
        start: (request, listener) => {
          const { isGuarded = false, network } = request
          // Redirects are not followed, so this is the only address that is called.
          const checked = isGuarded ? egress.check(request.baseUrl) : undefined
          if (checked !== undefined && Result.isFailure(checked)) return refuse(listener, checked.failure)
          if (network?.problem !== undefined) return refuse(listener, new Error(network.problem))
          return new Call(dispatcherFor(isGuarded, network), request, listener)
        },
      })
    }),
  )
}

const tooSlow = "the reply did not come in time"

/** The time that a whole reply may take. */
export interface Within {
  readonly deadlines: Deadlines
  readonly timeoutMs: number
}

/** A reply that was read to its end. */
export interface WholeReply extends UpstreamHead {
  readonly body: string
}

/** The same, of which the body is no text. */
export interface WholeBytes extends UpstreamHead {
  readonly body: Buffer
}

/** Calls, and reads the whole reply; the call is aborted if it takes too long, is too large, or is interrupted. */
export const fetchWhole = (
  client: VendorClient["Service"],
  request: UpstreamRequest,
  maxBytes: number,
  within?: Within,
): Effect.Effect<WholeReply, UpstreamBroken> =>
  Effect.map(fetchBytes(client, request, maxBytes, within), (reply) => ({
    ...reply,
    body: reply.body.toString("utf8"),
  }))

/** The cause of a reply that was left, because it is larger than it may be. */
export const replyTooLarge = "the reply is too large"

export const fetchBytes = (
  client: VendorClient["Service"],
  request: UpstreamRequest,
  maxBytes: number,
  within?: Within,
): Effect.Effect<WholeBytes, UpstreamBroken> =>
  Effect.callback((resume) => {
    let call = noCall
    let head: UpstreamHead = { status: 0, headers: {} }
    const chunks: Array<Uint8Array> = []
    let bytes = 0
    const watch = within?.deadlines.after(within.timeoutMs, () => abort(tooSlow))
    const end = (reply: Effect.Effect<WholeBytes, UpstreamBroken>) => {
      if (watch !== undefined) within?.deadlines.remove(watch)
      resume(reply)
    }
    const abort = (cause: string) => {
      end(Effect.fail(new UpstreamBroken({ cause })))
      call.abort()
    }
    call = client.start(request, {
      connected: () => {},
      head: (found) => {
        head = found
      },
      bytes: (chunk) => {
        chunks.push(chunk)
        bytes += chunk.length
        if (bytes > maxBytes) abort(replyTooLarge)
      },
      ended: () => end(Effect.succeed({ ...head, body: Buffer.concat(chunks) })),
      broken: (error) => end(Effect.fail(error)),
    })
    return Effect.sync(() => abort("the call was interrupted"))
  })

/** A call that the egress guard blocked. */
const noCall: UpstreamCall = { pause: () => {}, resume: () => {}, leave: () => {}, abort: () => {} }

/** The time in which a complete reply must end its body before its socket is destroyed. */
const leaveMs = 500

const jsonContent = { "content-type": "application/json" }

/** The size from which a body is released while it is sent; a shorter one is one write with the head. */
const longText = 16 * 1024

/** A body in the form that undici takes, and its length if undici cannot find it. */
const bodyOf = (
  body: UpstreamRequest["body"],
): readonly [string | Uint8Array | Iterable<Uint8Array> | AsyncIterable<Uint8Array>, length?: number] => {
  if (typeof body === "string") return body.length < longText ? [body] : bodyOf(Buffer.from(body))
  if (body instanceof Uint8Array) return body.length < longText ? [body] : [inPieces(body), body.length]
  return [chunksOfBody(body), bytesOfBody(body)]
}

class Call implements UpstreamCall, Dispatcher.DispatchHandler {
  readonly #listener: ReplyListener
  #controller: Dispatcher.DispatchController | undefined
  #chunks: Array<Uint8Array> = []
  #ended = false
  /** Whether the caller has left: the listener gets no more events. */
  #isLeft = false
  /** Ends the body of a reply that was left. */
  #leaving: NodeJS.Timeout | undefined

  constructor(
    dispatcher: Dispatcher,
    { method = "POST", baseUrl, path, headers, body }: UpstreamRequest,
    listener: ReplyListener,
  ) {
    this.#listener = listener
    const { origin, prefix } = addressOf(baseUrl)
    const hasBody = method === "POST" || method === "PUT" || method === "PATCH"
    const [sent, length] = hasBody ? bodyOf(body) : [null]
    dispatcher.dispatch(
      {
        origin,
        path: `${prefix}${path}`,
        method,
        headers: {
          ...((method === "POST" || method === "PATCH") && jsonContent),
          "user-agent": "weir",
          ...headers,
          ...(length !== undefined && { "content-length": String(length) }),
        },
        // undici's types do not have iterables, which its documentation has.
        body: sent as Exclude<Dispatcher.DispatchOptions["body"], undefined>,
      },
      this,
    )
  }

  pause(): void {
    if (!this.#ended) this.#controller?.pause()
  }

  resume(): void {
    if (this.#controller?.paused === true) this.#controller.resume()
  }

  leave(): void {
    this.#isLeft = true
    if (this.#ended) return
    this.resume()
    this.#leaving = setTimeout(() => this.#destroy(), leaveMs).unref()
  }

  abort(): void {
    if (this.#isLeft) return
    this.#isLeft = true
    this.#destroy()
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#isLeft) this.#destroy()
    else this.#listener.connected()
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: HeaderValues): void {
    // The head's buffers would otherwise be kept as long as the reply.
    controller.rawHeaders = null
    if (status < 200 || this.#isLeft) return
    this.#listener.head({ status, headers: joinValues(headers) })
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isLeft) return
    // One read of the socket may bring many chunks: the listener gets them together, in the same turn of the event loop.
    if (this.#chunks.push(chunk) === 1) queueMicrotask(this.#tellBytes)
  }

  onResponseEnd(): void {
    this.#end()
    this.#tellBytes()
    if (!this.#isLeft) this.#listener.ended()
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, cause: Error): void {
    this.#end()
    this.#tellBytes()
    if (!this.#isLeft) this.#listener.broken(new UpstreamBroken({ cause }))
  }

  readonly #tellBytes = (): void => {
    const [first] = this.#chunks
    if (first === undefined || this.#isLeft) return
    const bytes = this.#chunks.length === 1 ? first : Buffer.concat(this.#chunks)
    this.#chunks = []
    this.#listener.bytes(bytes)
  }

  #end(): void {
    this.#ended = true
    clearTimeout(this.#leaving)
  }

  #destroy(): void {
    if (!this.#ended) this.#controller?.abort(new Error("the exchange is over"))
  }
}

interface Address {
  readonly origin: string
  readonly prefix: string
}

const knownAddresses = new Map<string, Address>()
const maxKnownAddresses = 1000

/** Origin and path of a base URL, without its last slash. Parsed once. */
const addressOf = (baseUrl: string): Address => {
  const known = knownAddresses.get(baseUrl)
  if (known !== undefined) return known
  const { origin, pathname } = new URL(baseUrl)
  const address = { origin, prefix: pathname.replace(/\/$/, "") }
  if (knownAddresses.size >= maxKnownAddresses) knownAddresses.clear()
  knownAddresses.set(baseUrl, address)
  return address
}

type HeaderValues = Readonly<Record<string, string | ReadonlyArray<string> | undefined>>

const joinValues = (headers: HeaderValues): Readonly<Record<string, string>> => {
  const joined: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) joined[name.toLowerCase()] = typeof value === "string" ? value : value.join(", ")
  }
  return joined
}
