/**
 * Every variable that Weir reads, with its default and its meaning: one schema-typed table, and nothing reads the
 * environment beside it (but for the `env:` secrets that a catalogue names).
 */
import { Config, ConfigProvider, Context, Effect, Layer, Option, Schema } from "effect"
import { parseNetwork } from "./net/network.ts"

const Millis = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 2 ** 31 - 1 }))
const Bytes = Schema.Int.check(Schema.isBetween({ minimum: 1024, maximum: 2 ** 31 - 1 }))
const Sha256Hex = Schema.String.check(Schema.isPattern(/^[0-9a-f]{64}$/))
/** 0 takes a free one. */
const Port = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 65_535 }))
/** Two at least: a spent key must be refused for longer than its answer is kept. */
const Days = Schema.Int.check(Schema.isBetween({ minimum: 2, maximum: 36_500 }))
const Seconds = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 86_400 }))
const Share = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))
const GateModes = Schema.Literals(["off", "shadow", "enforce"])
const Flag = Schema.Literals(["0", "1"])

const millis = (name: string, fallback: number) =>
  Config.schema(Schema.FiniteFromString.pipe(Schema.decodeTo(Millis)), name).pipe(Config.withDefault(fallback))
const optionalMillis = (name: string) =>
  Config.schema(Schema.FiniteFromString.pipe(Schema.decodeTo(Millis)), name).pipe(Config.option, toUndefined)
const bytes = (name: string, fallback: number) =>
  Config.schema(Schema.FiniteFromString.pipe(Schema.decodeTo(Bytes)), name).pipe(Config.withDefault(fallback))
const port = (name: string) => Config.schema(Schema.FiniteFromString.pipe(Schema.decodeTo(Port)), name)
const text = (name: string) => Config.NonEmptyString(name).pipe(Config.option, toUndefined)
const secret = (name: string) => Config.Redacted(name).pipe(Config.option, toUndefined)
/** A list, each of which must be a network. */
const networks = (name: string) =>
  Config.schema(
    Schema.String.check(
      Schema.makeFilter((text: string) =>
        text.split(",").every((network) => parseNetwork(network.trim()) !== undefined)
          ? undefined
          : "networks such as 10.0.0.0/8, separated by commas, are needed",
      ),
    ),
    name,
  ).pipe(
    Config.map((text): ReadonlyArray<string> => text.split(",").map((network) => network.trim())),
    Config.withDefault<ReadonlyArray<string>>([]),
  )

function toUndefined<A>(config: Config.Config<Option.Option<A>>): Config.Config<A | undefined> {
  return Config.map(config, Option.getOrUndefined)
}

/** The variables. Times in milliseconds unless the name says seconds (`_S`), sizes in bytes. */
const variables = {
  /** Profile of the deployment: picks `timeouts:` in the catalogue; `development` prints secrets and mail codes. */
  env: Config.NonEmptyString("SVC_ENV").pipe(Config.withDefault("development")),
  /** Address to listen on. */
  host: Config.NonEmptyString("SVC_HOST").pipe(Config.withDefault("127.0.0.1")),
  /** Port to listen on; 0 takes a free one. */
  port: port("SVC_PORT").pipe(Config.withDefault(8080)),
  /** How many processes share the port; more than one needs PostgreSQL and Redis. */
  workers: Config.schema(
    Schema.FiniteFromString.pipe(Schema.decodeTo(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 256 })))),
    "SVC_WORKERS",
  ).pipe(Config.withDefault(1)),
  /** A port of its own for `/metrics`; without it `/metrics` is on the main port. */
  metricsPort: port("SVC_METRICS_PORT").pipe(Config.option, toUndefined),
  /** Where people reach this service, e.g. `https://weir.example.com`; what a request says of its host when absent. */
  publicUrl: Config.schema(Schema.String.check(Schema.isPattern(/^https?:\/\/[^\s/]+$/)), "SVC_PUBLIC_URL").pipe(
    Config.option,
    toUndefined,
  ),
  /** Origins whose pages may call `/t1`, separated by commas, e.g. `https://app.example.com`; `*` for all. */
  corsOrigins: Config.schema(
    Schema.String.check(Schema.isPattern(/^(\*|https?:\/\/[^\s/,]+)(,(\*|https?:\/\/[^\s/,]+))*$/)),
    "SVC_CORS_ORIGINS",
  ).pipe(
    Config.map((text): ReadonlyArray<string> => text.split(",")),
    Config.withDefault<ReadonlyArray<string>>([]),
  ),
  /** Once requests are accepted, `{baseUrl, pid, keyId?, key?, adminKey?}` is written here, mode 0600. */
  readyFile: text("SVC_READY_FILE"),
  /** A catalogue file, applied at start and whenever it changes. */
  catalogueFile: text("SVC_CATALOGUE"),
  /** Where the embedded database and the development secrets are kept. */
  dataDir: Config.NonEmptyString("SVC_DATA_DIR").pipe(Config.withDefault(".weir")),
  /** A PostgreSQL server; the embedded one when absent. */
  databaseUrl: secret("SVC_DATABASE_URL"),
  databaseConnections: Config.Int("SVC_DATABASE_CONNECTIONS").pipe(Config.withDefault(10)),
  /** `0`: missing migrations are not applied at start, but refused; `weir migrate` applies them. */
  migrates: Config.schema(Flag, "SVC_MIGRATE").pipe(
    Config.withDefault("1"),
    Config.map((flag) => flag === "1"),
  ),
  databaseDeadlineMs: millis("SVC_DATABASE_DEADLINE_MS", 5000),
  /** Seals kept answers and organisations' upstream keys; all nodes need the same one. When absent, answers are sealed
   * with a key of the process's own, and no upstream keys are taken. */
  masterKey: secret("SVC_MASTER_KEY"),
  /** The master key before, while it is being replaced: what it sealed opens, and upstream keys are sealed again. */
  masterKeyPrevious: secret("SVC_MASTER_KEY_PREVIOUS"),
  /** Keys of end-user tokens, as `id:secret` separated by commas: the first signs, all verify. Made of the master key when
   * absent; without one either, of the process's own. */
  tokenKeys: secret("SVC_TOKEN_KEYS"),
  /** The server that mail goes out by, e.g. `smtps://user:password@mail.example.com`; in development, codes are printed without one. */
  smtpUrl: secret("SVC_SMTP_URL"),
  /** Who mail is from. */
  mailFrom: Config.NonEmptyString("SVC_MAIL_FROM").pipe(Config.withDefault("Weir <weir@localhost>")),
  /** How often an address (IPv6: its /64) may ask within a minute where people log in. */
  authPerMinute: Config.schema(
    Schema.FiniteFromString.pipe(Schema.decodeTo(Schema.Int.check(Schema.isGreaterThanOrEqualTo(1)))),
    "SVC_AUTH_PER_MINUTE",
  ).pipe(Config.withDefault(20)),
  /** Networks (CIDR, separated by commas) that organisations' own upstream addresses may lie in though not public. */
  egressAllow: networks("SVC_EGRESS_ALLOW"),
  /** Redis, or a cluster as URLs separated by commas; an in-process gate when absent. */
  redisUrl: secret("SVC_REDIS_URL"),
  redisDeadlineMs: millis("SVC_REDIS_DEADLINE_MS", 1000),
  /** Hex SHA-256 of the admin key; without it there is no admin API (development mints a key). */
  adminKeySha256: Config.schema(Sha256Hex, "SVC_ADMIN_KEY_SHA256").pipe(Config.option, toUndefined),
  /** What the gate does with a full plan, and when its store does not answer: `enforce` refuses, `shadow` only counts,
   * `off` does not look. */
  gateMode: Config.schema(GateModes, "SVC_PLAN_GATE_MODE").pipe(Config.withDefault("enforce" as const)),
  /** How long a session counts as active after it was last seen. */
  sessionWindowS: Config.schema(
    Schema.FiniteFromString.pipe(Schema.decodeTo(Seconds)),
    "SVC_PLAN_SESSION_WINDOW_S",
  ).pipe(Config.withDefault(300)),
  /** `1`: every runtime request must be signed. */
  requireSignature: Config.schema(Flag, "SVC_API_TWP_REQUIRE_SIGNATURE").pipe(
    Config.withDefault("0"),
    Config.map((flag) => flag === "1"),
  ),
  /** Networks (CIDR, separated by commas) of proxies whose `X-Forwarded-For` is believed. */
  trustedProxies: networks("SVC_TRUSTED_PROXIES"),
  /** Timeout tiers of upstream calls; a variable beats the catalogue's profile. */
  upstreamTimeouts: Config.all({
    connect: optionalMillis("SVC_UPSTREAM_CONNECT_TIMEOUT_MS"),
    ttfb: optionalMillis("SVC_UPSTREAM_TTFB_TIMEOUT_MS"),
    idle: optionalMillis("SVC_UPSTREAM_IDLE_TIMEOUT_MS"),
    total: optionalMillis("SVC_UPSTREAM_TOTAL_TIMEOUT_MS"),
  }),
  /** The most that one reply of a vendor may bring; a reply that is not streamed, 32 MiB at most. */
  upstreamMaxBytes: bytes("SVC_UPSTREAM_MAX_BYTES", 256 * 1024 * 1024),
  /** Silence on a stream after which a comment line goes out. */
  streamHeartbeatMs: millis("SVC_STREAM_HEARTBEAT_MS", 15_000),
  /** Unsent bytes of one stream at which reading from the vendor stops. */
  streamBufferBytes: bytes("SVC_STREAM_BUFFER_BYTES", 256 * 1024),
  /** How long a client may take nothing of what is waiting for it. */
  streamStallMs: millis("SVC_STREAM_STALL_MS", 30_000),
  /** How long a vendor is read on after its client left, where the catalogue says `clientGone: drain`. */
  drainGoneMs: millis("SVC_DRAIN_GONE_MS", 30_000),
  /** The share of finished streams, from 0 to 1, that an org's outbound policies review in the background. */
  reviewStreamRate: Config.schema(Schema.FiniteFromString.pipe(Schema.decodeTo(Share)), "SVC_REVIEW_STREAM_RATE").pipe(
    Config.withDefault(1),
  ),
  /** The most exchanges that one process has open at a time; more are turned away with `rate_limited`. */
  maxOpenExchanges: Config.schema(
    Schema.FiniteFromString.pipe(Schema.decodeTo(Schema.Int.check(Schema.isGreaterThanOrEqualTo(1)))),
    "SVC_MAX_OPEN_EXCHANGES",
  ).pipe(Config.withDefault(20_000)),
  /** How late the event loop may come to its work before calls are turned away with `rate_limited`. */
  shedLagMs: millis("SVC_SHED_LAG_MS", 60),
  /** How long calls may wait, on the average, until their money is held; as many may wait as this allows. */
  shedWaitMs: millis("SVC_SHED_WAIT_MS", 250),
  /** How long running exchanges may go on after SIGTERM. */
  drainTimeoutMs: millis("SVC_DRAIN_TIMEOUT_MS", 30_000),
  /** How long a hold or a claim outlives a node that was killed; another node then settles it. */
  leaseMs: millis("SVC_LEASE_MS", 60_000),
  /** How often leases are renewed, with what each exchange would settle now; well below the lease. */
  checkpointMs: millis("SVC_CHECKPOINT_MS", 5000),
  /** How long a settlement is tried before it goes to the journal, under the data folder. */
  settlePatienceMs: millis("SVC_SETTLE_PATIENCE_MS", 10_000),
  /** How long usage records and closed holds are kept. */
  retentionDays: Config.schema(Schema.FiniteFromString.pipe(Schema.decodeTo(Days)), "SVC_RETENTION_DAYS").pipe(
    Config.withDefault(400),
  ),
  /** How long finished results are kept for replay. */
  idempotencyTtlS: Config.Int("SVC_IDEMPOTENCY_TTL_S").pipe(Config.withDefault(86_400)),
  /** How long a known key keeps working while the database does not answer. */
  authStaleMs: millis("SVC_AUTH_STALE_MS", 60_000),
  /** The largest request body. */
  bodyMaxBytes: bytes("SVC_BODY_MAX_BYTES", 32 * 1024 * 1024),
  /** An OpenTelemetry collector that takes OTLP over HTTP, e.g. `http://collector:4318`: traces, metrics and logs go there. */
  otlpUrl: Config.schema(Schema.String.check(Schema.isPattern(/^https?:\/\/\S+$/)), "SVC_OTLP_URL").pipe(
    Config.option,
    toUndefined,
  ),
  /** What the collector wants in headers, as `name=value` pairs separated by commas. */
  otlpHeaders: secret("SVC_OTLP_HEADERS"),
  /** The share of calls, from 0 to 1, that are traced; of callers' own traces, the same share of those that are sampled. */
  traceRate: Config.schema(Schema.FiniteFromString.pipe(Schema.decodeTo(Share)), "SVC_TRACE_RATE").pipe(
    Config.withDefault(0.1),
  ),
  logLevel: Config.LogLevel("SVC_LOG_LEVEL").pipe(Config.withDefault("Info")),
}

const config = Config.all(variables)

/** The name of every variable, learned by reading them all from nowhere. */
export const variableNames: Effect.Effect<ReadonlySet<string>> = Effect.suspend(() => {
  const names = new Set<string>()
  const nowhere = ConfigProvider.make((path) => {
    names.add(path.join("_"))
    return Effect.undefined
  })
  return Effect.as(Effect.ignore(config.parse(nowhere)), names)
})

/** What the commands read of the environment, and the scripts of this project. */
const otherNames = /^SVC_(BASE_URL|ADMIN_KEY|KEY_ID|KEY|TOKEN|UPSTREAM_KEY|TEST_\w+)$/

/** Variables of the environment that look like ours and are none: misspelled, or of another version. */
export const unheardVariables = (known: ReadonlySet<string>): ReadonlyArray<string> =>
  Object.keys(process.env).filter((name) => name.startsWith("SVC_") && !known.has(name) && !otherNames.test(name))

export class WeirConfig extends Context.Service<WeirConfig, Config.Success<typeof config>>()("weir/WeirConfig") {
  /** Reads the environment. */
  static readonly layer = Layer.effect(WeirConfig, config)

  /** Defaults with some values replaced; for tests and tools. */
  static readonly layerWith = (values: Partial<WeirConfig["Service"]>) =>
    Layer.effect(
      WeirConfig,
      Effect.map(config, (defaults) => ({ ...defaults, ...values })),
    )
}

/** Whether secrets and codes may be minted and printed. */
export const isDevelopment = ({ env }: WeirConfig["Service"]): boolean => env === "development"
