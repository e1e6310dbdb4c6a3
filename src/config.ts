/**
 * Every variable that Weir reads, with its default and its meaning, in one table. No other file reads the environment,
 * except for the `env:` secrets that a catalogue references.
 */
import { Config, ConfigProvider, Context, Effect, Layer, Option, Redacted, Result, Schema } from "effect"
import { parseDatabaseUrl } from "./protocol/values/database-url.ts"
import { MillisOrNumber, MillisOrZero } from "./protocol/values/duration.ts"
import { parseNetwork } from "./protocol/values/network.ts"
import { parseProxy } from "./protocol/values/proxy.ts"
import { parseRedisUrl } from "./protocol/values/redis-url.ts"
import { fileVariable, secretInFile } from "./secret-files.ts"

const Bytes = Schema.Int.check(Schema.isBetween({ minimum: 1024, maximum: 2 ** 31 - 1 }))
/** Bytes on a disk, which may be more than the maximum of memory. */
const DiskBytes = Schema.Int.check(Schema.isBetween({ minimum: 1024, maximum: Number.MAX_SAFE_INTEGER }))
/** 0 takes a free port. */
const Port = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 65_535 }))
/** At least two: a spent request id must be refused for longer than its reply is stored. */
const Days = Schema.Int.check(Schema.isBetween({ minimum: 2, maximum: 36_500 }))
/** A year: replies stored for longer than that are of no use to a client that retries. */
const maxIdempotencyTtlS = 366 * 86_400
const Seconds = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 86_400 }))
const Share = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))
const GateModes = Schema.Literals(["off", "shadow", "enforce"])
const Flag = Schema.Literals(["0", "1"])

const millis = (name: string, fallback: number) =>
  Config.schema(MillisOrNumber, name).pipe(Config.withDefault(fallback))
const optionalMillis = (name: string) => Config.schema(MillisOrNumber, name).pipe(Config.option, toUndefined)
const bytes = (name: string, fallback: number) =>
  Config.schema(Schema.FiniteFromString.pipe(Schema.decodeTo(Bytes)), name).pipe(Config.withDefault(fallback))
const count = (name: string, fallback: number, { minimum = 1, maximum = Number.MAX_SAFE_INTEGER } = {}) =>
  Config.schema(
    Schema.FiniteFromString.pipe(Schema.decodeTo(Schema.Int.check(Schema.isBetween({ minimum, maximum })))),
    name,
  ).pipe(Config.withDefault(fallback))
const port = (name: string) => Config.schema(Schema.FiniteFromString.pipe(Schema.decodeTo(Port)), name)
const text = (name: string) => Config.NonEmptyString(name).pipe(Config.option, toUndefined)
/** A variable that is empty counts as not set: deployment files may pass empty values. */
const given = (name: string) =>
  Config.map(Config.option(Config.String(name)), (value) => Option.getOrUndefined(value) || undefined)
/** The value of a variable, or else the content of the file that its `…_FILE` names. */
export const valueOrFile = (name: string): Config.Config<string | undefined> =>
  Config.flatMap(Config.all([given(name), given(fileVariable(name))]), ([value, file]) => {
    if (file === undefined) return Config.succeed(value)
    if (value !== undefined) return invalid(`${name} and ${fileVariable(name)} are both set`)
    const found = secretInFile(file)
    return found === undefined
      ? invalid(`${fileVariable(name)} names ${file}, which is empty or cannot be read`)
      : Config.succeed<string | undefined>(found)
  })
/** A secret: never shown. */
const secret = (name: string) =>
  Config.map(valueOrFile(name), (value) => (value === undefined ? undefined : Redacted.make(value)))
/** A secret whose form is checked; the problem is reported without the secret. */
const checked = (name: string, parse: (text: string) => Result.Result<unknown, string>) =>
  Config.flatMap(secret(name), (value) => {
    const problem = value === undefined ? undefined : Result.getFailure(parse(Redacted.value(value)))
    return problem === undefined || Option.isNone(problem)
      ? Config.succeed(value)
      : invalid(`${name}: ${problem.value}`)
  })
const readable = (...files: ReadonlyArray<string | undefined>): Result.Result<void, string> => {
  const wrong = files.find((file) => file !== undefined && secretInFile(file) === undefined)
  return wrong === undefined ? Result.void : Result.fail(`${wrong} is empty or cannot be read`)
}
const digest = (name: string) =>
  Config.flatMap(valueOrFile(name), (value) =>
    value === undefined || /^[0-9a-f]{64}$/.test(value)
      ? Config.succeed(value)
      : invalid(`${name} must be a SHA-256 digest: 64 hexadecimal digits in lower case`),
  )

function invalid(message: string): Config.Config<never> {
  return Config.fail(new ConfigProvider.SourceError({ message }))
}
/** Links are made by appending a path: the part after the host must be a path in the form that browsers use. */
const isPublicUrl = (text: string): boolean => {
  const url = URL.parse(text)
  const [, path = "/"] = /^https?:\/\/[^\s/?#@]+(\/[^\s?#]*[^\s/?#])?$/.exec(text) ?? [text, text]
  return url?.pathname === path
}
/** A list of networks. */
const networks = (name: string) =>
  Config.schema(
    Schema.String.check(
      Schema.makeFilter((text: string) =>
        text.split(",").every((network) => parseNetwork(network.trim()) !== undefined)
          ? undefined
          : "networks such as 10.0.0.0/8, separated by commas, are required",
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

/** Files in PEM of one side of a TLS connection. */
export interface TlsFiles {
  /** Certificates of the authority that signs the other side's. */
  readonly ca?: string | undefined
  readonly cert?: string | undefined
  readonly key?: string | undefined
}

/**
 * The variables. Times are in milliseconds unless the name says seconds (`_S`), or have a unit, as `60s`; sizes are in bytes.
 */
const variables = {
  /**
   * Environment of the deployment: selects the profile in the catalogue's `timeouts:`; `development` prints secrets and
   * codes.
   */
  env: Config.NonEmptyString("SVC_ENV").pipe(Config.withDefault("development")),
  /** Address to listen on. */
  host: Config.NonEmptyString("SVC_HOST").pipe(Config.withDefault("127.0.0.1")),
  /** Port to listen on; 0 takes a free port. */
  port: port("SVC_PORT").pipe(Config.withDefault(8080)),
  /** Number of processes that share the port; more than one needs PostgreSQL and Redis. */
  workers: count("SVC_WORKERS", 1, { maximum: 256 }),
  /**
   * Files of a certificate with its chain and of its key, in PEM: then clients are served by HTTPS, with HTTP/2 and
   * HTTP/1.1. They are read again when they change.
   */
  tls: Config.flatMap(Config.all([text("SVC_TLS_CERT"), text("SVC_TLS_KEY")]), ([cert, key]) => {
    if (cert !== undefined && key !== undefined) return Config.succeed({ cert, key })
    if (cert === key) return Config.succeed(undefined)
    return invalid("SVC_TLS_CERT and SVC_TLS_KEY must both be set")
  }),
  /** `0`: no exchanges of its own after the first start with the simulated vendor. */
  demoTraffic: Config.schema(Flag, "SVC_DEMO_TRAFFIC").pipe(
    Config.withDefault("1"),
    Config.map((flag) => flag === "1"),
  ),
  /**
   * A separate port for `/metrics`, without a credential for anyone who reaches it; if absent, `/metrics` is on the main
   * port.
   */
  metricsPort: port("SVC_METRICS_PORT").pipe(Config.option, toUndefined),
  /** Shows `/metrics`, `/docs`, `/openapi.json` and the details of `/readyz`, as the admin key does; for scrapers. */
  metricsToken: secret("SVC_METRICS_TOKEN"),
  /** `1`: they need no credential; `0`: they need one. If absent, only development needs none. */
  openDetails: Config.schema(Flag, "SVC_OPEN_DETAILS").pipe(
    Config.map((flag) => flag === "1"),
    Config.option,
    toUndefined,
  ),
  /**
   * The public URL of this service, e.g. `https://weir.example.com`; if absent, it is derived from the request's host.
   */
  publicUrl: Config.schema(
    Schema.String.check(
      Schema.makeFilter((text: string) =>
        isPublicUrl(text)
          ? undefined
          : "a URL such as https://weir.example.com, without a slash at its end, is required",
      ),
    ),
    "SVC_PUBLIC_URL",
  ).pipe(Config.option, toUndefined),
  /** A path below which everything is served, e.g. `/genai/gw`, for a proxy that does not remove it. */
  basePath: Config.schema(
    Schema.String.check(
      Schema.isPattern(/^(\/(?!\.{1,2}(\/|$))[A-Za-z0-9._~-]+)+$/, {
        expected: "a path such as /genai/gw, without a slash at its end",
      }),
    ),
    "SVC_BASE_PATH",
  ).pipe(Config.withDefault("")),
  /**
   * Hosts at which clients reach this service, separated by commas, if there are several and so no `SVC_PUBLIC_URL`: links
   * lead to the host of the request, or else to the first.
   */
  publicHosts: Config.schema(
    Schema.String.check(
      Schema.isPattern(/^[A-Za-z0-9.[\]:-]+(,[A-Za-z0-9.[\]:-]+)*$/, {
        expected: "host names such as weir.example.com, separated by commas",
      }),
    ),
    "SVC_PUBLIC_HOSTS",
  ).pipe(
    Config.map((text): ReadonlyArray<string> => text.split(",")),
    Config.withDefault<ReadonlyArray<string>>([]),
  ),
  /** Origins whose pages may call `/t1`, separated by commas, e.g. `https://app.example.com`; `*` for all. */
  corsOrigins: Config.schema(
    Schema.String.check(
      Schema.isPattern(/^(\*|https?:\/\/[^\s/,]+)(,(\*|https?:\/\/[^\s/,]+))*$/, {
        expected: "origins such as https://app.example.com, separated by commas, or *",
      }),
    ),
    "SVC_CORS_ORIGINS",
  ).pipe(
    Config.map((text): ReadonlyArray<string> => text.split(",")),
    Config.withDefault<ReadonlyArray<string>>([]),
  ),
  /** Once requests are accepted, `{baseUrl, pid, keyId?, key?, adminKey?}` is written to this file, mode 0600. */
  readyFile: text("SVC_READY_FILE"),
  /** A catalogue file, applied at start and whenever it changes. */
  catalogueFile: text("SVC_CATALOGUE"),
  /**
   * `1`: organisations, people, teams, applications, keys and budgets that the file no longer contains are removed; otherwise
   * they stay.
   */
  cataloguePrune: Config.schema(Flag, "SVC_CATALOGUE_PRUNE").pipe(
    Config.withDefault("0"),
    Config.map((flag) => flag === "1"),
  ),
  /** Interval at which secrets that the catalogue names in a store are read again: `vault:`, `aws-sm:`, `gcp-sm:`, `azure-kv:`. */
  secretsRefreshMs: millis("SVC_SECRETS_REFRESH_MS", 300_000),
  /** HashiCorp Vault for `vault:`: its address, a namespace, the file of its certificate authority, and a token. */
  vault: Config.all({
    url: given("VAULT_ADDR"),
    namespace: given("VAULT_NAMESPACE"),
    caFile: given("VAULT_CACERT"),
    token: secret("VAULT_TOKEN"),
  }),
  /**
   * Logins at Vault where there is no token: a role for the service account of Kubernetes, whose token is in the file, or an
   * AppRole. The path is where the method is mounted below `auth/`: `kubernetes` or `approle` if absent.
   */
  vaultLogin: Config.all({
    role: text("SVC_VAULT_ROLE"),
    jwtFile: Config.NonEmptyString("SVC_VAULT_JWT_FILE").pipe(
      Config.withDefault("/var/run/secrets/kubernetes.io/serviceaccount/token"),
    ),
    roleId: text("SVC_VAULT_ROLE_ID"),
    secretId: secret("SVC_VAULT_SECRET_ID"),
    mount: text("SVC_VAULT_AUTH_PATH"),
  }),
  /**
   * The region of `aws-sm:` without an ARN, and the address of Secrets Manager, if not at AWS: the variables of AWS's own
   * tools.
   */
  awsSecrets: Config.map(
    Config.all([
      given("AWS_REGION"),
      given("AWS_DEFAULT_REGION"),
      given("AWS_ENDPOINT_URL_SECRETS_MANAGER"),
      given("AWS_ENDPOINT_URL"),
    ]),
    ([region, fallback, url, urlOfAll]) => ({ region: region ?? fallback, url: url ?? urlOfAll }),
  ),
  /** The address of Google's Secret Manager, for `gcp-sm:`. */
  googleSecretsUrl: Config.schema(
    Schema.String.check(Schema.isPattern(/^https?:\/\/[^\s/?#]+$/, { expected: "an http(s) URL without a path" })),
    "SVC_GOOGLE_SECRETS_URL",
  ).pipe(Config.withDefault("https://secretmanager.googleapis.com")),
  /** The address of a key vault for `azure-kv:`, with `{vault}` for its name; national clouds have their own. */
  azureVaultUrl: Config.schema(
    Schema.String.check(Schema.isPattern(/^https?:\/\/[^\s?#]*\{vault\}[^\s?#]*$/, { expected: "a URL with {vault}" })),
    "SVC_AZURE_VAULT_URL",
  ).pipe(Config.withDefault("https://{vault}.vault.azure.net")),
  /** Directory of the embedded database, the settlement journal and the development secrets; `:memory:` keeps nothing. */
  dataDir: Config.NonEmptyString("SVC_DATA_DIR").pipe(Config.withDefault(".weir")),
  /**
   * A PostgreSQL server as `postgres://user:password@host/database`, with `sslmode`, `sslrootcert`, `sslcert` and `sslkey`
   * as libpq has them; in development the embedded one if absent. In a file, its password is read for each new connection.
   */
  databaseUrl: checked("SVC_DATABASE_URL", (text) =>
    Result.flatMap(parseDatabaseUrl(text), ({ tls }) => readable(tls?.ca, tls?.cert, tls?.key)),
  ),
  /**
   * Connections to it, for calls, for short statements, and for long ones: a third each, of the last at least three. Two more
   * wait for notifications.
   */
  databaseConnections: count("SVC_DATABASE_CONNECTIONS", 10, { maximum: 10_000 }),
  /** `0`: missing migrations are not applied at start but are an error; `weir migrate` applies them. */
  migrates: Config.schema(Flag, "SVC_MIGRATE").pipe(
    Config.withDefault("1"),
    Config.map((flag) => flag === "1"),
  ),
  /** Deadline of each call to PostgreSQL; a connection that owes an answer for two of them is left for a new one. */
  databaseDeadlineMs: millis("SVC_DATABASE_DEADLINE_MS", 5000),
  /**
   * Seals stored replies and organisations' upstream keys; all nodes need the same key. Development makes one and keeps it
   * in the data directory.
   */
  masterKey: secret("SVC_MASTER_KEY"),
  /**
   * The previous master keys, one in each line: they open what they sealed; upstream keys are sealed again with the new one.
   */
  masterKeyPrevious: secret("SVC_MASTER_KEY_PREVIOUS"),
  /**
   * Signing keys of end-user tokens as `id:secret`, separated by commas: the first signs, all verify. Derived from the
   * master key if absent.
   */
  tokenKeys: secret("SVC_TOKEN_KEYS"),
  /** SMTP server, e.g. `smtps://user:password@mail.example.com`; in development, codes are printed without one. */
  smtpUrl: secret("SVC_SMTP_URL"),
  /** Sender of mail. */
  mailFrom: Config.NonEmptyString("SVC_MAIL_FROM").pipe(Config.withDefault("Weir <weir@localhost>")),
  /** Requests per minute and address (IPv6: per /64) on the login routes. */
  authPerMinute: count("SVC_AUTH_PER_MINUTE", 20),
  /** Private networks (CIDR, separated by commas) in which organisations' own upstream addresses are allowed. */
  egressAllow: networks("SVC_EGRESS_ALLOW"),
  /** Proxy for vendors at HTTPS addresses: `HTTPS_PROXY` or `https_proxy`, except for the hosts that `NO_PROXY` names. */
  httpsProxy: Config.flatMap(Config.all([valueOrFile("HTTPS_PROXY"), valueOrFile("https_proxy")]), ([upper, lower]) => {
    const url = upper ?? lower
    const proxy = url === undefined ? undefined : parseProxy(url)
    if (url !== undefined && proxy === undefined) return invalid("HTTPS_PROXY is not a URL such as http://proxy:3128")
    return Config.succeed(proxy && Redacted.make(proxy))
  }),
  /** Hosts that are reached without the proxy, separated by commas: names with their subdomains, addresses, networks, or `*`. */
  noProxy: Config.map(Config.all([given("NO_PROXY"), given("no_proxy")]), ([upper, lower]) => upper ?? lower ?? ""),
  /**
   * Redis as `redis://[user:password@]host[:port][/db]`, a cluster as several of them, separated by commas, or
   * `redis-sentinel://[user:password@]host[:port],host[:port]/master-name[/db]`; with TLS `rediss://`,
   * `rediss-sentinel://`. An in-process gate if absent.
   */
  redisUrl: checked("SVC_REDIS_URL", parseRedisUrl),
  /**
   * Files in PEM for `rediss://`, read for each new connection: the authority that signed Redis's certificate, and this
   * client's own certificate and key.
   */
  redisTlsFiles: Config.flatMap(
    Config.all([text("SVC_REDIS_CA"), text("SVC_REDIS_CERT"), text("SVC_REDIS_KEY")]),
    ([ca, cert, key]) => {
      if ((cert === undefined) !== (key === undefined))
        return invalid("SVC_REDIS_CERT and SVC_REDIS_KEY must both be set")
      const problem = Result.getFailure(readable(ca, cert, key))
      const files: TlsFiles = { ca, cert, key }
      return Option.isSome(problem) ? invalid(`TLS of Redis: ${problem.value}`) : Config.succeed(files)
    },
  ),
  /** Deadline of each call to Redis; a connection that is silent for two of them is left for a new one. */
  redisDeadlineMs: millis("SVC_REDIS_DEADLINE_MS", 1000),
  /** SHA-256 of the admin key, in hex. Development mints a key. */
  adminKeySha256: digest("SVC_ADMIN_KEY_SHA256"),
  /**
   * Behaviour of the gate for a full plan, and for a store that does not answer: `enforce` refuses, `shadow` only counts,
   * `off` does not check.
   */
  gateMode: Config.schema(GateModes, "SVC_PLAN_GATE_MODE").pipe(Config.withDefault("enforce" as const)),
  /** Time that a session counts as active after it was last seen, in seconds. */
  sessionWindowS: Config.schema(
    Schema.FiniteFromString.pipe(Schema.decodeTo(Seconds)),
    "SVC_PLAN_SESSION_WINDOW_S",
  ).pipe(Config.withDefault(300)),
  /**
   * `1`: clients of AWS may sign with a key at `/bedrock`. Then the stored hash of a secret is enough to make calls: it is the
   * secret access key.
   */
  awsSignatures: Config.schema(Flag, "SVC_AWS_SIGNATURES").pipe(
    Config.withDefault("0"),
    Config.map((flag) => flag === "1"),
  ),
  /** `1`: every runtime request must be signed. */
  requireSignature: Config.schema(Flag, "SVC_API_TWP_REQUIRE_SIGNATURE").pipe(
    Config.withDefault("0"),
    Config.map((flag) => flag === "1"),
  ),
  /** Networks (CIDR, separated by commas) of proxies whose `X-Forwarded-For` is trusted. */
  trustedProxies: networks("SVC_TRUSTED_PROXIES"),
  /** Timeout tiers of upstream calls, for an emergency: they override the catalogue. */
  upstreamTimeouts: Config.all({
    connect: optionalMillis("SVC_UPSTREAM_CONNECT_TIMEOUT_MS"),
    ttfb: optionalMillis("SVC_UPSTREAM_TTFB_TIMEOUT_MS"),
    idle: optionalMillis("SVC_UPSTREAM_IDLE_TIMEOUT_MS"),
    total: optionalMillis("SVC_UPSTREAM_TOTAL_TIMEOUT_MS"),
  }),
  /** Maximum size of a vendor's reply; 32 MiB for a reply that is not streamed. */
  upstreamMaxBytes: bytes("SVC_UPSTREAM_MAX_BYTES", 256 * 1024 * 1024),
  /**
   * A stream ends once its text and its tools' arguments have more bytes than its limit of tokens times this: the longest
   * tokens of known tokenizers, which are runs of spaces, have 128.
   */
  outputTokenBytes: count("SVC_OUTPUT_TOKEN_BYTES", 128),
  /** Silence on a stream after which a heartbeat comment is sent. */
  streamHeartbeatMs: millis("SVC_STREAM_HEARTBEAT_MS", 15_000),
  /** Unsent bytes of one stream at which the gateway stops reading from the vendor; less while many clients are slow. */
  streamBufferBytes: bytes("SVC_STREAM_BUFFER_BYTES", 256 * 1024),
  /** Time that a client may accept no bytes while some are waiting. */
  streamStallMs: millis("SVC_STREAM_STALL_MS", 30_000),
  /** The largest message on a socket of exchanges or responses, in bytes. */
  socketFrameBytes: bytes("SVC_SOCKET_FRAME_BYTES", 1024 * 1024),
  /** The largest message of a client in a realtime session, in bytes: 15 MiB of sound, as OpenAI takes it, in base64. */
  realtimeFrameBytes: bytes("SVC_REALTIME_FRAME_BYTES", 21 * 1024 * 1024),
  /** Maximum open sockets of one process; less where its files allow fewer. */
  socketsMax: count("SVC_SOCKETS_MAX", 10_000),
  /** Time that a realtime session may be without an event from either side. */
  realtimeIdleMs: millis("SVC_REALTIME_IDLE_MS", 300_000),
  /** Time that a vendor's reply is still read after its client left, if the catalogue says `clientGone: drain`. */
  drainGoneMs: millis("SVC_DRAIN_GONE_MS", 30_000),
  /** Share of finished streams, 0 to 1, that outbound policies review in the background. */
  reviewStreamRate: Config.schema(Schema.FiniteFromString.pipe(Schema.decodeTo(Share)), "SVC_REVIEW_STREAM_RATE").pipe(
    Config.withDefault(1),
  ),
  /** Time after which an engine of a policy is asked about the text of a stream that has not come to the end of a sentence. */
  policyPieceMs: millis("SVC_POLICY_PIECE_MS", 500),
  /** Time that streams, sockets and realtime may go on after their credential was revoked; to their end if absent. */
  revokedGraceMs: optionalMillis("SVC_REVOKED_GRACE_MS"),
  /** Maximum open exchanges of one process; further ones are refused with `rate_limited`. */
  maxOpenExchanges: count("SVC_MAX_OPEN_EXCHANGES", 20_000),
  /** Maximum responses of one application or person that run in the background at a time; further ones are refused with `rate_limited`. */
  backgroundResponses: count("SVC_BACKGROUND_RESPONSES", 100),
  /** Calls for requests of batches that a node makes at a time. */
  batchCalls: count("SVC_BATCH_CALLS", 16),
  /** Maximum uploads of files of one application or person at a time; further ones are refused with `rate_limited`. */
  fileUploads: count("SVC_FILE_UPLOADS", 16),
  /** Maximum conversations of one application or person, and of each end user; further ones are refused with `bad_request`. */
  conversations: count("SVC_CONVERSATIONS", 10_000),
  /** Maximum conversations of one organisation, which each node counts once a minute; further ones are refused with `bad_request`. */
  orgConversations: count("SVC_ORG_CONVERSATIONS", 1_000_000),
  /** Event loop lag above which calls are refused with `rate_limited`. */
  shedLagMs: millis("SVC_SHED_LAG_MS", 60),
  /** Average wait for a hold above which calls are refused; it also bounds how many may wait. */
  shedWaitMs: millis("SVC_SHED_WAIT_MS", 250),
  /**
   * Time that new calls are served after SIGTERM, while `/readyz` fails: the time in which balancers find out. Absent: 5 s,
   * and none in development.
   */
  lameDuckMs: Config.schema(MillisOrZero, "SVC_LAME_DUCK_MS").pipe(Config.option, toUndefined),
  /** Time that running exchanges may continue after that. */
  drainTimeoutMs: millis("SVC_DRAIN_TIMEOUT_MS", 30_000),
  /** Time that holds, allotments and claims of a killed node stay; then another node settles them or takes them back. */
  leaseMs: millis("SVC_LEASE_MS", 60_000),
  /** Interval at which leases are renewed and checkpoints written; well below three quarters of the lease. */
  checkpointMs: millis("SVC_CHECKPOINT_MS", 5000),
  /** Time that a settlement is retried before it goes to the journal in the data directory. */
  settlePatienceMs: millis("SVC_SETTLE_PATIENCE_MS", 10_000),
  /**
   * The time when a reply goes to its client: `settled`, when its settlement is in the database, or `journaled`, when it is in
   * the journal in the data directory, which must outlive the process; the database follows.
   */
  replyAfter: Config.schema(Schema.Literals(["settled", "journaled"]), "SVC_REPLY_AFTER").pipe(
    Config.withDefault("settled"),
  ),
  /** Time that usage records are kept, in days. */
  retentionDays: Config.schema(Schema.FiniteFromString.pipe(Schema.decodeTo(Days)), "SVC_RETENTION_DAYS").pipe(
    Config.withDefault(400),
  ),
  /** Number of days after the end of a month after which its transfers are closed; if absent, they are kept. */
  booksKeptDays: Config.schema(Schema.FiniteFromString.pipe(Schema.decodeTo(Days)), "SVC_BOOKS_KEPT_DAYS").pipe(
    Config.option,
    Config.map(Option.getOrUndefined),
  ),
  /** Time that spent request ids are kept, in days; at least as long as replies are stored, and a day. */
  spentIdsKeptDays: Config.schema(Schema.FiniteFromString.pipe(Schema.decodeTo(Days)), "SVC_SPENT_IDS_KEPT_DAYS").pipe(
    Config.withDefault(90),
  ),
  /** Time that finished replies are stored for replay, in seconds. */
  idempotencyTtlS: count("SVC_IDEMPOTENCY_TTL_S", 86_400, { maximum: maxIdempotencyTtlS }),
  /** Time that a known key stays valid while the database does not answer. */
  authStaleMs: millis("SVC_AUTH_STALE_MS", 60_000),
  /** Memory for tenants that were active: organisations, applications and keys. */
  tenantCacheBytes: bytes("SVC_TENANT_CACHE_BYTES", 64 * 1024 * 1024),
  /** Maximum size of a request body, before and after its content encoding is removed. */
  bodyMaxBytes: bytes("SVC_BODY_MAX_BYTES", 32 * 1024 * 1024),
  /** Maximum size of a form with files: pictures to change, sound to transcribe. */
  mediaBodyBytes: bytes("SVC_MEDIA_BODY_BYTES", 100 * 1024 * 1024),
  /** Time that a job at a vendor, such as a video, may take; then it is ended at its vendor, and its money goes back. */
  jobTimeoutMs: millis("SVC_JOB_TIMEOUT_MS", 3_600_000),
  /** Disk space below `SVC_DATA_DIR` for files of running calls, of one process. */
  mediaDiskBytes: Config.schema(Schema.FiniteFromString.pipe(Schema.decodeTo(DiskBytes)), "SVC_MEDIA_DISK_BYTES").pipe(
    Config.withDefault(8 * 1024 * 1024 * 1024),
  ),
  /** Memory for replies that are kept for equal requests, if there is no Redis. */
  replyCacheBytes: bytes("SVC_REPLY_CACHE_BYTES", 64 * 1024 * 1024),
  /** Bodies of large requests that may be in memory at once, of one process. */
  largeBodyBytes: bytes("SVC_LARGE_BODY_BYTES", 256 * 1024 * 1024),
  /** Time that a call waits for the store of kept replies; then it calls its vendor. */
  replyCacheWaitMs: millis("SVC_REPLY_CACHE_WAIT_MS", 20),
  /** Files of running calls, of one process. */
  mediaMaxFiles: count("SVC_MEDIA_MAX_FILES", 512),
  /** OpenTelemetry collector (OTLP over HTTP), e.g. `http://collector:4318`, for traces, metrics and logs. */
  otlpUrl: Config.schema(
    Schema.String.check(
      Schema.isPattern(/^https?:\/\/\S+$/, { expected: "an http(s) URL such as http://collector:4318" }),
    ),
    "SVC_OTLP_URL",
  ).pipe(Config.option, toUndefined),
  /** Headers for the collector, as `name=value` pairs separated by commas. */
  otlpHeaders: secret("SVC_OTLP_HEADERS"),
  /** Share of calls, 0 to 1, that are traced; of calls that belong to a caller's sampled trace, the same share. */
  traceRate: Config.schema(Schema.FiniteFromString.pipe(Schema.decodeTo(Share)), "SVC_TRACE_RATE").pipe(
    Config.withDefault(0.1),
  ),
  /** The least severe log lines that are written: All, Trace, Debug, Info, Warn, Error, Fatal or None. */
  logLevel: Config.LogLevel("SVC_LOG_LEVEL").pipe(Config.withDefault("Info")),
  /** Lines for people, or JSON for machines. */
  logFormat: Config.schema(Schema.Literals(["pretty", "json"]), "SVC_LOG_FORMAT").pipe(Config.withDefault("pretty")),
}

const config = Config.all(variables)

/** A variable as it is in an environment. */
export interface Variable {
  readonly name: string
  /** The member of the table above that reads it; its comment says what the variable means. */
  readonly member: string
  readonly isSecret: boolean
  /** The default, in the form of the variable; empty if there is none. */
  readonly fallback: string
  /** Undefined where it is not set; secrets are not shown. */
  readonly value: string | undefined
  readonly source: "default" | "environment" | "file"
}

/** Every variable, in the order of the table, as an environment sets it. */
export const readVariables = (
  env: Readonly<Record<string, string | undefined>>,
): Effect.Effect<ReadonlyArray<Variable>> =>
  Effect.forEach(Object.entries(variables), ([member, variable]) =>
    Effect.map(Effect.all([namesIn(variable), fallbackOf(variable)]), ([asked, fallback]) =>
      [...asked]
        .filter((name) => !isFileOf(name, asked))
        .map((name): Variable => {
          const isSecret = asked.has(fileVariable(name))
          const file = env[fileVariable(name)]
          const given = env[name] || undefined
          return {
            name,
            member,
            isSecret,
            fallback: asked.size > (isSecret ? 2 : 1) ? "" : fallback,
            value:
              given === undefined ? (isSecret && file ? file : undefined) : isSecret ? "(set)" : withoutPassword(given),
            source: given !== undefined ? "environment" : isSecret && file ? "file" : "default",
          }
        }),
    ),
  ).pipe(Effect.map((each) => each.flat()))

/** The variables that a start would refuse, with their reasons, in the order of the table. */
export const refusedVariables: Effect.Effect<ReadonlyArray<Config.ConfigError>> = Effect.suspend(() =>
  Effect.forEach(Object.values(variables), (variable: Config.Config<unknown>) =>
    Effect.match(variable, {
      onFailure: (error): ReadonlyArray<Config.ConfigError> => [error],
      onSuccess: () => [],
    }),
  ),
).pipe(Effect.map((each) => each.flat()))

/** Addresses of collectors and the like may have one too. */
const withoutPassword = (text: string): string => text.replace(/(\/\/)[^/@\s]*@/g, "$1…@")

const isFileOf = (name: string, asked: ReadonlySet<string>): boolean =>
  name.endsWith("_FILE") && asked.has(name.replace(/_FILE$/, ""))

/** The names that a part of the configuration asks for, found by giving it none. */
const namesIn = (part: Config.Config<unknown>): Effect.Effect<ReadonlySet<string>> =>
  Effect.suspend(() => {
    const names = new Set<string>()
    const nowhere = ConfigProvider.make((path) => {
      names.add(path.join("_"))
      return Effect.undefined
    })
    return Effect.as(Effect.ignore(part.parse(nowhere)), names)
  })

const fallbackOf = (part: Config.Config<unknown>): Effect.Effect<string> =>
  part.parse(ConfigProvider.make(() => Effect.undefined)).pipe(
    Effect.map((value) => {
      if (typeof value === "boolean") return value ? "1" : "0"
      if (typeof value === "string" || typeof value === "number") return String(value)
      return Array.isArray(value) ? value.join() : ""
    }),
    Effect.orElseSucceed(() => ""),
  )

/** The name of every variable. */
export const variableNames: Effect.Effect<ReadonlySet<string>> = namesIn(config)

/** Variables of the commands and of this project's scripts. */
const otherNames = /^SVC_(BASE_URL|ADMIN_KEY|KEY_ID|KEY|TOKEN|UPSTREAM_KEY|TEST_\w+)(_FILE)?$/

/** Variables of the environment that start with `SVC_` and are unknown: misspelled, or of another version. */
export const unknownVariables = (known: ReadonlySet<string>): ReadonlyArray<string> =>
  Object.keys(process.env).filter((name) => name.startsWith("SVC_") && !known.has(name) && !otherNames.test(name))

export class WeirConfig extends Context.Service<WeirConfig, Config.Success<typeof config>>()("weir/WeirConfig") {
  /** Reads the environment. */
  static readonly layer = Layer.effect(WeirConfig, config)

  /** The defaults with some values replaced; for tests and tools. */
  static readonly layerWith = (values: Partial<WeirConfig["Service"]>) =>
    Layer.effect(
      WeirConfig,
      Effect.map(config, (defaults) => ({ ...defaults, ...values })),
    )
}

/** The time that spent request ids are kept: longer than the registry of running and finished calls knows them. */
export const spentIdsDays = ({ spentIdsKeptDays, idempotencyTtlS }: WeirConfig["Service"]): number =>
  Math.max(spentIdsKeptDays, Math.ceil(idempotencyTtlS / 86_400) + 1)

/** Whether secrets and codes may be minted and printed. */
export const isDevelopment = ({ env }: Pick<WeirConfig["Service"], "env">): boolean => env === "development"

/** The settings that a gateway needs as it is set up, each with a sentence on how to set it. */
export const lackingOf = (config: WeirConfig["Service"]): ReadonlyArray<string> => {
  const { adminKeySha256, masterKey, databaseUrl, dataDir, replyAfter, env } = config
  if (replyAfter === "journaled" && dataDir === ":memory:") {
    return ["SVC_REPLY_AFTER=journaled needs a folder in SVC_DATA_DIR that outlives the process; :memory: does not"]
  }
  if (isDevelopment(config)) return []
  const needed: ReadonlyArray<readonly [unknown, string]> = [
    [
      adminKeySha256,
      "SVC_ADMIN_KEY_SHA256, the SHA-256 of a key that you choose: printf %s YOUR_ADMIN_KEY | sha256sum | cut -c-64",
    ],
    [masterKey, "SVC_MASTER_KEY, a long secret that is the same on all nodes: openssl rand -base64 32"],
    [
      databaseUrl,
      "SVC_DATABASE_URL, a server of PostgreSQL as postgres://user:password@host/database; the embedded one is for development",
    ],
  ]
  return needed.flatMap(([value, what]) => (value === undefined ? [`SVC_ENV=${env} needs ${what}`] : []))
}

/**
 * Whether calls are refused while the gate's store does not answer. Admission, readiness and the start use the same function,
 * so that a node is ready exactly when it would admit a call.
 */
export const needsGateStore = ({ gateMode }: WeirConfig["Service"]): boolean => gateMode === "enforce"

/** The time that new calls are served after SIGTERM. */
export const lameDuckMsOf = (config: WeirConfig["Service"]): number =>
  config.lameDuckMs ?? (isDevelopment(config) ? 0 : 5000)
