/** Runs a call of a hot route, of any kind and in the format of any API. */
import { Effect, Exit, Result, Scope } from "effect"
import { Overload } from "../admission/overload.ts"
import { Calls } from "../calls/calls.ts"
import type { Connection } from "../calls/connection.ts"
import { type Call, withMasked } from "../calls/held-call.ts"
import type { CallRequest, Kind } from "../calls/kind.ts"
import { WeirConfig } from "../config.ts"
import type { Caller } from "../identity/caller.ts"
import { joinChunks } from "../media/free-chunk.ts"
import { Spool } from "../media/spool.ts"
import { type Masking, maskBody, maskFields, textsWithMarks } from "../policies/masks/mask-request.ts"
import type { ServiceError } from "../protocol/error.ts"
import { writeJson } from "../protocol/json/json-text.ts"
import { type StoreUnavailable, toServiceError } from "../store/unavailable.ts"
import { logCause } from "../telemetry/logs.ts"
import { type Authenticated, makeForCaller, type RuntimeRequest, type UploadRequest } from "./caller-request.ts"
import { type Content, isForm, readContent } from "./content.ts"
import { LargeRequests, largeBytes } from "./large/large-requests.ts"
import { readParts } from "./large/read-parts.ts"
import { mayBeLarge, takeRoom } from "./large/take-room.ts"
import { makeMaskedReading } from "./masked-reading.ts"
import type { RouteError } from "./respond.ts"
import { makeRevocation } from "./revocation.ts"

/** How an API answers a call. */
interface Answering<Body extends object> {
  /** The destination of a refusal that comes before the body is read. */
  readonly refusedAt: () => Pick<Connection<Body>, "refuse">
  /** The status of the reply. */
  readonly status: () => number
}

interface ReadCall<Request extends CallRequest, Body extends object> {
  readonly decoded: Call<Request, Body>["decoded"]
  readonly maskedByEngines?: Call<Request, Body>["maskedByEngines"]
  readonly connection: Connection<Body>
  /** Runs after the call, however that ends. */
  readonly after?: Effect.Effect<void> | undefined
}

/** How an API reads a request and writes its reply. */
export interface CallWords<Request extends CallRequest, Body extends object> extends Answering<Body> {
  readonly read: (authenticated: Authenticated) => ReadCall<Request, Body>
  /** The request that is read instead: it may be longer. Undefined if it is the one that was sent. */
  readonly continued?: (
    caller: Caller,
    parts: ReadonlyArray<Uint8Array>,
  ) => Effect.Effect<Uint8Array, RouteError> | undefined
  /** The same for a large request, which is read elsewhere; read here if absent. */
  readonly readLarge?: (
    caller: Caller,
    parts: ReadonlyArray<Uint8Array>,
    masking: Masking | undefined,
  ) => Effect.Effect<ReadCall<Request, Body>, ServiceError<"internal_error">, Scope.Scope>
}

/** The same for a request that may have files, which are there until the call ends. */
export interface UploadWords<Request extends CallRequest, Body extends object> extends Answering<Body> {
  readonly read: (caller: Caller, content: Content) => Effect.Effect<ReadCall<Request, Body>, StoreUnavailable>
}

export const makeCallRunner = Effect.gen(function* () {
  const calls = yield* Calls
  const overload = yield* Overload
  const { mediaBodyBytes, bodyMaxBytes } = yield* WeirConfig
  const spool = yield* Spool
  const large = yield* LargeRequests
  const { identify, identifyUpload, hasCredential, again, traced } = yield* makeForCaller
  const { whileValid } = yield* makeRevocation
  const masked = yield* makeMaskedReading

  /** Refuses under overload before the body is read. */
  const begin = <Request extends CallRequest, Body extends object, R>(
    kind: Kind<Request, Body>,
    request: RuntimeRequest,
    requestId: string,
    words: Answering<Body>,
    identified: Effect.Effect<ReadCall<Request, Body> & { readonly caller: Caller }, RouteError, R>,
  ): Effect.Effect<void, never, R> => {
    const refuse = (error: RouteError) =>
      Effect.map(logCause(toServiceError(error), requestId), () => words.refusedAt().refuse(error))
    // The call is the last step: nothing of the steps before it is kept while a stream is open.
    const prepared = Effect.result(
      Effect.andThen(request.own?.priced === undefined ? overload.check(calls.open()) : Effect.void, identified),
    )
    const run = Effect.flatMap(prepared, (result) => {
      if (Result.isFailure(result)) return refuse(result.failure)
      const { connection, after, ...read } = result.success
      const call = { requestId, kind, ...read }
      const priced = request.own?.priced
      const run =
        priced === undefined
          ? whileValid(() => again(request), calls.run(call, connection))
          : calls.price(call, connection, priced)
      return after === undefined ? run : Effect.ensuring(run, after)
    })
    return traced(request, requestId, words.status)(run)
  }

  const readCall = <Request extends CallRequest, Body extends object>(
    words: CallWords<Request, Body>,
    call: Authenticated,
  ) =>
    masked.read({
      ...call,
      texts: (masking) => Effect.sync(() => textsWithMarks(call.body, masking)),
      read: (masking) => Effect.sync(() => readHere(words, call, masking)),
    })

  const readLargeCall = <Request extends CallRequest, Body extends object>(
    read: NonNullable<CallWords<Request, Body>["readLarge"]>,
    { caller, requestId }: Pick<Authenticated, "caller" | "requestId">,
    parts: ReadonlyArray<Uint8Array>,
  ) => {
    // A worker takes the memory of its parts: where they are read again, it gets a copy.
    const given = () => (masked.areAsked(caller) ? parts.map((part) => new Uint8Array(part)) : parts)
    return masked.read({
      caller,
      requestId,
      texts: (masking) => large.texts(given(), masking),
      read: (masking) => Effect.map(read(caller, given(), masking), (made) => ({ ...made, caller })),
    })
  }

  /** Reads a request, or the longer one that it names. */
  const readContinued = <Request extends CallRequest, Body extends object>(
    words: CallWords<Request, Body>,
    call: Authenticated,
  ) => {
    const continued = words.continued?.(call.caller, [call.body])
    if (continued === undefined) return readCall(words, call)
    return Effect.flatMap(continued, (body) => {
      const { readLarge } = words
      if (readLarge === undefined || body.length < largeBytes) return readCall(words, { ...call, body })
      return untilAfter(Effect.andThen(large.reserve(body.length), readLargeCall(readLarge, call, [body])))
    })
  }

  /** The caller is known, and room is taken, before the body is read. */
  const readLarge = <Request extends CallRequest, Body extends object>(
    request: UploadRequest,
    requestId: string,
    words: CallWords<Request, Body>,
  ) => {
    const read = Effect.flatMap(takeRoom(large, request), (room) => readParts(request, bodyMaxBytes, room))
    return Effect.flatMap(
      identifyUpload(request, () => read),
      ({ caller, content: { parts, bytes } }) => {
        const { readLarge } = words
        const call = () => ({ caller, body: joinChunks(parts), request, requestId })
        if (readLarge === undefined || bytes < largeBytes) return readContinued(words, call())
        const continued = words.continued?.(caller, parts)
        const origin = { caller, requestId }
        return continued === undefined
          ? readLargeCall(readLarge, origin, parts)
          : Effect.flatMap(continued, (body) =>
              Effect.andThen(large.reserve(Math.max(0, body.length - bytes)), readLargeCall(readLarge, origin, [body])),
            )
      },
    )
  }

  return {
    hasCredential,
    takeRoom: (request: RuntimeRequest) => takeRoom(large, request),

    run: <Request extends CallRequest, Body extends object>(
      kind: Kind<Request, Body>,
      request: UploadRequest,
      requestId: string,
      words: CallWords<Request, Body>,
    ): Effect.Effect<void> => {
      if (mayBeLarge(request)) {
        return Effect.scoped(begin(kind, request, requestId, words, readLarge(request, requestId, words)))
      }
      const identified = Effect.flatMap(identify(request, requestId), (call) => readContinued(words, call))
      return begin(kind, request, requestId, words, identified)
    },

    /** The same for a request whose caller is known, and whose body has been read. */
    runRead: <Request extends CallRequest, Body extends object>(
      kind: Kind<Request, Body>,
      call: Authenticated,
      words: CallWords<Request, Body>,
    ): Effect.Effect<void> => begin(kind, call.request, call.requestId, words, readCall(words, call)),

    upload: <Request extends CallRequest, Body extends object>(
      kind: Kind<Request, Body>,
      request: UploadRequest,
      requestId: string,
      words: UploadWords<Request, Body>,
    ): Effect.Effect<void> => {
      // A form's files are on the disk.
      const taken = isForm(request) ? Effect.undefined : takeRoom(large, request)
      const read = Effect.flatMap(taken, (room) =>
        readContent(spool, request, { form: mediaBodyBytes, json: bodyMaxBytes }, room),
      )
      const identified = Effect.flatMap(
        identifyUpload(request, () => read),
        ({ caller, content }) =>
          masked.read({
            caller,
            requestId,
            texts: (masking) => Effect.sync(() => textsWithMarks(bytesOf(content), masking)),
            read: (masking) => readForm(words, caller, content, masking),
          }),
      )
      return Effect.scoped(begin(kind, request, requestId, words, identified))
    },
  }
})

/** Reads with a scope that is closed after the call. */
const untilAfter = <A extends { readonly after?: Effect.Effect<void> | undefined }, E>(
  read: Effect.Effect<A, E, Scope.Scope>,
) =>
  Effect.suspend(() => {
    const scope = Scope.makeUnsafe()
    const close = Scope.close(scope, Exit.void)
    return Effect.map(
      Effect.onError(Scope.provide(read, scope), () => close),
      (call) => ({ ...call, after: call.after === undefined ? close : Effect.ensuring(call.after, close) }),
    )
  })

/** @param masking for the requests of the caller; undefined if there is none */
const readHere = <Request extends CallRequest, Body extends object>(
  words: CallWords<Request, Body>,
  authenticated: Authenticated,
  masking: Masking | undefined,
) => {
  const { caller } = authenticated
  if (masking === undefined) return { ...words.read(authenticated), caller }
  const { body, masked } = maskBody(authenticated.body, masking)
  const { decoded, ...read } = words.read({ ...authenticated, body })
  return { ...read, decoded: withMasked(decoded, masked), caller }
}

/** The fields of a form as JSON. */
const bytesOf = ({ fields }: Content): Uint8Array =>
  Buffer.from(Result.match(fields, { onFailure: () => "", onSuccess: (read) => writeJson(read) }))

/** The same for a form, or for a body of a route that takes forms. */
const readForm = <Request extends CallRequest, Body extends object>(
  words: UploadWords<Request, Body>,
  caller: Caller,
  content: Content,
  masking: Masking | undefined,
) => {
  const { fields, masked } = maskFields(content.fields, masking)
  return Effect.map(words.read(caller, { ...content, fields }), ({ decoded, connection }) => ({
    decoded: withMasked(decoded, masked),
    connection,
    caller,
  }))
}

export type CallRunner = Effect.Success<typeof makeCallRunner>
