/** Exports traces, metrics and logs to an OpenTelemetry collector (`SVC_OTLP_URL`). Source: OTLP 1.x over HTTP. */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Clock, Effect, Layer, Redacted, References } from "effect"
import { HttpClient, HttpClientError, type HttpClientRequest } from "effect/http"
import { Otlp, OtlpSerialization } from "effect/observability"
import { ProxyAgent } from "undici"
import { atBackgroundSpeed } from "../background.ts"
import { WeirConfig } from "../config.ts"
import { type HttpProxy, makeBypass } from "../protocol/values/proxy.ts"
import { version } from "../protocol/version.ts"
import { NodeProblems } from "./node-problems.ts"

/** Spans are off except in sampled calls: see tracing.ts. */
const disabled = Layer.succeed(References.TracerEnabled, false)

export const layerOtlp = Layer.unwrap(
  Effect.gen(function* () {
    const { env, otlpUrl, otlpHeaders } = yield* WeirConfig
    if (otlpUrl === undefined) return disabled
    const exporter = Otlp.layer({
      baseUrl: otlpUrl,
      headers: headersOf(otlpHeaders === undefined ? "" : Redacted.value(otlpHeaders)),
      resource: {
        serviceName: "weir",
        serviceVersion: version,
        attributes: { "deployment.environment.name": env, "process.pid": process.pid },
      },
      // The resource attributes that the exporter has by default.
      loggerExportInterval: yield* atBackgroundSpeed("1 second"),
      metricsExportInterval: yield* atBackgroundSpeed("10 seconds"),
      tracerExportInterval: yield* atBackgroundSpeed("5 seconds"),
      compression: "gzip",
    }).pipe(Layer.provide(OtlpSerialization.layerJson), Layer.provide(tellingFailures), Layer.provide(client(otlpUrl)))
    return Layer.merge(exporter, disabled)
  }),
)

/** Uses the proxy of vendors, if the collector's address needs it. */
const client = (otlpUrl: string) =>
  Layer.unwrap(
    Effect.map(WeirConfig, ({ httpsProxy, noProxy }) => {
      const { protocol, hostname, port } = new URL(otlpUrl)
      const isDirect = protocol !== "https:" || makeBypass(noProxy)(hostname, port === "" ? 443 : Number(port))
      return httpsProxy === undefined || isDirect
        ? NodeHttpClient.layerUndici
        : throughProxy(Redacted.value(httpsProxy))
    }),
  )

const throughProxy = ({ isSecure, host, port, authorization }: HttpProxy) => {
  const uri = `${isSecure ? "https" : "http"}://${host.includes(":") ? `[${host}]` : host}:${port}`
  const agent = Effect.acquireRelease(
    Effect.sync(() => new ProxyAgent({ uri, ...(authorization !== undefined && { token: authorization }) })),
    (agent) => Effect.promise(() => agent.destroy()),
  )
  const dispatcher = Layer.effect(NodeHttpClient.Dispatcher, agent)
  return NodeHttpClient.layerUndiciNoDispatcher.pipe(Layer.provide(dispatcher))
}

/** A refusal of the collector is a problem of the node, and a log line at most once a minute. */
const tellingFailures = Layer.effect(
  HttpClient.HttpClient,
  Effect.gen(function* () {
    const inner = yield* HttpClient.HttpClient
    const problems = yield* NodeProblems
    const patience = yield* atBackgroundSpeed("10 seconds")
    const toldAtMs = new Map<string, number>()
    const fail = (what: string, reason: string) =>
      Effect.gen(function* () {
        const nowMs = yield* Clock.currentTimeMillis
        yield* problems.begin(what, reason)
        if (nowMs - (toldAtMs.get(what) ?? Number.NEGATIVE_INFINITY) < tellEveryMs) return
        toldAtMs.set(what, nowMs)
        yield* Effect.logError("Telemetry is not exported", { what, reason })
      })
    return HttpClient.transform(inner, (answer, request) => {
      const what = `telemetry to ${withoutUser(request.url)}`
      return answer.pipe(
        // Without an answer, later data waits in memory, and no error is reported.
        Effect.timeoutOrElse({ duration: patience, orElse: () => Effect.fail(silent(request)) }),
        Effect.tap(({ status }) => (status < 400 ? problems.end(what) : fail(what, `The collector answers ${status}`))),
        Effect.tapError(({ message }) => fail(what, withoutUser(message))),
      )
    })
  }),
)

/** The exporter's own timeout of the specification. */
const silent = (request: HttpClientRequest.HttpClientRequest) =>
  new HttpClientError.HttpClientError({
    reason: new HttpClientError.TransportError({ request, description: "The collector does not answer" }),
  })

const tellEveryMs = 60_000

const withoutUser = (url: string): string => url.replace(/\/\/[^/@]*@/, "//")

/** `name=value` pairs, separated by commas, as in OTEL_EXPORTER_OTLP_HEADERS. */
const headersOf = (text: string): Record<string, string> =>
  Object.fromEntries(
    text
      .split(",")
      .map((pair) => pair.split("="))
      .filter(([name]) => name !== undefined && name.trim() !== "")
      .map(([name = "", ...value]) => [name.trim(), decodeURIComponent(value.join("=").trim())]),
  )
