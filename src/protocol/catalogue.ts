/**
 * The catalogue: the operators' declarative configuration in one YAML file. Prices are per million tokens, as strings.
 */
import { Schema } from "effect"
import { ExportFormat, ExportRecords, ExportTarget } from "./control/export.ts"
import { ModelReplyCache, OrgReplyCache } from "./control/reply-cache.ts"
import { platformEvents, WebhookForm } from "./control/webhook.ts"
import { ServiceTier } from "./extra-params.ts"
import { hostedUnits } from "./hosted-unit.ts"
import { ModelKind } from "./kinds/call-kind.ts"
import { sizeForm } from "./kinds/image.ts"
import { videoSizeForm } from "./kinds/video.ts"
import { isTier, type TimeoutSettings, tiers } from "./timeout-tiers.ts"
import { Currency } from "./usage.ts"
import { NonNegative, PerMinute, TokenCount, TokenLimit } from "./values/bounds.ts"
import { Millis } from "./values/duration.ts"
import { Instant } from "./values/instant.ts"
import { referenceForms, referencePattern } from "./values/secret-ref.ts"
import { storedName } from "./values/text.ts"

export const Id = Schema.String.check(Schema.isPattern(/^[A-Za-z0-9][A-Za-z0-9_.:/-]{0,63}$/))
const Int = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000_000_000 }))
const Positive = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000_000_000 }))
const optional = Schema.optionalKey

/** The tiers in the order in which a call passes them. */
export const Tier = Schema.Literals(tiers)

/** The four timeout tiers of an upstream call, in milliseconds. */
const TimeoutTiers = Schema.Struct({
  connect: optional(Millis),
  ttfb: optional(Millis),
  idle: optional(Millis),
  total: optional(Millis),
})

/** Tiers for every environment, and tiers of one environment (`SVC_ENV`) below its name. */
const TimeoutsOfPlace = Schema.Record(
  Schema.String,
  Schema.Union([Millis, TimeoutTiers]).annotate({ expected: "a duration such as 60s, or tiers: { ttfb: 60s }" }),
).check(
  Schema.makeFilter((settings: TimeoutSettings) =>
    Object.entries(settings).flatMap(([name, value]) => {
      if (isTier(name)) return typeof value === "number" ? [] : [{ path: [name], issue: `${name} is a duration` }]
      if (typeof value === "object") return []
      return [{ path: [name], issue: `no tier (${tiers.join(", ")}); an environment has tiers: { ttfb: 60s }` }]
    }),
  ),
)

/** A reference to a secret. A catalogue never contains the secret itself. */
export const SecretRef = Schema.String.check(
  Schema.isPattern(new RegExp(`^(${referencePattern})$`), { expected: referenceForms }),
)

/** Certificates, or a reference to them. They are no secret, so the catalogue may contain them. */
const Certificates = Schema.String.check(
  Schema.isPattern(new RegExp(`^(${referencePattern}|-----BEGIN CERTIFICATE-----[\\s\\S]+)$`), {
    expected: `certificates in PEM, or ${referenceForms}`,
  }),
  Schema.isMaxLength(65_536),
)

const network = {
  /** A proxy as a URL without a password, or a reference to a URL with one; `none` for none at all. */
  proxy: optional(
    Schema.String.check(
      Schema.isPattern(new RegExp(`^(none|${referencePattern}|https?://[^\\s/?#@]+/?)$`), {
        expected: `none, an http(s) URL without a password, or ${referenceForms}`,
      }),
    ),
  ),
  tls: optional(
    Schema.Struct({
      /** Certificate authorities in addition to the machine's. */
      ca: optional(Certificates),
      /** A client certificate with its chain, and its key. */
      cert: optional(Certificates),
      key: optional(SecretRef),
    }),
  ),
}

/** How connections to an address are made, where it differs from the machine's way. */
const NetworkFields = Schema.Struct(network)
export type NetworkFields = typeof NetworkFields.Type

const HttpUrl = Schema.String.check(Schema.isPattern(/^https?:\/\/[^\s?#]+$/, { expected: "an http(s) URL" }))

export const DialectName = Schema.Literals([
  "openai-chat",
  "openai-responses",
  "anthropic",
  "gemini",
  "cohere",
  "bedrock",
  "voyage",
  "elevenlabs",
  "deepgram",
])
export type DialectName = typeof DialectName.Type
/** Dialects that have chat. */
type WithoutChat = "voyage" | "elevenlabs" | "deepgram"
const withoutChat: ReadonlySet<DialectName> = new Set<WithoutChat>(["voyage", "elevenlabs", "deepgram"])

export const chatDialectNames = DialectName.literals.filter(
  (name): name is Exclude<DialectName, WithoutChat> => !withoutChat.has(name),
)
export type ChatDialectName = (typeof chatDialectNames)[number]

/** The vendor's variant of `openai-chat`; `azure` is allowed for `openai-responses` too. */
export const ChatProfileName = Schema.Literals([
  "openai",
  "azure",
  "generic",
  "deepseek",
  "qwen",
  "moonshot",
  "mistral",
  "groq",
  "xai",
  "openrouter",
  "ollama",
  "vllm",
  "zai",
  "cerebras",
  "perplexity",
  "together",
  "fireworks",
  "nvidia",
  "sambanova",
  "huggingface",
  "github",
  "cloudflare",
  "novita",
  "lmstudio",
  "llamacpp",
  "databricks",
  "watsonx",
])
export type ChatProfileName = typeof ChatProfileName.Type

/** `vertex` is Google's cloud, for `gemini` and `anthropic`; `bedrock` is Amazon's, for `anthropic` in its own words. */
export const VendorProfile = Schema.Literals([...ChatProfileName.literals, "vertex", "bedrock"])
export type VendorProfile = typeof VendorProfile.Type

/** What the gateway's machine has: variables, files, web identity, metadata of a container or an instance. */
const MachineIdentity = Schema.Literal("default")

/**
 * How requests to Amazon Bedrock are signed: with access keys, or with what the machine has, as themselves or in a role;
 * without either, `credential` is a Bedrock API key.
 */
export const AwsAccess = Schema.Struct({
  region: Schema.String.check(
    Schema.isPattern(/^[a-z]{2,8}(-[a-z]{1,12}){1,3}-\d{1,2}$/, { expected: "a region, e.g. us-east-1" }),
  ),
  accessKeyId: optional(SecretRef),
  secretAccessKey: optional(SecretRef),
  /** Of keys for a limited time. */
  sessionToken: optional(SecretRef),
  credentials: optional(MachineIdentity),
  /** The ARN of a role that is assumed. */
  assumeRole: optional(
    Schema.String.check(
      Schema.isPattern(/^arn:aws[a-z-]*:iam::\d{12}:role\/[\w+=,.@/-]{1,512}$/, { expected: "the ARN of a role" }),
    ),
  ),
  /** What the role's trust policy may ask for. */
  externalId: optional(Schema.String.check(Schema.isPattern(/^[\w+=,.@:/-]{2,1224}$/))),
})
export type AwsAccess = typeof AwsAccess.Type

const CloudName = Schema.String.check(
  Schema.isPattern(/^[a-z0-9][a-z0-9.:-]{0,62}$/, { expected: "a name of the cloud" }),
)

/**
 * A project on Vertex AI, and the JSON of a service account or of a federation, or what the machine has; without it,
 * `credential` is a token.
 */
export const GoogleAccess = Schema.Struct({
  project: CloudName,
  location: CloudName,
  credentials: optional(Schema.Union([MachineIdentity, SecretRef])),
})
export type GoogleAccess = typeof GoogleAccess.Type

/**
 * An application of Microsoft Entra that may call a resource on Azure, or what the machine has; without either,
 * `credential` is an API key.
 */
export const AzureAccess = Schema.Struct({
  credentials: optional(MachineIdentity),
  tenantId: optional(
    Schema.String.check(Schema.isPattern(/^[A-Za-z0-9][A-Za-z0-9.-]{0,127}$/, { expected: "a tenant" })),
  ),
  /** With `credentials: default`, one of several managed identities. */
  clientId: optional(Schema.NonEmptyString.check(Schema.isMaxLength(128))),
  clientSecret: optional(SecretRef),
  /** Where Entra is; a national cloud has its own. */
  authorityHost: optional(HttpUrl),
})
export type AzureAccess = typeof AzureAccess.Type

export const Vendor = Schema.Struct({
  id: Id,
  dialect: DialectName,
  profile: optional(VendorProfile),
  /** Azure's `api-version`: calls then use the deployment's path; without it, Azure's `/openai/v1`. */
  apiVersion: optional(Schema.String.check(Schema.isPattern(/^[\w.-]{1,32}$/))),
  /** Follows from the region or the location of a cloud where it is absent. */
  baseUrl: optional(HttpUrl),
  credential: optional(SecretRef),
  aws: optional(AwsAccess),
  google: optional(GoogleAccess),
  azure: optional(AzureAccess),
  ...network,
  timeouts: optional(TimeoutsOfPlace),
  weight: optional(Int),
  /** What happens upstream when a client leaves a stream: abort, or drain for the exact usage. */
  clientGone: optional(Schema.Literals(["abort", "drain"])),
  /** Ids of a client's own users in requests of this vendor's API: as they are, as a hash (the default), or not at all. */
  endUser: optional(Schema.Literals(["carry", "hash", "drop"])),
  /** Fields of this vendor's API that the gateway does not know: carried (the default), or refused. */
  newFields: optional(Schema.Literals(["carry", "refuse"])),
  /**
   * Tools that this vendor runs and bills beside its tokens, in requests of its own API: as the organisation says where no price
   * names them (the default), or carried, at the operator's cost.
   */
  hostedTools: optional(Schema.Literals(["omit", "carry"])),
})
export type Vendor = typeof Vendor.Type

/** A vendor whose address is known. */
export interface AddressedVendor extends Vendor {
  readonly baseUrl: string
}

const Range = Schema.Struct({
  default: optional(Schema.Finite),
  min: optional(Schema.Finite),
  max: optional(Schema.Finite),
  /** Never send this parameter to the vendor. */
  strip: optional(Schema.Boolean),
})

/** Whether the vendor never gets it. */
const Strip = Schema.Struct({ strip: Schema.Boolean })

/** How the server strips or clamps the caller's parameters. */
export const ParamsProfile = Schema.Struct({
  maxTokens: optional(Schema.Struct({ default: optional(TokenLimit), max: optional(TokenLimit) })),
  temperature: optional(Range),
  topP: optional(Range),
  stop: optional(Strip),
  reasoning: optional(Strip),
  frequencyPenalty: optional(Range),
  presencePenalty: optional(Range),
  topK: optional(Range),
  minP: optional(Range),
  logprobs: optional(Range),
  n: optional(Range),
  seed: optional(Strip),
  logitBias: optional(Strip),
  verbosity: optional(Strip),
  serviceTier: optional(Strip),
  prediction: optional(Strip),
  stopTokens: optional(Strip),
  /** Such as OpenRouter's choice of a provider, which the vendor may bill dearer. */
  vendorOptions: optional(Strip),
})
export type ParamsProfile = typeof ParamsProfile.Type

export const Capability = Schema.Literals(["tools", "images", "files", "videos", "audio", "reasoning", "cache"])
export type Capability = typeof Capability.Type

export const Target = Schema.Struct({
  vendor: Id,
  model: Schema.NonEmptyString,
  /** The model as its maker names it, e.g. `gpt-image-1`, where `model` is a name of the operator's: a deployment or an endpoint. */
  family: optional(Schema.NonEmptyString),
  /** Texts that the vendor embeds at once, where it takes fewer than its profile says. */
  maxInputs: optional(Positive),
  tier: optional(Int),
  weight: optional(Int),
})
export type Target = typeof Target.Type

export const Model = Schema.Struct({
  handle: Id,
  /** What it is called for; `chat` if absent. */
  kind: optional(ModelKind),
  mode: optional(Schema.Literals(["platform", "direct"])),
  contextWindow: optional(TokenLimit),
  /**
   * How far a vendor's counts may exceed the context window or the tokens asked for, as a factor, 2 if absent;
   * counts beyond are not believed but estimated.
   */
  usageMargin: optional(Schema.Finite.check(Schema.isBetween({ minimum: 1, maximum: 10 }))),
  maxOutput: optional(TokenLimit),
  capabilities: optional(Schema.Array(Capability)),
  params: optional(ParamsProfile),
  timeouts: optional(TimeoutsOfPlace),
  /** For how long replies are kept and given again to equal requests, at most 24h; not at all if absent. */
  replyCache: optional(ModelReplyCache),
  /** Whether the next target is asked too if one refuses a request for what it has, such as a parameter. */
  tryNext: optional(Schema.Boolean),
  /** In failover order. A model of mode `direct` is never called by Weir and needs none. */
  targets: optional(Schema.Array(Target)),
}).check(
  Schema.makeFilter(({ mode, targets }: { readonly mode?: string; readonly targets?: ReadonlyArray<unknown> }) =>
    mode === "direct" || (targets !== undefined && targets.length > 0)
      ? undefined
      : { path: ["targets"], issue: "at least one target is required" },
  ),
)
export type Model = typeof Model.Type

/** The form of a size in price lists, which have one spelling: `4K`. */
const inPrices = (form: string): string => form.replaceAll("[kK]", "K")

/**
 * Dimensions that can have their own price. The price of a picture may be that of its size and quality, the price of a
 * video that of its size: the most exact name counts.
 */
export const PricedDimension = Schema.String.check(
  Schema.isPattern(
    new RegExp(
      `^(reasoning|audio_in|audio_out|image_in|cache_read_audio|${hostedUnits.join("|")}|searches|characters|audio_seconds|transcript_in|transcript_out|images(:${inPrices(sizeForm)}(:[a-z]{1,32})?)?|video_seconds(:${inPrices(videoSizeForm)})?)$`,
    ),
  ),
).annotate({
  description: "A dimension of usage, such as `characters`, `images:1024x1024:high` or `video_seconds:1280x720`",
})

/** A decimal from 0 to 1. */
const Share = Schema.String.check(
  Schema.isPattern(/^(0(\.\d{1,10})?|1(\.0{1,10})?)$/, { expected: "a decimal from 0 to 1" }),
)

/** Dimensions whose price can depend on how long the input is: those that are tokens. */
const PricedTokens = Schema.String.check(
  Schema.isPattern(/^(reasoning|audio_in|audio_out|image_in|cache_read_audio)$/, { expected: "a dimension of tokens" }),
)

const tokenPrices = {
  input: optional(NonNegative),
  output: optional(NonNegative),
  cacheRead: optional(NonNegative),
  cacheWrite: optional(NonNegative),
  cacheWrite1h: optional(NonNegative),
}

/** Factors of the prices of tokens by service tier, e.g. `{ priority: "2", flex: "0.5" }`. */
const TierFactors = Schema.Record(ServiceTier, NonNegative)

/**
 * The prices of a call whose input has more than `tokens` tokens, read from a cache and written to one included. What is absent
 * is as below the threshold.
 */
export const PriceAbove = Schema.Struct({
  tokens: TokenLimit,
  ...tokenPrices,
  dims: optional(Schema.Record(PricedTokens, NonNegative)),
  tiers: optional(TierFactors),
})
export type PriceAbove = typeof PriceAbove.Type

export const PriceEntry = Schema.Struct({
  model: Id,
  currency: Currency,
  /** `chat` needs `input` and `output`; other kinds need the price by which they are billed. */
  ...tokenPrices,
  dims: optional(Schema.Record(PricedDimension, NonNegative)),
  tiers: optional(TierFactors),
  /** Prices of long inputs, by rising thresholds; all of a call is billed at one of them. */
  above: optional(Schema.Array(PriceAbove).check(Schema.isMinLength(1), Schema.isMaxLength(8))),
  /** The share of the price that a reply from the cache costs, e.g. `"0.1"`; nothing if absent. */
  cachedReply: optional(Share),
  from: Instant,
})
export type PriceEntry = typeof PriceEntry.Type

export const SearchProvider = Schema.Struct({
  id: Id,
  name: Schema.NonEmptyString,
  vendor: Id,
  baseUrl: HttpUrl,
  credential: optional(SecretRef),
  ...network,
  pricePerCall: NonNegative,
  currency: Currency,
  cost: optional(NonNegative),
  weight: optional(Int),
  maxResultsCap: optional(Positive),
  timeout: optional(Millis),
  active: optional(Schema.Boolean),
})

export type SearchProvider = typeof SearchProvider.Type

/** Shares of a limit at which a warning is given, once a period, e.g. `[0.8]`. */
export const WarnAt = Schema.Array(
  Schema.Number.check(Schema.isBetween({ minimum: 0.01, maximum: 1 }), Schema.isMultipleOf(0.01)),
).check(Schema.isMaxLength(5))

export const Plan = Schema.Struct({
  id: Id,
  concurrency: optional(Positive),
  perMinute: optional(PerMinute),
  endUserPerMinute: optional(PerMinute),
  /** Held as a budget of the organisation. */
  dailyTokens: optional(TokenLimit),
  /** Thresholds of `dailyTokens`. */
  warnAt: optional(WarnAt),
  /** How many members an organisation may have. */
  maxMembers: optional(Positive),
  maxApps: optional(Positive),
  /** Calls of each kind in a day, of the organisation and of each of its end users. */
  websearchDaily: optional(Int),
  endUserWebsearchDaily: optional(Int),
  imagegenDaily: optional(Int),
  endUserImagegenDaily: optional(Int),
  ttsDaily: optional(Int),
  endUserTtsDaily: optional(Int),
  asrDaily: optional(Int),
  endUserAsrDaily: optional(Int),
  videogenDaily: optional(Int),
  endUserVideogenDaily: optional(Int),
  testTier: optional(Schema.Boolean),
})
export type Plan = typeof Plan.Type

/** An endpoint with the API of OpenAI's moderations, at `{baseUrl}/moderations`. */
export const Moderation = Schema.Struct({
  baseUrl: HttpUrl,
  credential: optional(SecretRef),
  model: optional(Schema.NonEmptyString),
  /** Categories that deny; if absent, whatever the endpoint flags. */
  categories: optional(Schema.Array(Schema.NonEmptyString).check(Schema.isMinLength(1))),
  /** 3 seconds if absent. */
  timeout: optional(Millis),
  /** The verdict if the endpoint does not answer; `deny` if absent. */
  onFailure: optional(Schema.Literals(["allow", "deny"])),
})

export const Policy = Schema.Struct({
  id: Id,
  direction: Schema.Literals(["inbound", "outbound"]),
  match: Schema.Union([
    /** RE2 syntax. */
    Schema.Struct({ regex: Schema.NonEmptyString }),
    /** Substrings, independent of case. */
    Schema.Struct({ keywords: Schema.Array(Schema.NonEmptyString).check(Schema.isMinLength(1)) }),
    Schema.Struct({ moderation: Moderation }),
  ]),
  reason: Schema.String.check(Schema.isPattern(/^[a-z][a-z0-9_]{0,63}$/)),
})

export type Policy = typeof Policy.Type

export const Role = Schema.Literals(["owner", "admin", "member"])
export type Role = typeof Role.Type

const MailDomains = Schema.Array(
  Schema.String.check(Schema.isPattern(/^[a-z0-9-]+(\.[a-z0-9-]+)+$/, { expected: "a domain in lower case" })),
).check(Schema.isMinLength(1))

const ClaimName = Schema.String.check(Schema.isPattern(/^[\w.:/-]{1,256}$/, { expected: "the name of a claim" }))

/** An organisation's own identity provider. Source: OpenID Connect Core 1.0. */
export const SsoProvider = Schema.Struct({
  /** HTTPS; the rest is discovered at `/.well-known/openid-configuration`. */
  issuer: Schema.String.check(Schema.isPattern(/^https:\/\/[^\s?#]+$/, { expected: "an https URL" })),
  clientId: Schema.NonEmptyString,
  /** Absent for a public client, which uses PKCE only. */
  clientSecret: optional(SecretRef),
  /** Mail domains that the provider may assert, beside `trustDomains`; all if both are absent. */
  domains: optional(MailDomains),
  /** Mail domains that belong to the provider's owner: an address there needs no mailed code. */
  trustDomains: optional(MailDomains),
  /** Whether somebody with an address in `trustDomains` who is not a member becomes one at the first login. */
  createPeople: optional(Schema.Boolean),
  /** The claim that has the address, e.g. `preferred_username`; `email` if absent. Needs `domains` or `trustDomains`. */
  emailClaim: optional(ClaimName),
  /** The claim that has the names or ids of a person's groups. */
  groupsClaim: optional(ClaimName),
  /** The role that a group gives, or the team to whose members it belongs, by the group's name or id. */
  groups: optional(Schema.Record(Schema.NonEmptyString.check(Schema.isMaxLength(256)), Schema.Union([Role, Id]))),
  /** Scopes that are asked for beside `openid` and `email`. */
  scopes: optional(
    Schema.Array(Schema.String.check(Schema.isPattern(/^[\x21\x23-\x5b\x5d-\x7e]{1,128}$/, { expected: "a scope" }))),
  ),
  /** Addresses of the organisation's back ends to which a login may return with a code. */
  returnTo: optional(Schema.Array(HttpUrl)),
}).check(
  Schema.makeFilter((provider: SsoSettings) => {
    const { domains, trustDomains, emailClaim, createPeople, groups, groupsClaim } = provider
    if (emailClaim !== undefined && domains === undefined && trustDomains === undefined) {
      return { path: ["emailClaim"], issue: "needs domains or trustDomains: nothing verifies such an address" }
    }
    if (createPeople === true && trustDomains === undefined) {
      return { path: ["createPeople"], issue: "needs trustDomains" }
    }
    return groups !== undefined && groupsClaim === undefined
      ? { path: ["groups"], issue: "needs groupsClaim" }
      : undefined
  }),
)
/** Settings of a provider that depend on each other. */
interface SsoSettings {
  readonly domains?: ReadonlyArray<string>
  readonly trustDomains?: ReadonlyArray<string>
  readonly emailClaim?: string
  readonly createPeople?: boolean
  readonly groupsClaim?: string
  readonly groups?: Readonly<Record<string, string>>
}
export type SsoProvider = typeof SsoProvider.Type

export const Org = Schema.Struct({
  id: Id,
  name: Schema.NonEmptyString,
  plan: optional(Id),
  currency: Currency,
  /** A balance below which `balance.low` is told. */
  warnBelow: optional(NonNegative),
  models: Schema.Array(Id),
  policies: optional(Schema.Array(Id)),
  capabilities: optional(Schema.Record(Schema.String, Schema.Boolean)),
  /**
   * Tools that vendors run and that a request cannot have, because its vendor has none or no price names them: a call is refused
   * by their names, or goes on without them, and its client is told. If absent, it is refused where no vendor of the model has them
   * and it offers no other tools, as agents do.
   */
  hostedTools: optional(Schema.Literals(["refuse", "omit"])),
  /** Handles by the names that existing clients insist on; a trailing `*` matches any rest. */
  aliases: optional(Schema.Record(Schema.String.check(Schema.isPattern(/^[^*]{0,128}\*?$/)), Id)),
  sso: optional(SsoProvider),
  /** Wins over that of models: how long replies are kept for this organisation, and who shares them. */
  replyCache: optional(OrgReplyCache),
})
export type Org = typeof Org.Type

export const User = Schema.Struct({
  id: Id,
  email: Schema.String.check(Schema.isPattern(/^[^\s@]+@[^\s@]+$/)),
  org: Id,
  role: Role,
})

export const Team = Schema.Struct({ id: Id, org: Id, members: Schema.Array(Id), disabled: optional(Schema.Boolean) })

export const App = Schema.Struct({
  id: Id,
  org: Id,
  quota: optional(Schema.Struct({ rpm: optional(PerMinute) })),
  requireSignature: optional(Schema.Boolean),
  /** Addresses or networks (CIDR); empty or absent allows all. */
  ipAllow: optional(Schema.Array(Schema.NonEmptyString)),
  licenceRequired: optional(Schema.Boolean),
  disabled: optional(Schema.Boolean),
})
export type App = typeof App.Type

export const KeyScope = Schema.Literals(["runtime", "control"])
export type KeyScope = typeof KeyScope.Type

export const Key = Schema.Struct({
  id: Id,
  app: Id,
  /** If absent, a secret is minted when the key is first applied, and returned once. */
  secret: optional(SecretRef),
  scopes: optional(Schema.Array(KeyScope)),
  expiresAt: optional(Instant),
  disabled: optional(Schema.Boolean),
})

export const BudgetScope = Schema.Literals(["org", "team", "person", "app", "key", "endUser"])
export type BudgetScope = typeof BudgetScope.Type

/** Tokens, or money of the organisation's currency, counted in full. */
export const BudgetUnit = Schema.Literals(["money", "tokens"])
export type BudgetUnit = typeof BudgetUnit.Type

/** In UTC+8; weeks begin on Monday, months on the first. */
export const BudgetPeriod = Schema.Literals(["day", "week", "month"])
export type BudgetPeriod = typeof BudgetPeriod.Type

/** Without colons: it is a part of its counters' names. */
export const BudgetId = Id.check(Schema.isPattern(/^[^:]+$/, { expected: "an id without colons" }))

/** What a subject may spend in a period; without a subject it holds for each of its scope. */
export const BudgetTerms = Schema.Struct({
  scope: BudgetScope,
  subject: optional(storedName(128)),
  unit: BudgetUnit,
  period: BudgetPeriod,
  /** A decimal string; tokens may be a number. */
  limit: Schema.Union([NonNegative, TokenCount]),
  /** `shadow` refuses nothing, and counts what it would refuse; `enforce` if absent. */
  mode: optional(Schema.Literals(["enforce", "shadow"])),
  /** Where the organisation is warned. */
  warnAt: optional(WarnAt),
}).annotate({ identifier: "BudgetTerms" })
export type BudgetTerms = typeof BudgetTerms.Type

export const Budget = Schema.Struct({ id: BudgetId, ...BudgetTerms.fields }).annotate({ identifier: "Budget" })
export type Budget = typeof Budget.Type

/** An address, or a reference to one: those of Slack and Teams are secrets. */
const ReceiverUrl = Schema.String.check(
  Schema.isPattern(new RegExp(`^(${referencePattern}|https?://[^\\s#]+)$`), {
    expected: `an http(s) URL, or ${referenceForms}`,
  }),
)

/** Where events of the platform and of all its organisations are sent. */
export const Webhook = Schema.Struct({
  id: Id,
  /** `weir` if absent. */
  form: optional(WebhookForm),
  /** Only PagerDuty has an address that everybody knows. */
  url: optional(ReceiverUrl),
  /** For Weir's form `whsec_` and the base64 of 24 to 64 bytes (Standard Webhooks); for PagerDuty a routing key. */
  secret: optional(SecretRef),
  /** The secret before this one, while receivers change to the new one: deliveries carry the signatures of both. */
  formerSecret: optional(SecretRef),
  events: platformEvents,
  ...network,
}).check(
  Schema.makeFilter(({ form = "weir", url, secret, formerSecret }: ReceiverSettings) => {
    const hasSecret = form === "weir" || form === "pagerduty"
    return [
      ...(url === undefined && form !== "pagerduty" ? [{ path: ["url"], issue: "is required" }] : []),
      ...(secret === undefined && hasSecret ? [{ path: ["secret"], issue: `is required for the form ${form}` }] : []),
      ...(secret !== undefined && !hasSecret
        ? [
            {
              path: ["secret"],
              issue: `has no use: of the form ${form} the address is the secret; name it as url: env:NAME`,
            },
          ]
        : []),
      ...(formerSecret !== undefined && form !== "weir"
        ? [{ path: ["formerSecret"], issue: `has no use with the form ${form}` }]
        : []),
    ]
  }),
)
/** Settings of a webhook that depend on each other. */
interface ReceiverSettings {
  readonly form?: WebhookForm
  readonly url?: string
  readonly secret?: string
  readonly formerSecret?: string
}
export type Webhook = typeof Webhook.Type

/** Access keys at AWS, with or without a role; a role, for what the machine has; an application of Microsoft Entra. */
const ExportKeys = Schema.Struct({
  accessKeyId: optional(SecretRef),
  secretAccessKey: optional(SecretRef),
  sessionToken: AwsAccess.fields.sessionToken,
  assumeRole: AwsAccess.fields.assumeRole,
  externalId: AwsAccess.fields.externalId,
  tenantId: AzureAccess.fields.tenantId,
  clientId: AzureAccess.fields.clientId,
  clientSecret: AzureAccess.fields.clientSecret,
  authorityHost: AzureAccess.fields.authorityHost,
})

/** Where records are written in files, and how often. */
export const Export = Schema.Struct({
  id: Id,
  to: ExportTarget,
  /** Of an S3 bucket. */
  region: optional(AwsAccess.fields.region),
  /** Where the bucket is, if not at AWS, Google or Azure. */
  endpoint: optional(HttpUrl),
  /** What the machine has, keys, or the JSON of a service account at Google. */
  credentials: optional(Schema.Union([MachineIdentity, SecretRef, ExportKeys])),
  format: ExportFormat,
  /** `usage` if absent. */
  records: optional(Schema.Array(ExportRecords).check(Schema.isMinLength(1), Schema.isUnique())),
  every: Millis.check(
    Schema.isBetween({ minimum: 1000, maximum: 86_400_000 }, { expected: "a duration from 1s to 24h" }),
  ),
  /** Folders for organisations in an hour, by the hash of their ids; 16 if absent. */
  buckets: optional(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 256 }))),
  ...network,
})
export type Export = typeof Export.Type

/** A top-up. Credited once, however often the file is applied. */
export const Topup = Schema.Struct({ id: Id, org: Id, amount: NonNegative })

const list = <S extends Schema.Constraint>(item: S) => optional(Schema.Array(item))

export const CatalogueDocument = Schema.Struct({
  version: Schema.Literal(1),
  timeouts: optional(TimeoutsOfPlace),
  vendors: list(Vendor),
  models: list(Model),
  prices: list(PriceEntry),
  /** Key paths of settings that clients consume, also as `prefix.*`; `site.*` and `mode.localProviders` always are. */
  deliverableSettings: list(
    Schema.String.check(
      Schema.isPattern(/^[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*(?:\.\*)?$/, { expected: "a key path, or prefix.*" }),
    ),
  ),
  searchProviders: list(SearchProvider),
  defaultSearchProvider: optional(Id),
  plans: list(Plan),
  policies: list(Policy),
  orgs: list(Org),
  users: list(User),
  teams: list(Team),
  apps: list(App),
  keys: list(Key),
  budgets: list(Budget),
  webhooks: list(Webhook),
  exports: list(Export),
  topups: list(Topup),
}).annotate({ identifier: "Catalogue" })
export type CatalogueDocument = typeof CatalogueDocument.Type
export type CatalogueEncoded = typeof CatalogueDocument.Encoded

const {
  orgs: _orgs,
  users: _users,
  teams: _teams,
  apps: _apps,
  keys: _keys,
  topups: _topups,
  ...platform
} = CatalogueDocument.fields

/** The part of a catalogue that every node keeps in memory: without tenants, their keys and their top-ups. */
export const PlatformDocument = Schema.Struct(platform)
export type PlatformDocument = typeof PlatformDocument.Type
