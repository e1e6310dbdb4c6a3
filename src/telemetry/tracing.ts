/**
 * Tracing: one trace per call, from the edge to the vendor and the ledger. A call that is not sampled costs nothing,
 * because spans are off in its fibers. Source: W3C Trace Context; OpenTelemetry semantic conventions (HTTP, GenAI).
 */
import { Cause, Clock, Context, Effect, Exit, type Fiber, Layer, References, Tracer } from "effect"
import { Headers, HttpTraceContext } from "effect/http"
import { WeirConfig } from "../config.ts"

type Attributes = Readonly<Record<string, unknown>>

export interface SpanOptions {
  readonly kind?: "server" | "client" | "internal"
  readonly attributes?: Attributes
  /** Further attributes, known at the end of the span. */
  readonly atEnd?: () => Attributes
}

/** The attributes of a call's root span. */
export interface TracedCall {
  /** Method and route, without ids. */
  readonly name: string
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly attributes: Attributes
  /** Further attributes, known at the end of the call. */
  readonly atEnd?: (() => Attributes) | undefined
}

export class Tracing extends Context.Service<
  Tracing,
  {
    /** Runs a call in its own trace, or in its caller's, if it is sampled. */
    readonly trace: (call: () => TracedCall) => <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  }
>()("weir/telemetry/Tracing") {
  static readonly layer = Layer.effect(
    Tracing,
    Effect.map(WeirConfig, ({ otlpUrl, traceRate }) => {
      if (otlpUrl === undefined || traceRate === 0) return Tracing.of({ trace: () => (effect) => effect })
      return Tracing.of({ trace: (call) => (effect) => Effect.suspend(() => traced(call(), traceRate, effect)) })
    }),
  )
}

const traced = <A, E, R>(
  { name, headers, attributes, atEnd }: TracedCall,
  rate: number,
  effect: Effect.Effect<A, E, R>,
): Effect.Effect<A, E, R> => {
  const { traceparent } = headers
  const parent = traceparent === undefined ? undefined : parentOf(traceparent)
  if (parent === undefined ? Math.random() >= rate : !parent.sampled || shareOf(parent.traceId) >= rate) return effect
  return Effect.flatMap(makeSpan(name, { kind: "server", attributes }, parent), (span) =>
    Effect.onExit(within(span, effect), (exit) => endSpan(span, exit, atEnd)),
  )
}

const parentOf = (traceparent: string): Tracer.ExternalSpan | undefined => {
  const parent = HttpTraceContext.w3c(Headers.fromRecordUnsafe({ traceparent }))
  return parent._tag === "Some" ? parent.value : undefined
}

/** A number from 0 to 1 derived from the trace id: nodes with the same rate sample the same traces. */
const shareOf = (traceId: string): number => Number.parseInt(traceId.slice(-13), 16) / 2 ** 52

const makeSpan = (name: string, { kind = "internal", attributes = {} }: SpanOptions, parent?: Tracer.AnySpan) =>
  Effect.withTracerEnabled(
    Effect.makeSpan(name, {
      kind,
      attributes: { ...attributes },
      sampled: true,
      ...(parent === undefined ? { root: true } : { parent }),
    }),
    true,
  )

/** Records only the name of a failure: messages may contain what a caller wrote. */
const endSpan = (
  span: Tracer.Span,
  exit: Exit.Exit<unknown, unknown>,
  atEnd: (() => Attributes) | undefined,
): Effect.Effect<void> =>
  Effect.map(Clock.currentTimeNanos, (now) => {
    for (const [key, value] of Object.entries(atEnd?.() ?? {})) span.attribute(key, value)
    if (Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause)) return span.end(now, Exit.void)
    const name = nameOf(Cause.squash(exit.cause))
    span.attribute("error.type", name)
    span.end(now, Exit.fail(name))
  })

const nameOf = (error: unknown): string => {
  if (typeof error !== "object" || error === null) return "defect"
  if ("code" in error && typeof error.code === "string") return error.code
  return "_tag" in error && typeof error._tag === "string" ? error._tag : "defect"
}

/** Runs an effect inside a span and enables tracing in its fiber. */
export const within = <A, E, R>(span: Tracer.AnySpan, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.withTracerEnabled(Effect.provideService(effect, Tracer.ParentSpan, span), true)

/** The current span, if the fiber is traced. */
export const currentSpan: Effect.Effect<Tracer.AnySpan | undefined> = Effect.withFiberSucceed((fiber) => spanOf(fiber))

/** The id of the current trace, if the fiber is traced. */
export const traceIdOf = (fiber: Fiber.Fiber<unknown, unknown>): string | undefined => spanOf(fiber)?.traceId

const spanOf = (fiber: Fiber.Fiber<unknown, unknown>): Tracer.AnySpan | undefined =>
  fiber.getRef(References.TracerEnabled) ? Context.getOrUndefined(fiber.context, Tracer.ParentSpan) : undefined

/** Runs an effect in its own span if the fiber is traced, otherwise as it is. @param make returns the span's options */
export const spanned =
  (name: string, make: () => SpanOptions = () => ({})) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.withFiber((fiber) => {
      const parent = spanOf(fiber)
      if (parent === undefined) return effect
      const options = make()
      return Effect.flatMap(makeSpan(name, options, parent), (span) =>
        Effect.onExit(within(span, effect), (exit) => endSpan(span, exit, options.atEnd)),
      )
    })

/** Adds attributes to the current span, if the fiber is traced. */
export const annotate = (make: () => Attributes): Effect.Effect<void> =>
  Effect.map(currentSpan, (span) => {
    if (span?._tag !== "Span") return
    for (const [key, value] of Object.entries(make())) span.attribute(key, value)
  })

/** The header that propagates the trace to a vendor; empty if the fiber is not traced. */
export const traceHeaders: Effect.Effect<Readonly<Record<string, string>>> = Effect.map(currentSpan, (span) =>
  span === undefined ? {} : { traceparent: `00-${span.traceId.padStart(32, "0")}-${span.spanId}-01` },
)
