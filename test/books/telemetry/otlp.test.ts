/**
 * Traces, metrics and logs at a collector that speaks OTLP over HTTP; the vendor and the caller on one trace with us.
 */
import { createServer } from "node:http"
import { gunzipSync } from "node:zlib"
import { Redacted, Schema } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { ExchangeDetail, ExchangeLogPage } from "../../../src/protocol/control/exchange-log.ts"
import { answering, hello } from "../../../src/testing/index.ts"
import { portOf } from "../../../src/testing/port.ts"
import { eventually, replyOf, useGateway } from "../../support/gateway.ts"

const secretWords = "a prompt that nobody else may read"
const answer = { words: ["an answer that nobody else may read"], inTokens: 1000, outTokens: 200, cachedTokens: 400 }

const Attributes = Schema.Array(Schema.Struct({ key: Schema.String, value: Schema.Record(Schema.String, Schema.Json) }))
const Span = Schema.Struct({
  traceId: Schema.String,
  spanId: Schema.String,
  parentSpanId: Schema.optionalKey(Schema.NullOr(Schema.String)),
  name: Schema.String,
  kind: Schema.Int,
  attributes: Attributes,
  status: Schema.Struct({ code: Schema.Int }),
})
type Span = typeof Span.Type
const Traces = Schema.fromJsonString(
  Schema.Struct({
    resourceSpans: Schema.Array(
      Schema.Struct({
        resource: Schema.Struct({ attributes: Attributes }),
        scopeSpans: Schema.Array(Schema.Struct({ spans: Schema.Array(Span) })),
      }),
    ),
  }),
)

/** The collector: stores what it receives, decompressed. */
const received: Record<string, Array<string>> = {}
const tokens: Array<string | undefined> = []
const collector = createServer(async (request, response) => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(chunk)
  const raw = Buffer.concat(chunks)
  const text = (request.headers["content-encoding"] === "gzip" ? gunzipSync(raw) : raw).toString("utf8")
  const { url = "" } = request
  received[url] = [...(received[url] ?? []), text]
  tokens.push(request.headers["x-token"]?.toString())
  response.writeHead(200, { "content-type": "application/json" }).end("{}")
})
beforeAll(() => new Promise<void>((resolve) => collector.listen(0, "127.0.0.1", resolve)))
afterAll(() => {
  collector.closeAllConnections()
  collector.close()
})

const gateway = useGateway(() => ({
  script: answering(answer),
  backgroundSpeed: 20,
  config: {
    otlpUrl: `http://127.0.0.1:${portOf(collector)}`,
    otlpHeaders: Redacted.make("x-token=a%20token"),
    traceRate: 1,
    logLevel: "Warn",
  },
}))

const spans = (): ReadonlyArray<Span> =>
  (received["/v1/traces"] ?? []).flatMap((text) =>
    Schema.decodeUnknownSync(Traces)(text).resourceSpans.flatMap(({ scopeSpans }) =>
      scopeSpans.flatMap(({ spans }) => spans),
    ),
  )
const callersSpan = "00f067aa0ba902b7"
/** All spans of a trace: the root ends last, and spans come in the order in which they end. */
const spansOf = async (traceId: string) => {
  const found = () => spans().filter((span) => span.traceId === traceId)
  await eventually(() => found().some(({ parentSpanId }) => parentSpanId === callersSpan), 15_000)
  return found()
}
const attributeOf = (span: Span | undefined, key: string) => {
  const value = span?.attributes.find((attribute) => attribute.key === key)?.value
  return value === undefined ? undefined : Object.values(value)[0]
}
const newTrace = (flags = "01") => {
  const traceId = Array.from({ length: 32 }, () => Math.floor(Math.random() * 16).toString(16)).join("")
  return { traceId, traceparent: `00-${traceId}-${callersSpan}-${flags}` }
}
const named = (all: ReadonlyArray<Span>, name: string) => all.find((span) => span.name === name)

describe("one trace", () => {
  it("goes from the caller's span over HTTP, gate, hold and model to the settlement, and on to the vendor", async () => {
    const { traceId, traceparent } = newTrace()
    const body = { ...hello, stream: true, thread: [{ role: "user", blocks: [{ t: "text", v: secretWords }] }] }
    await (await gateway().exchange(body, { headers: { traceparent } })).text()
    const all = await spansOf(traceId)
    const root = named(all, "POST /t1/exchange")
    expect(root).toMatchObject({ kind: 2, parentSpanId: callersSpan })
    expect(attributeOf(root, "http.response.status_code")).toBeDefined()
    const ofCall = ["org", "app", "key_id", "model", "vendor", "tier", "cost", "currency"].map((name) =>
      String(attributeOf(root, `weir.${name}`)),
    )
    const { orgId, keyId } = gateway()
    expect(ofCall).toEqual([orgId, expect.stringMatching(/^app_/), keyId, "main", "openai", "0", "0.00492", "USD"])
    for (const name of ["admit", "hold", "settle", "chat upstream-main"]) {
      expect(named(all, name)?.parentSpanId, name).toBe(root?.spanId)
    }
    const chat = named(all, "chat upstream-main")
    expect(chat?.kind).toBe(3)
    expect(attributeOf(chat, "gen_ai.provider.name")).toBe("openai")
    expect(attributeOf(chat, "gen_ai.operation.name")).toBe("chat")
    expect(Number(attributeOf(chat, "gen_ai.usage.input_tokens"))).toBe(1000)
    expect(Number(attributeOf(chat, "gen_ai.usage.output_tokens"))).toBe(200)
    expect(gateway().vendor.calls.at(-1)?.headers["traceparent"]).toBe(`00-${traceId}-${chat?.spanId}-01`)
  })

  it("is told with the exchange, also where the first vendor call succeeded", async () => {
    const { traceId, traceparent } = newTrace()
    const { requestId } = await replyOf(await gateway().exchange(hello, { headers: { traceparent } }))
    const asOperator = async <S extends Schema.ConstraintDecoder<unknown>>(schema: S, path: string) => {
      const headers = { "x-svc-admin-key": gateway().adminKey }
      const response = await gateway().call("GET", path, undefined, headers)
      return Schema.decodeUnknownSync(schema)(await response.json())
    }
    const { data } = await asOperator(ExchangeLogPage, `/v1/admin/exchanges?request=${requestId}`)
    const { org = "", at = "" } = data[0] ?? {}
    const path = `/v1/admin/orgs/${org}/exchanges/${requestId}?at=${encodeURIComponent(at)}`
    await eventually(async () => (await asOperator(ExchangeDetail, path)).traceId !== undefined)
    expect(await asOperator(ExchangeDetail, path)).toMatchObject({ traceId, attempts: [] })
    expect(data).toHaveLength(1)
  })

  it("reports the cause only", async () => {
    gateway().vendor.script((call) => {
      call.head(500, { "content-type": "application/json" })
      call.end(JSON.stringify({ error: { code: "server_error", message: "the vendor's own words" } }))
    })
    const { traceId, traceparent } = newTrace()
    const { status } = await gateway().exchange(hello, { headers: { traceparent } })
    gateway().vendor.script(answering(answer))
    expect(status).toBe(502)
    const chat = named(await spansOf(traceId), "chat upstream-main")
    expect(chat?.status.code).toBe(2)
    expect(attributeOf(chat, "error.type")).toBe("server_error")
  })

  it("a call that its caller does not sample is not traced, and the vendor receives no traceparent", async () => {
    const { traceId, traceparent } = newTrace("00")
    await gateway().exchange(hello, { headers: { traceparent } })
    expect(gateway().vendor.calls.at(-1)?.headers["traceparent"]).toBeUndefined()
    const later = newTrace()
    await gateway().exchange(hello, { headers: { traceparent: later.traceparent } })
    await spansOf(later.traceId)
    expect(spans().filter((span) => span.traceId === traceId)).toEqual([])
  })

  it("an invalid traceparent begins a new trace", async () => {
    const known = new Set(spans().map(({ traceId }) => traceId))
    await gateway().exchange(hello, { headers: { traceparent: "nonsense" } })
    await eventually(() => spans().some(({ traceId, name }) => !known.has(traceId) && name === "settle"), 15_000)
  })
})

describe("at the collector", () => {
  it("receives metrics and logs too, with the configured headers", async () => {
    await eventually(
      () => (received["/v1/metrics"] ?? []).length > 0 && (received["/v1/logs"] ?? []).length > 0,
      25_000,
    )
    const metrics = received["/v1/metrics"]?.join() ?? ""
    for (const name of ["weir_upstream_tier_ms", "gen_ai.client.operation.duration", "gen_ai.client.token.usage"]) {
      expect(metrics).toContain(name)
    }
    expect(received["/v1/logs"]?.join()).toContain("An upstream call failed")
    expect(new Set(tokens)).toEqual(new Set(["a token"]))
  }, 40_000)

  it("receives no prompt, answer, secret or vendor text, and no span without a call", () => {
    const everything = Object.values(received).flat().join()
    for (const word of [secretWords, answer.words[0], gateway().key, "vendor-credential", "own words"]) {
      expect(everything).not.toContain(word)
    }
    for (const { name, parentSpanId } of spans()) {
      expect(parentSpanId ?? "").toMatch(name.startsWith("POST") ? /.*/ : /^[0-9a-f]{16}$/)
    }
  })
})

describe("an unreachable collector", () => {
  const alone = useGateway({ config: { otlpUrl: "http://127.0.0.1:9", traceRate: 1 } })
  it("does not affect callers", async () => {
    for (let at = 0; at < 20; at++) expect((await alone().exchange(hello)).status).toBe(200)
  })
})

describe("a collector that cannot be exported to", () => {
  const asked: Array<string> = []
  /** A collector that knows nobody, and a proxy that opens no tunnel. */
  const refusing = createServer((request, response) => {
    request.resume()
    response.writeHead(401).end()
  })
  refusing.on("connect", ({ url = "", headers }, socket) => {
    asked.push(`${url} ${headers["proxy-authorization"]}`)
    socket.end("HTTP/1.1 403 Forbidden\r\n\r\n")
  })
  const mute = createServer(() => {})
  const servers = [refusing, mute]
  beforeAll(async () => {
    for (const server of servers) await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  })
  afterAll(() => {
    for (const server of servers) {
      server.closeAllConnections()
      server.close()
    }
  })
  const failing = useGateway(() => ({
    backgroundSpeed: 20,
    config: { otlpUrl: `http://127.0.0.1:${portOf(refusing)}`, traceRate: 1 },
  }))
  const hanging = useGateway(() => ({
    backgroundSpeed: 20,
    config: { otlpUrl: `http://127.0.0.1:${portOf(mute)}` },
  }))
  const proxied = useGateway(() => ({
    backgroundSpeed: 20,
    config: {
      otlpUrl: "https://collector.test:4318",
      httpsProxy: Redacted.make({
        isSecure: false,
        host: "127.0.0.1",
        port: portOf(refusing),
        authorization: "Basic bWU6c2VjcmV0",
      }),
    },
  }))
  const problemsOf = async ({ baseUrl, adminKey }: ReturnType<typeof failing>) => {
    const headers = { "x-svc-admin-key": adminKey }
    return (await fetch(`${baseUrl}/v1/admin/problems`, { headers })).text()
  }

  it("is a problem of the node that operators see, with a metric", async () => {
    await eventually(async () => (await problemsOf(failing())).includes("/v1/metrics"))
    expect(await problemsOf(failing())).toContain("The collector answers 401")
    const metrics = await (await fetch(`${failing().baseUrl}/metrics`)).text()
    expect(metrics).toMatch(/weir_problems_total\{what="telemetry to [^"]*\/v1\/metrics"\} [1-9]/)
  })

  it("that accepts connections and does not answer is told, too", async () => {
    await eventually(async () => (await problemsOf(hanging())).includes("The collector does not answer"), 30_000)
  }, 40_000)

  it("is reached through the proxy of vendors, where its address is HTTPS", async () => {
    await eventually(() => asked.length > 0)
    expect(asked[0]).toBe("collector.test:4318 Basic bWU6c2VjcmV0")
    await eventually(async () => (await problemsOf(proxied())).includes("collector.test:4318"))
    expect(await problemsOf(proxied())).not.toContain("bWU6c2VjcmV0")
  })
})
