/** Policies that review prompts and answers. */
import { Schema } from "effect"
import { Currency } from "../usage.ts"
import { NonNegative } from "../values/bounds.ts"
import { Millis } from "../values/duration.ts"
import { PolicyEngine } from "./policy-engine.ts"
import { HttpUrl, Id, SecretRef } from "./values.ts"

/** An endpoint with the API of OpenAI's moderations, at `{baseUrl}/moderations`. */
export const Moderation = Schema.Struct({
  baseUrl: HttpUrl,
  credential: Schema.optionalKey(SecretRef),
  model: Schema.optionalKey(Schema.NonEmptyString),
  /** Categories that deny; if absent, all that the endpoint flags. */
  categories: Schema.optionalKey(Schema.Array(Schema.NonEmptyString).check(Schema.isMinLength(1))),
  /** 3 seconds if absent. */
  timeout: Schema.optionalKey(Millis),
  /** The verdict if the endpoint does not answer; `deny` if absent. */
  onFailure: Schema.optionalKey(Schema.Literals(["allow", "deny"])),
})

export type Moderation = typeof Moderation.Type

/** Personal data and secrets that are known by their shapes. */
export const EntityName = Schema.Literals(["email", "phone", "card", "iban", "ip", "ssn", "secret"])
export type EntityName = typeof EntityName.Type

/** An entity by a pattern, with the word of its marks. */
export const OwnEntity = Schema.Struct({
  /** The word of its marks, e.g. `EMPLOYEE`. */
  name: Schema.String.check(Schema.isPattern(/^[A-Z][A-Z]{0,23}$/, { expected: "capital letters such as EMPLOYEE" })),
  /** RE2 syntax. */
  regex: Schema.NonEmptyString,
})

/** The parts of requests and replies that are reviewed. */
export const ReviewedPart = Schema.Literals(["text", "toolArguments", "toolResults"])
export type ReviewedPart = typeof ReviewedPart.Type

export const PolicyAction = Schema.Literals(["deny", "mask", "flag", "shadow"])
export type PolicyAction = typeof PolicyAction.Type

/** The price of an engine's calls, of which only those count that are answered. */
export const EnginePrice = Schema.Struct({
  /** The currency of the organisations that pay it, e.g. `USD`. */
  currency: Currency,
  /** The price of a call. */
  perCall: Schema.optionalKey(NonNegative),
  /** The price of a thousand characters that it is asked about. */
  perThousandCharacters: Schema.optionalKey(NonNegative),
})

export const Policy = Schema.Struct({
  id: Id,
  /** `inbound` reviews requests, `outbound` replies, `both` both. */
  direction: Schema.Literals(["inbound", "outbound", "both"]),
  /**
   * The text that matches: `regex` in RE2 syntax, `keywords` in any case, `entities` by their shapes, a `moderation` endpoint,
   * or another `engine`.
   */
  match: Schema.Union([
    /** RE2 syntax, at most 5,000 instructions. */
    Schema.Struct({ regex: Schema.NonEmptyString }),
    /** Parts of words too, independent of case, width and invisible characters; accents count. */
    Schema.Struct({ keywords: Schema.Array(Schema.NonEmptyString).check(Schema.isMinLength(1)) }),
    /** Names of entities, or own ones. */
    Schema.Struct({ entities: Schema.Array(Schema.Union([EntityName, OwnEntity])).check(Schema.isMinLength(1)) }),
    Schema.Struct({ moderation: Moderation }),
    Schema.Struct({ engine: PolicyEngine }),
  ]),
  /** The reason in the error's detail, e.g. `secret_material`. */
  reason: Schema.String.check(
    Schema.isPattern(/^[a-z][a-z0-9_]{0,63}$/, { expected: "a reason such as personal_data" }),
  ),
  /** The parts that it reviews; all if absent. */
  parts: Schema.optionalKey(Schema.Array(ReviewedPart).check(Schema.isMinLength(1))),
  /**
   * `deny` refuses, `mask` replaces each match by a mark such as `<EMAIL_K7Q2M>`, `flag` and `shadow` change nothing and are recorded;
   * `deny` if absent.
   */
  action: Schema.optionalKey(PolicyAction),
  /**
   * The review of streams: `sample` reviews a share of them after their end; `enforce` sends text when no match can begin in it
   * any more. `sample` if absent; a mask is always enforced.
   */
  streams: Schema.optionalKey(Schema.Literals(["sample", "enforce"])),
  /** The verdict if an engine does not answer in time; `deny` if absent. */
  onFailure: Schema.optionalKey(Schema.Literals(["allow", "deny"])),
  /** The price of its engine: calls that are answered have usage records. */
  price: Schema.optionalKey(EnginePrice),
  /** The party that pays it; `platform` if absent: then the records cost nothing. */
  paidBy: Schema.optionalKey(Schema.Literals(["platform", "organisation"])),
  /** Whether it holds for every organisation, also for those that do not name it. */
  forAll: Schema.optionalKey(Schema.Boolean),
})

export type Policy = typeof Policy.Type
