/** Examples for the OpenAPI document: whole bodies by schema name, and values by member name. */
import type { Schema } from "effect"
import type { ErrorCode } from "./error.ts"

type Json = Schema.Json

const requestId = "req_3f2b1c0d9e8a47b6a5c4d3e2f1a0b9c8"
const ulid = "01JD8Q4T6ZK3M5N7P9R1S2V4W6"
const instant = "2026-11-21T09:30:00.000Z"
const usage = {
  inTokens: 1200,
  outTokens: 340,
  cacheReadTokens: 800,
  cacheWriteTokens: 0,
  cost: "0.00894",
  balance: "99.99106",
  currency: "USD",
  cacheNetSaving: "0.00216",
}

/** An event of a stream. */
const event = (name: string, data: Json) => ({ event: name, data: JSON.stringify(data) })

const org = { name: "Acme", plan: "team", currency: "USD", models: ["main"] }
const row = { declared: false, status: "active", revision: "42", createdAt: instant, changedAt: instant }
const member = { id: "mem_ada", org: "org_acme", email: "ada@example.com", role: "admin", ...row }

const vendor = { id: "openai", dialect: "openai-responses", baseUrl: "https://api.openai.com/v1" }
const vendorLine = '- { id: openai, dialect: openai-responses, baseUrl: "https://api.openai.com/v1" }'
const model = { handle: "gpt-4o", contextWindow: 128_000, targets: [{ vendor: "openai", model: "gpt-4o" }] }
const price = { model: "gpt-4o", currency: "USD", input: "2.5", output: "10", from: "2027-01-01" }

const job = {
  id: "job_3f2b1c0d9e8a47b6",
  org: "acme",
  kind: "video",
  model: "film",
  target: "openai/sora-2",
  vendorJob: "video_68e1",
  status: "running",
  progress: 40,
  held: "2.4",
  currency: "USD",
  dims: { video_seconds: 8, "video_seconds:1280x720": 8 },
  polls: 5,
  createdAt: "2026-11-24T09:00:00.000Z",
  endsAt: "2026-11-24T10:00:00.000Z",
}

/** Whole bodies by schema name. */
export const examples: Readonly<Record<string, Json>> = {
  Usage: usage,
  UsageEncoded: usage,
  Decimal: "12.5",
  UpstreamKeyRequest: { aws: { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "the-secret" } },
  PolicyList: {
    data: [
      {
        id: "personal",
        direction: "both",
        match: "entities: email, card",
        action: "mask",
        reason: "personal_data",
        parts: ["text", "toolArguments", "toolResults"],
        streams: "enforce",
        waits: { until: "match" },
        forAll: false,
        namedBy: {
          orgs: { count: 1, ids: ["org_acme"] },
          apps: { count: 0, ids: [] },
          keys: { count: 0, ids: [] },
        },
      },
    ],
  },
  PolicyTestRequest: { text: "Write to ada@example.com", org: "org_acme", direction: "inbound" },
  PolicyTestReply: {
    policies: [
      {
        id: "personal",
        direction: "inbound",
        action: "mask",
        reason: "personal_data",
        did: "masked",
        reviewed: "text",
        count: 1,
        findings: [{ start: 9, end: 24, label: "EMAIL" }],
      },
    ],
    masked: "Write to <EMAIL_K7Q2M>",
  },
  KnownVendors: {
    data: [
      { ...vendor, credential: "env:OPENAI_API_KEY", hasKey: true },
      {
        id: "bedrock",
        dialect: "bedrock",
        baseUrl: "https://bedrock-runtime.us-east-1.amazonaws.com",
        aws: { region: "us-east-1", credentials: "default" },
        hasKey: true,
      },
    ],
  },
  ExchangeRequest: {
    model: "main",
    thread: [{ role: "user", blocks: [{ t: "text", v: "What is a weir?" }] }],
    params: { maxTokens: 500, temperature: 0.7 },
    meta: { requestId: ulid, purpose: "chat" },
    stream: false,
  },
  ExchangeResponse: {
    requestId,
    clientRequestId: ulid,
    model: "main",
    blocks: [{ t: "text", v: "A weir regulates and measures a stream.", cacheable: false }],
    stop: "end",
    usage,
  },
  EmbeddingRequest: {
    model: "embed",
    input: ["rivers of Mesopotamia"],
    inputType: "document",
    meta: { requestId: ulid },
  },
  EmbeddingResponse: {
    requestId,
    clientRequestId: ulid,
    model: "embed",
    vectors: [[0.0057, -0.0127, 0.02]],
    dimensions: 3,
    usage: { ...usage, inTokens: 5, outTokens: 0, cacheReadTokens: 0, cost: "0.0000001", cacheNetSaving: "0" },
  },
  RerankRequest: {
    model: "rank",
    query: "Which river is longer?",
    documents: ["The Tigris …", "The Euphrates …"],
    topN: 1,
  },
  RerankResponse: {
    requestId,
    model: "rank",
    results: [{ index: 1, score: 0.87 }],
    usage: {
      ...usage,
      inTokens: 0,
      outTokens: 0,
      cacheReadTokens: 0,
      cost: "0.002",
      cacheNetSaving: "0",
      dims: { searches: 1 },
    },
  },
  ModerationRequest: { model: "moderate", input: ["What is a weir?"] },
  ModerationResponse: {
    requestId,
    model: "moderate",
    results: [{ flagged: false, categories: { violence: false }, scores: { violence: 0.0001 } }],
    usage: { ...usage, inTokens: 5, outTokens: 0, cacheReadTokens: 0, cost: "0", cacheNetSaving: "0" },
  },
  ImageRequest: { model: "draw", prompt: "A weir in a river, from above", size: "1024x1024", quality: "high" },
  ImageResponse: {
    requestId,
    model: "draw",
    images: [{ mime: "image/png", data: "iVBORw0KGgo=" }],
    usage: {
      ...usage,
      inTokens: 12,
      outTokens: 4160,
      cacheReadTokens: 0,
      cost: "0.16646",
      cacheNetSaving: "0",
      dims: { images: 1 },
    },
  },
  SpeechRequest: { model: "say", input: "The water is high today.", voice: "alloy", format: "mp3" },
  TranscriptionRequest: {
    model: "hear",
    file: { t: "file", mime: "audio/wav", name: "memo.wav", data: "UklGRiQAAABXQVZF" },
    format: "verbose",
  },
  TranscriptionResponse: {
    requestId,
    model: "hear",
    text: "The water is high today.",
    language: "english",
    duration: 2.1,
    segments: [{ text: "The water is high today.", start: 0, end: 2.1 }],
    usage: {
      ...usage,
      inTokens: 0,
      outTokens: 0,
      cacheReadTokens: 0,
      cost: "0.0003",
      cacheNetSaving: "0",
      dims: { audio_seconds: 3 },
    },
  },
  VideoRequest: { model: "film", prompt: "Water runs over a weir", seconds: 8, size: "1280x720" },
  VideoJob: {
    id: "job_3f2b1c0d9e8a47b6",
    status: "running",
    model: "film",
    progress: 40,
    createdAt: "2026-11-24T09:00:00.000Z",
    seconds: 8,
    size: "1280x720",
  },
  JobEntry: job,
  JobList: { jobs: [job] },
  HeartbeatRequest: { sessionId: ulid, configVersion: "5d41402abc4b2a76b9719d911017c592", meta: { platform: "linux" } },
  HandshakeRequest: { protocols: ["twp/1"], client: { name: "river", version: "1.0.0" } },
  SearchRequest: { query: "rivers of Mesopotamia", max_results: 5 },
  ApplyRequest: { text: "version: 1\nvendors: []\n", dryRun: true },
  DraftRequest: {
    text: "version: 1\n",
    add: { vendors: [vendor], models: [model], prices: [price], plans: [{ id: "team", concurrency: 100 }] },
  },
  Draft: { text: `version: 1\nvendors:\n  ${vendorLine}\n`, added: [vendorLine], vendors: ["openai"], models: [] },
  OffersRequest: { text: `version: 1\nvendors:\n  ${vendorLine}\n`, provider: "openai", markup: "10%" },
  VendorOffers: {
    listed: 2,
    problem: null,
    offers: [{ model: "gpt-4o", handle: "gpt-4o", entry: model, price, left: [] }],
    unpriced: ["gpt-new"],
  },
  KeyMint: { app: "app_demo", name: "Laptop", scopes: ["runtime"], expiresAt: "2027-01-01" },
  Invitation: { id: "org_acme", name: "Acme", role: "member" },
  OrgCreate: { id: "org_acme", ...org },
  OrgRecord: { id: "org_acme", ...org, ...row },
  OrgUpdate: { plan: "team", policies: null, status: "active" },
  TeamCreate: { org: "org_acme", name: "Research", members: ["mem_ada"], rates: [{ tokens: 200_000, per: "60s" }] },
  MemberCreate: { org: "org_acme", email: "ada@example.com", role: "owner" },
  MemberRecord: member,
  InvitedMember: { ...member, invited: true, mailed: true },
  AppCreate: { org: "org_acme", name: "Website", quota: { rpm: 600 } },
  AppUpdate: { quota: { rpm: 600 }, ipAllow: ["192.0.2.0/24"], status: "active" },
  TenantBatch: {
    items: [
      { op: "create", kind: "org", value: { id: "org_acme", ...org } },
      { op: "create", kind: "app", value: { org: "org_acme" } },
      { op: "update", kind: "org", id: "org_demo", revision: "41", value: { status: "disabled" } },
    ],
  },
  TenantBatchReply: {
    data: [
      { status: 200, id: "org_acme", revision: "42" },
      { status: 200, id: "app_4711", revision: "43" },
      { status: 409, error: { code: "conflict", message: "Somebody else has changed it", detail: { revision: "44" } } },
    ],
  },
  BudgetTerms: { scope: "key", unit: "money", period: "day", limit: "5", warnAt: [0.8] },
  Budget: { id: "key-daily", scope: "key", unit: "money", period: "day", limit: "5", warnAt: [0.8] },
  SettingWrite: { value: "dark", lock: true, enforcement: "shadow", reason: "try out" },
  TierTimesReply: {
    data: [
      {
        vendor: "openai",
        model: "main",
        tier: "ttfb",
        limitMs: 60_000,
        source: "platform.production",
        limits: { production: 60_000, staging: 30_000 },
        buckets: [
          { fromMs: 700, upToMs: 1000, count: 950 },
          { fromMs: 20_000, upToMs: 30_000, count: 1 },
        ],
        ended: 2,
      },
    ],
  },
}

/** Strings, by member name. */
export const words: Readonly<Record<string, string>> = {
  "": "text",
  accessToken: "eyJhbGciOiJFZERTQSJ9…",
  account: "available",
  actorId: "usr_ada",
  amount: "12.5",
  app: "app_demo",
  appId: "app_demo",
  as: "self",
  at: instant,
  baseUrl: "https://llm.example.com/v1",
  changedAt: instant,
  clientEventId: ulid,
  clientName: "weir on river",
  code: "123456",
  configVersion: "5d41402abc4b2a76b9719d911017c592",
  bundleEtag: "5d41402abc4b2a76b9719d911017c592",
  createdAt: instant,
  currency: "USD",
  day: "2026-11-21",
  deviceCode: "dc_8Zq4hZ0YmGJuGQ9LvO",
  dialect: "openai-chat",
  email: "ada@example.com",
  endUserId: "user-4711",
  entry: "models[main]",
  expiresAt: "2027-01-01T00:00:00.000Z",
  features: "platform-audio",
  finding: "a hold has outlived its lease",
  handle: "main",
  hash: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
  head: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
  hint: "cdef",
  id: ulid,
  key: "sk-0123456789abcdef",
  keyId: "key_demo",
  keyPath: "site.theme",
  lastAt: instant,
  licenseStatus: "active",
  linkToken: "lt_8Zq4hZ0YmGJuGQ9LvO",
  message: "a description of the error",
  model: "main",
  models: "main",
  modelHandle: "main",
  modelId: "gpt-5",
  name: "Demo",
  nextCursor: "WyIxNzYzNzE4NjAwMDAwMDAwIiwicmVxXzEiXQ",
  // Must be within the range of OccurredAt.
  occurredAt: `${new Date().toISOString().slice(0, 10)}T00:00:00.000Z`,
  org: "org_demo",
  orgId: "org_demo",
  from: instant,
  to: instant,
  formerUntil: instant,
  lastUsedAt: instant,
  madeBy: "user:usr_ada",
  per: "60s",
  raise: "12.5",
  plan: "team",
  protocol: "twp/1",
  protocols: "twp/1",
  purpose: "chat",
  query: "rivers",
  reason: "try out",
  ref: requestId,
  refreshToken: "rt_8Zq4hZ0YmGJuGQ9LvO",
  requestId,
  revision: "42",
  secret: "wk_0123456789abcdef",
  serverTime: instant,
  sessionId: ulid,
  snippet: "The Tigris and the Euphrates …",
  source: "gateway",
  stop: "end",
  team: "team_river",
  text: "ready",
  title: "Rivers",
  token: "wt_8Zq4hZ0YmGJuGQ9LvO",
  updatedAt: instant,
  url: "https://example.com/rivers",
  userCode: "BDWP-HQPK",
  v: "Hello, river",
  vendor: "openai",
  verificationUri: "https://weir.example.com/activate",
  verificationUriComplete: "https://weir.example.com/activate?code=BDWP-HQPK",
}

/** Numbers, by member name. */
export const numbers: Readonly<Record<string, number>> = {
  expiresIn: 900,
  interval: 5,
  retryAfterMs: 1000,
  ttlSeconds: 3600,
  rpm: 600,
  bodyMaxBytes: 33_554_432,
  streamHeartbeatMs: 15_000,
  sessionWindowMs: 300_000,
  usageEventsMax: 200,
  searchResultsMax: 20,
  codeExpiresInDays: 30,
  contextWindow: 128_000,
  maxOutput: 8192,
  millis: 466,
  firstFrameMs: 59,
}

/** Events of streams, by the schema of one event: its data is JSON as text. */
export const exampleEvents: Readonly<
  Record<string, ReadonlyArray<{ readonly id?: string; readonly event: string; readonly data: string }>>
> = {
  ExchangeEvent: [
    event("t.open", { requestId, clientRequestId: ulid, model: "main", protocol: "twp/1" }),
    event("t.delta", { i: 0, t: "text", v: "A weir " }),
    event("t.delta", { i: 0, t: "text", v: "regulates a stream." }),
    event("t.usage", usage),
    event("t.close", { stop: "end", usage }),
  ].map((sent, id) => ({ id: String(id), ...sent })),
  ApplyEvent: [
    event("progress", { step: "reading", done: 0, total: 0 }),
    event("progress", { step: "storing", done: 1000, total: 4000 }),
    event("result", { revision: "7", changes: [], dropped: [], minted: [], credited: [], warnings: [] }),
  ],
}

/** Messages and details of errors. */
export const errorDetails: Readonly<Partial<Record<ErrorCode, { readonly message: string; readonly detail?: Json }>>> =
  {
    admin_key_invalid: { message: "The admin key is not valid" },
    app_disabled: { message: "The application is disabled" },
    app_ip_denied: { message: "The application does not accept calls from this address" },
    app_key_invalid: { message: "The application key is not valid" },
    bad_request: {
      message: "thread: is required",
      detail: { issues: [{ path: "thread", message: "is required" }] },
    },
    content_blocked: { message: "A safety policy denied the content", detail: { reason: "secret_material" } },
    context_window_exceeded: { message: "The prompt and maxTokens exceed the model's context window" },
    egress_blocked: { message: "The address is not allowed", detail: { reason: "private_address" } },
    idempotency_conflict: { message: "This requestId has already been billed", detail: { replayable: false } },
    insufficient_balance: { message: "The balance does not cover this request" },
    internal_error: { message: "The service could not complete the request", detail: { retryable: true } },
    model_not_authorized: { message: "This model is not available to the caller" },
    nonce_replayed: { message: "The nonce was used within the last 600 seconds" },
    not_found: { message: "The resource does not exist" },
    payload_too_large: { message: "The body is larger than 33554432 bytes" },
    plan_concurrency_exceeded: { message: "The plan has no room for another session" },
    plan_gate_unavailable: { message: "Admission is temporarily unavailable" },
    quota_exceeded: {
      message: "A budget of tokens does not cover this request",
      detail: {
        scope: "org",
        subject: "org_demo",
        unit: "tokens",
        period: "day",
        limit: 1_000_000,
        used: 1_000_000,
        resetAt: "2026-11-21T16:00:00.000Z",
      },
    },
    rate_limited: { message: "Too many requests", detail: { scope: "app", limit: 600 } },
    section_not_deliverable: { message: "Clients do not consume this setting", detail: { reason: "unknown_leaf" } },
    session_archived: { message: "This session has ended", detail: { sessionId: ulid } },
    signature_invalid: { message: "x-svc-sign does not match the request" },
    stream_backpressure: { message: "The client did not read its stream in time" },
    upstream_connect_timeout: {
      message: "The upstream exceeded the connect timeout",
      detail: { tier: "connect", timeoutMs: 10_000 },
    },
    upstream_disconnected: { message: "The upstream closed the connection" },
    upstream_error: { message: "The upstream rejected the request", detail: { upstreamStatus: 500 } },
    upstream_idle_timeout: {
      message: "The upstream exceeded the idle timeout",
      detail: { tier: "idle", timeoutMs: 90_000 },
    },
    upstream_total_timeout: {
      message: "The upstream exceeded the total timeout",
      detail: { tier: "total", timeoutMs: 3_600_000 },
    },
    upstream_ttfb_timeout: {
      message: "The upstream exceeded the ttfb timeout",
      detail: { tier: "ttfb", timeoutMs: 120_000 },
    },
    websearch_quota_exceeded: { message: "The daily web search quota is used up", detail: { limit: 100, used: 100 } },
  }
