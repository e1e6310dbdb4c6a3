/** Services that review texts for policies. */
import { Schema } from "effect"
import { Millis } from "../values/duration.ts"
import { HttpUrl, Id, SecretRef } from "./values.ts"

const common = {
  /** The time that it has for a text; 3 seconds if absent. */
  timeout: Schema.optionalKey(Millis),
}

/** Source: https://microsoft.github.io/presidio/api-docs/api-docs.html */
export const PresidioEngine = Schema.Struct({
  kind: Schema.Literal("presidio"),
  /** The analyzer's address: texts are sent to `{baseUrl}/analyze`. */
  baseUrl: HttpUrl,
  credential: Schema.optionalKey(SecretRef),
  /** `en` if absent. */
  language: Schema.optionalKey(Schema.NonEmptyString),
  /** Presidio's names, e.g. `PERSON`; all that it knows if absent. */
  entities: Schema.optionalKey(Schema.Array(Schema.NonEmptyString).check(Schema.isMinLength(1))),
  /** The lowest score that counts, 0 to 1; Presidio's own if absent. */
  threshold: Schema.optionalKey(Schema.Number.check(Schema.isBetween({ minimum: 0, maximum: 1 }))),
  ...common,
})

/** A service of yours: a signed POST. See the page Policies of the documentation. */
export const WebhookEngine = Schema.Struct({
  kind: Schema.Literal("webhook"),
  url: HttpUrl,
  /** The secret of its signatures. */
  secret: SecretRef,
  ...common,
})

/** A model of the catalogue that answers `safe` or `unsafe`, as Llama Guard does. */
export const ModelEngine = Schema.Struct({
  kind: Schema.Literal("model"),
  /** The handle of a model. */
  model: Id,
  /** Its instructions; a guard model needs none. */
  prompt: Schema.optionalKey(Schema.NonEmptyString),
  ...common,
})

export const PolicyEngine = Schema.Union([PresidioEngine, WebhookEngine, ModelEngine])
export type PolicyEngine = typeof PolicyEngine.Type
