/** Services that review texts for policies. */
import { Schema } from "effect"
import { Millis } from "../values/duration.ts"
import { network } from "./network.ts"
import { HttpUrl, Id, SecretRef } from "./values.ts"
import { AwsAccess, AzureAccess, MachineIdentity } from "./vendor.ts"

const common = {
  /** The time that it has for a text, with all pieces of it; 3 seconds if absent. */
  timeout: Schema.optionalKey(Millis),
  ...network,
}

const some = <S extends Schema.Constraint>(type: S) =>
  Schema.Array(type).check(Schema.isMinLength(1), Schema.isMaxLength(200), Schema.isUnique())

/** A name that is written into requests: without spaces, quotes and controls. */
const Name = Schema.String.check(
  Schema.isPattern(/^[A-Za-z0-9][A-Za-z0-9_.:/-]{0,127}$/, {
    expected: "a name: 1 to 128 letters, digits and _ . : / -",
  }),
)

/** Source: https://microsoft.github.io/presidio/api-docs/api-docs.html */
export const PresidioEngine = Schema.Struct({
  kind: Schema.Literal("presidio"),
  /** The analyzer's address: texts are sent to `{baseUrl}/analyze`. */
  baseUrl: HttpUrl,
  /** Sent as a bearer token, for an analyzer behind a gate; Presidio itself has none. */
  credential: Schema.optionalKey(SecretRef),
  /** `en` if absent. */
  language: Schema.optionalKey(
    Schema.String.check(
      Schema.isPattern(/^[a-z]{2,3}(-[A-Za-z0-9]{2,8}){0,2}$/, { expected: "a language such as en" }),
    ),
  ),
  /** Presidio's names, e.g. `PERSON`; all that it knows if absent. */
  entities: Schema.optionalKey(some(Name)),
  /** The lowest score that counts, 0 to 1; Presidio's own if absent. */
  threshold: Schema.optionalKey(Schema.Number.check(Schema.isBetween({ minimum: 0, maximum: 1 }))),
  ...common,
})
export type PresidioEngine = typeof PresidioEngine.Type

/** Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ApplyGuardrail.html */
export const BedrockGuardrailEngine = Schema.Struct({
  kind: Schema.Literal("bedrock-guardrail"),
  /** The guardrail's id or ARN. */
  guardrail: Schema.String.check(
    Schema.isPattern(
      /^([a-z0-9]{1,64}|arn:aws(-[a-z]{1,16}){0,3}:bedrock:[a-z0-9-]{1,20}:\d{12}:guardrail\/[a-z0-9]{1,64})$/,
      {
        expected: "the id or the ARN of a guardrail",
      },
    ),
  ),
  /** A number, or `DRAFT`. */
  version: Schema.String.check(
    Schema.isPattern(/^([1-9]\d{0,7}|DRAFT)$/, { expected: "a version such as 1, or DRAFT" }),
  ),
  /** The region, and the identity that signs. */
  aws: AwsAccess,
  /** A Bedrock API key, if `aws` has no identity. */
  credential: Schema.optionalKey(SecretRef),
  /** The region's own address if absent. */
  baseUrl: Schema.optionalKey(HttpUrl),
  ...common,
})
export type BedrockGuardrailEngine = typeof BedrockGuardrailEngine.Type

const Severity = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 7 }))

/** Source: https://learn.microsoft.com/rest/api/contentsafety/text-operations/analyze-text */
export const AzureContentSafetyEngine = Schema.Struct({
  kind: Schema.Literal("azure-content-safety"),
  /** The resource's address, e.g. `https://mine.cognitiveservices.azure.com`. */
  baseUrl: HttpUrl,
  /** The resource's key. */
  credential: Schema.optionalKey(SecretRef),
  /** An identity of Microsoft Entra, if there is no key. */
  azure: Schema.optionalKey(AzureAccess),
  /** The lowest severity that is flagged, 1 to 7; only these categories are analysed. 4 of each if absent. */
  thresholds: Schema.optionalKey(
    Schema.Struct({
      Hate: Schema.optionalKey(Severity),
      SelfHarm: Schema.optionalKey(Severity),
      Sexual: Schema.optionalKey(Severity),
      Violence: Schema.optionalKey(Severity),
    }).check(
      Schema.makeFilter((given) => Object.keys(given).length > 0, { expected: "a threshold of at least one category" }),
    ),
  ),
  /** Names of blocklists of the resource; a hit is flagged. */
  blocklists: Schema.optionalKey(some(Name)),
  /** Whether requests are tested for prompt attacks too. */
  shieldPrompt: Schema.optionalKey(Schema.Boolean),
  ...common,
})
export type AzureContentSafetyEngine = typeof AzureContentSafetyEngine.Type

/** Source: https://docs.cloud.google.com/model-armor/sanitize-prompts-responses */
export const ModelArmorEngine = Schema.Struct({
  kind: Schema.Literal("model-armor"),
  /** `projects/P/locations/L/templates/T`. */
  template: Schema.String.check(
    Schema.isPattern(
      /^projects\/[a-z0-9][a-z0-9.:-]{0,62}\/locations\/[a-z0-9-]{1,32}\/templates\/[A-Za-z0-9_-]{1,63}$/,
      {
        expected: "projects/P/locations/L/templates/T",
      },
    ),
  ),
  /** `default` for the machine's identity, or a reference to the JSON of a service account or a federation. */
  credentials: Schema.Union([MachineIdentity, SecretRef]),
  /** The location's own address if absent. */
  baseUrl: Schema.optionalKey(HttpUrl),
  ...common,
})
export type ModelArmorEngine = typeof ModelArmorEngine.Type

/** Source: https://docs.lakera.ai/api-reference/lakera-api/guard/screen-content */
export const LakeraEngine = Schema.Struct({
  kind: Schema.Literal("lakera"),
  /** `https://api.lakera.ai` if absent. */
  baseUrl: Schema.optionalKey(HttpUrl),
  /** The API key; a server of your own has none. */
  credential: Schema.optionalKey(SecretRef),
  /** The project whose policy decides; the account's default one if absent. */
  project: Schema.optionalKey(Name),
  ...common,
})
export type LakeraEngine = typeof LakeraEngine.Type

/** A model of the catalogue that answers `safe` or `unsafe`, as Llama Guard does. */
export const ModelEngine = Schema.Struct({
  kind: Schema.Literal("model"),
  /** The handle of a model for chat. */
  model: Id,
  /** Its instructions; a guard model needs none. */
  prompt: Schema.optionalKey(Schema.NonEmptyString.check(Schema.isMaxLength(32_768))),
  timeout: common.timeout,
})
export type ModelEngine = typeof ModelEngine.Type

/** A service of yours: a signed POST. See the page Policies of the documentation. */
export const WebhookEngine = Schema.Struct({
  kind: Schema.Literal("webhook"),
  url: HttpUrl,
  /** The secret of its signatures: `whsec_`, and 24 to 64 bytes in base64. */
  secret: SecretRef,
  /** The secret before this one, while the receiver changes to the new one: requests carry the signatures of both. */
  formerSecret: Schema.optionalKey(SecretRef),
  ...common,
})
export type WebhookEngine = typeof WebhookEngine.Type

export const PolicyEngine = Schema.Union([
  PresidioEngine,
  BedrockGuardrailEngine,
  AzureContentSafetyEngine,
  ModelArmorEngine,
  LakeraEngine,
  ModelEngine,
  WebhookEngine,
])
export type PolicyEngine = typeof PolicyEngine.Type
