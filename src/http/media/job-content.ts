/**
 * The result of a job, streamed through: the vendor is read as fast as the client takes it, and its reply is open no
 * longer than the client's request. Source: RFC 9110 section 14 (range requests).
 */
import { Readable } from "node:stream"
import { Effect, type Scope, Stream } from "effect"
import type { Deadlines } from "../../deadlines.ts"
import { type ServiceError, serviceError } from "../../protocol/error.ts"
import type { UpstreamCall, UpstreamHead, UpstreamRequest, VendorClient } from "../../upstream/client.ts"
import type { RuntimeRequest } from "../caller-request.ts"

export interface Content {
  /** The status: 200, 206, or 416 without bytes. */
  readonly status: number
  /** The content type that the vendor names. */
  readonly contentType: string | undefined
  /** Length, range and version, as far as they are well formed. */
  readonly headers: Readonly<Record<string, string>>
  readonly bytes: Stream.Stream<Uint8Array, unknown>
}

export interface ContentLimits {
  readonly deadlines: Deadlines
  /** The time until the head of the reply. */
  readonly headMs: number
  /** The time between two reads from the vendor. */
  readonly idleMs: number
  /** The time for which the client may take nothing. */
  readonly stallMs: number
}

/** One range of bytes: a reply with several has a form of its own, and a server may ignore what it does not support. */
const oneRange = /^bytes=(?:\d{1,15}-\d{0,15}|-\d{1,15})$/
/** An entity tag or a date. */
const validator = /^[\x20-\x7e]{1,256}$/

/** The part of a result that a request asks for, as headers for the vendor. */
export const rangeOf = ({ headers }: Pick<RuntimeRequest, "headers">): Readonly<Record<string, string>> => {
  const { range = "", "if-range": ifRange } = headers
  if (!oneRange.test(range)) return {}
  return { range, ...(ifRange !== undefined && validator.test(ifRange) && { "if-range": ifRange }) }
}

/** Headers of a vendor's reply that are sent on, and the form that each must have. */
const passedHeaders: ReadonlyArray<readonly [name: string, shape: RegExp]> = [
  ["content-length", /^\d{1,15}$/],
  ["content-range", /^bytes (?:\d{1,15}-\d{1,15}|\*)\/(?:\d{1,15}|\*)$/],
  ["accept-ranges", /^bytes$/],
  ["etag", /^(?:W\/)?"[\x21\x23-\x7e]{0,200}"$/],
  ["last-modified", /^[A-Za-z0-9:, ]{1,40}$/],
]

const passedOf = ({ headers }: UpstreamHead): Readonly<Record<string, string>> =>
  Object.fromEntries(
    passedHeaders.flatMap(([name, shape]) => {
      const value = headers[name]
      return value !== undefined && shape.test(value) ? [[name, value]] : []
    }),
  )

/** A part is sent on only if it was requested and its headers say which part it is. */
const isUsable = ({ status, headers }: UpstreamHead, asked: UpstreamRequest["headers"]): boolean =>
  status === 200 || (asked["range"] !== undefined && (status === 416 || (status === 206 && hasRange(headers))))

const hasRange = ({ "content-range": range = "" }: UpstreamHead["headers"]): boolean => /^bytes \d+-\d+\//.test(range)

/** Asks for the result; succeeds at its head. The vendor's reply ends with the scope, whether it was read or not. */
export const openContent = (
  client: VendorClient["Service"],
  request: UpstreamRequest,
  { deadlines, headMs, idleMs, stallMs }: ContentLimits,
): Effect.Effect<Content, ServiceError<"upstream_error">, Scope.Scope> =>
  Effect.flatMap(
    Effect.acquireRelease(
      Effect.sync(() => {
        const head = Promise.withResolvers<UpstreamHead>()
        let call: UpstreamCall | undefined
        const fail = (cause: unknown) => {
          const error = cause instanceof Error ? cause : new Error(String(cause))
          head.reject(error)
          body.destroy(error)
        }
        const late = (what: string) => () => fail(`${what} in time`)
        let watch = deadlines.after(headMs, late("the vendor did not answer"))
        const wait = (ms: number, what: string) => {
          deadlines.remove(watch)
          if (!body.destroyed) watch = deadlines.after(ms, late(what))
        }
        const body = new Readable({
          read: () => {
            wait(idleMs, "the vendor sent nothing more")
            call?.resume()
          },
          destroy: (error, done) => {
            deadlines.remove(watch)
            call?.abort()
            done(error)
          },
        })
        // A client that leaves destroys it; no other event reports that.
        body.on("error", () => {})
        head.promise.catch(() => {})
        call = client.start(request, {
          connected: () => {},
          head: (found) => {
            if (!isUsable(found, request.headers)) return fail(`the vendor answered ${found.status}`)
            // From here on the time counts for the client: it has not asked for bytes yet.
            wait(stallMs, "the client took nothing")
            head.resolve(found)
          },
          bytes: (bytes) => {
            if (body.push(Buffer.from(bytes))) return wait(idleMs, "the vendor sent nothing more")
            call?.pause()
            wait(stallMs, "the client took nothing")
          },
          ended: () => {
            deadlines.remove(watch)
            body.push(null)
          },
          broken: ({ cause }) => fail(cause),
        })
        return { head: head.promise, body }
      }),
      ({ body }) => Effect.sync(() => body.destroy()),
    ),
    ({ head, body }) =>
      Effect.map(
        Effect.tryPromise({
          try: () => head,
          catch: (cause) => serviceError("upstream_error", "The result could not be fetched", { cause }),
        }),
        (found) => ({
          status: found.status,
          contentType: found.headers["content-type"],
          headers: passedOf(found),
          bytes: Stream.fromAsyncIterable(body, (error) => error),
        }),
      ),
  )
