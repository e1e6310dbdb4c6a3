/** Made by scripts/variables.ts from the comments of config.ts: what each member of its table means. */
export const meanings: Readonly<Record<string, string>> = {
  env: "Environment of the deployment: selects the profile in the catalogue's `timeouts:`; `development` prints secrets and codes.",
  host: "Address to listen on.",
  port: "Port to listen on; 0 takes a free port.",
  workers: "Number of processes that share the port; more than one needs PostgreSQL and Redis.",
  tls: "Files of a certificate with its chain and of its key, in PEM: then clients are served by HTTPS, with HTTP/2 and HTTP/1.1. They are read again when they change.",
  demoTraffic: "`0`: no exchanges of its own after the first start with the simulated vendor.",
  metricsPort:
    "A separate port for `/metrics`, without a credential for anyone who reaches it; if absent, `/metrics` is on the main port.",
  metricsToken:
    "Shows `/metrics`, `/docs`, `/openapi.json` and the details of `/readyz`, as the admin key does; for scrapers.",
  openDetails: "`1`: they need no credential; `0`: they need one. If absent, only development needs none.",
  publicUrl:
    "The public URL of this service, e.g. `https://weir.example.com`; if absent, it is derived from the request's host.",
  basePath: "A path below which everything is served, e.g. `/genai/gw`, for a proxy that does not remove it.",
  publicHosts:
    "Hosts at which clients reach this service, separated by commas, if there are several and so no `SVC_PUBLIC_URL`: links lead to the host of the request, or else to the first.",
  corsOrigins: "Origins whose pages may call `/t1`, separated by commas, e.g. `https://app.example.com`; `*` for all.",
  readyFile:
    "Once requests are accepted, `{baseUrl, pid, keyId?, key?, adminKey?}` is written to this file, mode 0600.",
  catalogueFile: "A catalogue file, applied at start and whenever it changes.",
  cataloguePrune:
    "`1`: organisations, people, teams, applications, keys and budgets that the file no longer contains are removed; otherwise they stay.",
  secretsRefreshMs:
    "Interval at which secrets that the catalogue names in a store are read again: `vault:`, `aws-sm:`, `gcp-sm:`, `azure-kv:`.",
  vault: "HashiCorp Vault for `vault:`: its address, a namespace, the file of its certificate authority, and a token.",
  vaultLogin:
    "Logins at Vault where there is no token: a role for the service account of Kubernetes, whose token is in the file, or an AppRole. The path is where the method is mounted below `auth/`: `kubernetes` or `approle` if absent.",
  awsSecrets:
    "The region of `aws-sm:` without an ARN, and the address of Secrets Manager, if not at AWS: the variables of AWS's own tools.",
  googleSecretsUrl: "The address of Google's Secret Manager, for `gcp-sm:`.",
  azureVaultUrl:
    "The address of a key vault for `azure-kv:`, with `{vault}` for its name; national clouds have their own.",
  dataDir:
    "Directory of the embedded database, the settlement journal and the development secrets; `:memory:` keeps nothing.",
  databaseUrl:
    "A PostgreSQL server as `postgres://user:password@host/database`, with `sslmode`, `sslrootcert`, `sslcert` and `sslkey` as libpq has them; in development the embedded one if absent. In a file, its password is read for each new connection.",
  databaseConnections:
    "Connections to it, for calls, for short statements, and for long ones: a third each, of the last at least three. Two more wait for notifications.",
  migrates: "`0`: missing migrations are not applied at start but are an error; `weir migrate` applies them.",
  databaseDeadlineMs:
    "Deadline of each call to PostgreSQL; a connection that owes an answer for two of them is left for a new one.",
  masterKey:
    "Seals stored replies and organisations' upstream keys; all nodes need the same key. Development makes one and keeps it in the data directory.",
  masterKeyPrevious:
    "The previous master keys, one in each line: they open what they sealed; upstream keys are sealed again with the new one.",
  tokenKeys:
    "Signing keys of end-user tokens as `id:secret`, separated by commas: the first signs, all verify. Derived from the master key if absent.",
  smtpUrl: "SMTP server, e.g. `smtps://user:password@mail.example.com`; in development, codes are printed without one.",
  mailFrom: "Sender of mail.",
  authPerMinute: "Requests per minute and address (IPv6: per /64) on the login routes.",
  egressAllow:
    "Private networks (CIDR, separated by commas) in which organisations' own upstream addresses are allowed.",
  httpsProxy:
    "Proxy for vendors at HTTPS addresses: `HTTPS_PROXY` or `https_proxy`, except for the hosts that `NO_PROXY` names.",
  noProxy:
    "Hosts that are reached without the proxy, separated by commas: names with their subdomains, addresses, networks, or `*`.",
  redisUrl:
    "Redis as `redis://[user:password@]host[:port][/db]`, a cluster as several of them, separated by commas, or `redis-sentinel://[user:password@]host[:port],host[:port]/master-name[/db]`; with TLS `rediss://`, `rediss-sentinel://`. An in-process gate if absent.",
  redisTlsFiles:
    "Files in PEM for `rediss://`, read for each new connection: the authority that signed Redis's certificate, and this client's own certificate and key.",
  redisDeadlineMs: "Deadline of each call to Redis; a connection that is silent for two of them is left for a new one.",
  adminKeySha256: "SHA-256 of the admin key, in hex. Development mints a key.",
  gateMode:
    "Behaviour of the gate for a full plan, and for a store that does not answer: `enforce` refuses, `shadow` only counts, `off` does not check.",
  sessionWindowS: "Time that a session counts as active after it was last seen, in seconds.",
  awsSignatures:
    "`1`: clients of AWS may sign with a key at `/bedrock`. Then the stored hash of a secret is enough to make calls: it is the secret access key.",
  requireSignature: "`1`: every runtime request must be signed.",
  trustedProxies: "Networks (CIDR, separated by commas) of proxies whose `X-Forwarded-For` is trusted.",
  upstreamTimeouts: "Timeout tiers of upstream calls, for an emergency: they override the catalogue.",
  upstreamMaxBytes: "Maximum size of a vendor's reply; 32 MiB for a reply that is not streamed.",
  outputTokenBytes:
    "A stream ends once its text and its tools' arguments have more bytes than its limit of tokens times this: the longest tokens of known tokenizers, which are runs of spaces, have 128.",
  streamHeartbeatMs: "Silence on a stream after which a heartbeat comment is sent.",
  streamBufferBytes:
    "Unsent bytes of one stream at which the gateway stops reading from the vendor; less while many clients are slow.",
  streamStallMs: "Time that a client may accept no bytes while some are waiting.",
  socketFrameBytes: "The largest message on a socket of exchanges or responses, in bytes.",
  realtimeFrameBytes:
    "The largest message of a client in a realtime session, in bytes: 15 MiB of sound, as OpenAI takes it, in base64.",
  socketsMax: "Maximum open sockets of one process; less where its files allow fewer.",
  realtimeIdleMs: "Time that a realtime session may be without an event from either side.",
  drainGoneMs:
    "Time that a vendor's reply is still read after its client left, if the catalogue says `clientGone: drain`.",
  reviewStreamRate: "Share of finished streams, 0 to 1, that outbound policies review in the background.",
  policyPieceMs:
    "Time after which an engine of a policy is asked about the text of a stream that has not come to the end of a sentence.",
  revokedGraceMs:
    "Time that streams, sockets and realtime may go on after their credential was revoked; to their end if absent.",
  maxOpenExchanges: "Maximum open exchanges of one process; further ones are refused with `rate_limited`.",
  backgroundResponses:
    "Maximum responses of one application or person that run in the background at a time; further ones are refused with `rate_limited`.",
  batchCalls: "Calls for requests of batches that a node makes at a time.",
  fileUploads:
    "Maximum uploads of files of one application or person at a time; further ones are refused with `rate_limited`.",
  conversations:
    "Maximum conversations of one application or person, and of each end user; further ones are refused with `bad_request`.",
  orgConversations:
    "Maximum conversations of one organisation, which each node counts once a minute; further ones are refused with `bad_request`.",
  shedLagMs: "Event loop lag above which calls are refused with `rate_limited`.",
  shedWaitMs: "Average wait for a hold above which calls are refused; it also bounds how many may wait.",
  lameDuckMs:
    "Time that new calls are served after SIGTERM, while `/readyz` fails: the time in which balancers find out. Absent: 5 s, and none in development.",
  drainTimeoutMs: "Time that running exchanges may continue after that.",
  leaseMs:
    "Time that holds, allotments and claims of a killed node stay; then another node settles them or takes them back.",
  checkpointMs: "Interval at which leases are renewed and checkpoints written; well below three quarters of the lease.",
  settlePatienceMs: "Time that a settlement is retried before it goes to the journal in the data directory.",
  replyAfter:
    "The time when a reply goes to its client: `settled`, when its settlement is in the database, or `journaled`, when it is in the journal in the data directory, which must outlive the process; the database follows.",
  retentionDays: "Time that usage records are kept, in days.",
  booksKeptDays:
    "Number of days after the end of a month after which its transfers are closed; if absent, they are kept.",
  spentIdsKeptDays: "Time that spent request ids are kept, in days; at least as long as replies are stored, and a day.",
  idempotencyTtlS: "Time that finished replies are stored for replay, in seconds.",
  authStaleMs: "Time that a known key stays valid while the database does not answer.",
  tenantCacheBytes: "Memory for tenants that were active: organisations, applications and keys.",
  bodyMaxBytes: "Maximum size of a request body, before and after its content encoding is removed.",
  mediaBodyBytes: "Maximum size of a form with files: pictures to change, sound to transcribe.",
  jobTimeoutMs:
    "Time that a job at a vendor, such as a video, may take; then it is ended at its vendor, and its money goes back.",
  mediaDiskBytes: "Disk space below `SVC_DATA_DIR` for files of running calls, of one process.",
  replyCacheBytes: "Memory for replies that are kept for equal requests, if there is no Redis.",
  largeBodyBytes: "Bodies of large requests that may be in memory at once, of one process.",
  replyCacheWaitMs: "Time that a call waits for the store of kept replies; then it calls its vendor.",
  mediaMaxFiles: "Files of running calls, of one process.",
  otlpUrl: "OpenTelemetry collector (OTLP over HTTP), e.g. `http://collector:4318`, for traces, metrics and logs.",
  otlpHeaders: "Headers for the collector, as `name=value` pairs separated by commas.",
  traceRate:
    "Share of calls, 0 to 1, that are traced; of calls that belong to a caller's sampled trace, the same share.",
  logLevel: "The least severe log lines that are written: All, Trace, Debug, Info, Warn, Error, Fatal or None.",
  logFormat: "Lines for people, or JSON for machines.",
}
