/** Exports traces, metrics and logs to an OpenTelemetry collector (`SVC_OTLP_URL`). Source: OTLP 1.x over HTTP. */
import { Effect, Layer, Redacted, References } from "effect"
import { FetchHttpClient } from "effect/http"
import { Otlp, OtlpSerialization } from "effect/observability"
import { atBackgroundSpeed } from "../background.ts"
import { WeirConfig } from "../config.ts"
import { version } from "../protocol/version.ts"

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
      // Those that the exporter has by itself.
      loggerExportInterval: yield* atBackgroundSpeed("1 second"),
      metricsExportInterval: yield* atBackgroundSpeed("10 seconds"),
      tracerExportInterval: yield* atBackgroundSpeed("5 seconds"),
      compression: "gzip",
    }).pipe(Layer.provide(OtlpSerialization.layerJson), Layer.provide(FetchHttpClient.layer))
    return Layer.merge(exporter, disabled)
  }),
)

/** `name=value` pairs, separated by commas, as in OTEL_EXPORTER_OTLP_HEADERS. */
const headersOf = (text: string): Record<string, string> =>
  Object.fromEntries(
    text
      .split(",")
      .map((pair) => pair.split("="))
      .filter(([name]) => name !== undefined && name.trim() !== "")
      .map(([name = "", ...value]) => [name.trim(), decodeURIComponent(value.join("=").trim())]),
  )
