/** Vendors, their APIs and the clouds that they are called at. */
import { Schema } from "effect"
import { network } from "./network.ts"
import { TimeoutsOfPlace } from "./timeouts.ts"
import { HttpUrl, Id, Int, SecretRef } from "./values.ts"

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
/** Dialects without chat. */
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

/** `vertex` is Google's cloud, for `gemini` and `anthropic`; `bedrock` is Amazon's, for `anthropic` in Amazon's own format. */
export const VendorProfile = Schema.Literals([...ChatProfileName.literals, "vertex", "bedrock"])
export type VendorProfile = typeof VendorProfile.Type

/** The credentials of the gateway's machine: variables, files, web identity, metadata of a container or an instance. */
export const MachineIdentity = Schema.Literal("default")

/**
 * The signature of requests to Amazon Bedrock: with access keys, or with the machine's credentials, as themselves or in a
 * role; if both are absent, `credential` is a Bedrock API key.
 */
export const AwsAccess = Schema.Struct({
  /** The region, e.g. `us-east-1`. */
  region: Schema.String.check(
    Schema.isPattern(/^[a-z]{2,8}(-[a-z]{1,12}){1,3}-\d{1,2}$/, { expected: "a region, e.g. us-east-1" }),
  ),
  /** A reference to the access key's id. */
  accessKeyId: Schema.optionalKey(SecretRef),
  /** A reference to the secret key. */
  secretAccessKey: Schema.optionalKey(SecretRef),
  /** The session token of keys that are valid for a limited time. */
  sessionToken: Schema.optionalKey(SecretRef),
  /** `default`: the credentials of the machine. */
  credentials: Schema.optionalKey(MachineIdentity),
  /** The ARN of a role that is assumed. */
  assumeRole: Schema.optionalKey(
    Schema.String.check(
      Schema.isPattern(/^arn:aws[a-z-]*:iam::\d{12}:role\/[\w+=,.@/-]{1,512}$/, { expected: "the ARN of a role" }),
    ),
  ),
  /** The external id that the role's trust policy may require. */
  externalId: Schema.optionalKey(
    Schema.String.check(
      Schema.isPattern(/^[\w+=,.@:/-]{2,1224}$/, { expected: "2 to 1224 letters, digits and + = , . @ : / -" }),
    ),
  ),
})
export type AwsAccess = typeof AwsAccess.Type

const CloudName = Schema.String.check(
  Schema.isPattern(/^[a-z0-9][a-z0-9.:-]{0,62}$/, { expected: "a name of the cloud" }),
)

/**
 * A project on Vertex AI, and the JSON of a service account or of a federation, or the machine's credentials; without them,
 * `credential` is a token.
 */
export const GoogleAccess = Schema.Struct({
  /** The project's id. */
  project: CloudName,
  /** The location, e.g. `global`. */
  location: CloudName,
  /** `default`, or a reference to the JSON of a service account or a federation. */
  credentials: Schema.optionalKey(Schema.Union([MachineIdentity, SecretRef])),
})
export type GoogleAccess = typeof GoogleAccess.Type

/**
 * An application of Microsoft Entra that may call a resource on Azure, or the machine's identity; without either,
 * `credential` is an API key.
 */
export const AzureAccess = Schema.Struct({
  /** `default`: the machine's identity. */
  credentials: Schema.optionalKey(MachineIdentity),
  /** The tenant of the application. */
  tenantId: Schema.optionalKey(
    Schema.String.check(Schema.isPattern(/^[A-Za-z0-9][A-Za-z0-9.-]{0,127}$/, { expected: "a tenant" })),
  ),
  /** The client id of one of several managed identities, for `credentials: default`. */
  clientId: Schema.optionalKey(Schema.NonEmptyString.check(Schema.isMaxLength(128))),
  /** A reference to the application's secret. */
  clientSecret: Schema.optionalKey(SecretRef),
  /** The address of Entra; a national cloud has its own. */
  authorityHost: Schema.optionalKey(HttpUrl),
})
export type AzureAccess = typeof AzureAccess.Type

/** The runner of batches: the vendor's own API of batches, or the gateway, which calls the target line by line. */
export const BatchRunner = Schema.Literals(["vendor", "gateway"])
export type BatchRunner = typeof BatchRunner.Type

/** The place where responses in the background run. */
export const BackgroundRunner = Schema.Literals(["vendor", "gateway"])
export type BackgroundRunner = typeof BackgroundRunner.Type

export const Vendor = Schema.Struct({
  id: Id,
  /** The API that the vendor speaks. */
  dialect: DialectName,
  /** The vendor's variant of the dialect. */
  profile: Schema.optionalKey(VendorProfile),
  /** Azure's `api-version`: calls then use the deployment's path; without it, Azure's `/openai/v1`. */
  apiVersion: Schema.optionalKey(
    Schema.String.check(Schema.isPattern(/^[\w.-]{1,32}$/, { expected: "a version such as 2024-10-21" })),
  ),
  /** The address of the API; derived from the region or the location of a cloud if it is absent. */
  baseUrl: Schema.optionalKey(HttpUrl),
  /** A reference to the API key. */
  credential: Schema.optionalKey(SecretRef),
  /** Access to Amazon Bedrock. */
  aws: Schema.optionalKey(AwsAccess),
  /** Access to Vertex AI. */
  google: Schema.optionalKey(GoogleAccess),
  /** Access to Azure with an identity of Microsoft Entra. */
  azure: Schema.optionalKey(AzureAccess),
  ...network,
  timeouts: Schema.optionalKey(TimeoutsOfPlace),
  /** The weight of its targets that state none; 1 if absent. */
  weight: Schema.optionalKey(Int),
  /** The runner of batches of its targets that state none, for kinds that its API of batches has; `gateway` if absent. */
  batch: Schema.optionalKey(BatchRunner),
  /**
   * The runner of responses in the background of its targets: the vendor's own background, which its API of responses has and
   * which stores them until they have ended, or the gateway; `gateway` if absent.
   */
  background: Schema.optionalKey(BackgroundRunner),
  /** The action at the vendor when a client leaves a stream: abort, or drain for the exact usage. */
  clientGone: Schema.optionalKey(Schema.Literals(["abort", "drain"])),
  /**
   * The handling of ids of a client's own users in requests of this vendor's API: sent unchanged, sent as a hash (the
   * default), or not sent.
   */
  endUser: Schema.optionalKey(Schema.Literals(["carry", "hash", "drop"])),
  /** The handling of fields of this vendor's API that the gateway does not know: carried (the default), or refused. */
  newFields: Schema.optionalKey(Schema.Literals(["carry", "refuse"])),
  /**
   * The handling of tools that this vendor runs and bills beside its tokens, in requests of its own API: if no price names
   * them, the organisation decides (the default), or they are carried at the operator's cost.
   */
  hostedTools: Schema.optionalKey(Schema.Literals(["omit", "carry"])),
  /**
   * The way in which this vendor gets files that a request names: their content in each request (the default), or an id of its
   * own files, to which each is uploaded once. OpenAI, Anthropic and Gemini with an API key have files.
   */
  files: Schema.optionalKey(Schema.Literals(["inline", "vendor"])),
})
export type Vendor = typeof Vendor.Type

/** A vendor whose address is known. */
export interface AddressedVendor extends Vendor {
  readonly baseUrl: string
}
