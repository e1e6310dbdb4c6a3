/** Content policies in force, and the trial of a text against them. */
import { Schema } from "effect"
import { EnginePrice, Policy, PolicyAction, ReviewedPart } from "../catalogue/policy.ts"
import { Id } from "../catalogue/values.ts"
import { storedName } from "../values/text.ts"

/** Subjects that name a policy: their number, and the first of their ids. */
const Subjects = Schema.Struct({ count: Schema.Int, ids: Schema.Array(Schema.String) })

/** The policies of the catalogue in force, in its order. */
export const PolicyList = Schema.Struct({
  data: Schema.Array(
    Schema.Struct({
      id: Id,
      direction: Policy.fields.direction,
      /** The match in short, e.g. `entities: email, card`. */
      match: Schema.String,
      action: PolicyAction,
      reason: Schema.String,
      parts: Schema.Array(ReviewedPart),
      streams: Schema.Literals(["sample", "enforce"]),
      /**
       * The text of a stream that waits: at most a number of characters, from where a match begins if it has no longest length, or
       * until an engine's verdict. Absent if none waits.
       */
      waits: Schema.optionalKey(
        Schema.Struct({
          until: Schema.Literals(["characters", "match", "verdict"]),
          characters: Schema.optionalKey(Schema.Int),
        }),
      ),
      /** The price of its engine; absent if it has none. */
      price: Schema.optionalKey(
        Schema.Struct({ ...EnginePrice.fields, paidBy: Schema.Literals(["platform", "organisation"]) }),
      ),
      /** Whether it holds for every organisation. */
      forAll: Schema.Boolean,
      /** The subjects that name it, with at most 20 ids of each kind. */
      namedBy: Schema.Struct({ orgs: Subjects, apps: Subjects, keys: Subjects }),
      /** The reason why its engine cannot be called. */
      problem: Schema.optionalKey(Schema.String),
    }),
  ),
}).annotate({ identifier: "PolicyList" })
export type PolicyList = typeof PolicyList.Type

/** The most characters of a text that is tried. */
export const mostTried = 262_144

/** The same for owners and admins: engines are asked about it, and nobody pays for that. */
export const mostTriedByOwners = 16_384

const triedText = (most: number) =>
  Schema.String.check(
    Schema.isNonEmpty({ expected: "a text" }),
    Schema.isMaxLength(most, { expected: `at most ${most} characters` }),
  )

/** A text to try against the policies in force for an organisation, or for an application of it. */
export const OwnPolicyTestRequest = Schema.Struct({
  text: triedText(mostTriedByOwners),
  app: Schema.optionalKey(storedName(256)),
  /** Only this policy. */
  policy: Schema.optionalKey(storedName(256)),
  /** Only policies that review this direction. If absent, those of both directions are tried as inbound. */
  direction: Schema.optionalKey(Schema.Literals(["inbound", "outbound"])),
}).annotate({ identifier: "OwnPolicyTestRequest" })
export type OwnPolicyTestRequest = typeof OwnPolicyTestRequest.Type

/** A text to try. Without `org` and `app`, the policies of the catalogue are tried; otherwise those in force for it. */
export const PolicyTestRequest = Schema.Struct({
  ...OwnPolicyTestRequest.fields,
  text: triedText(mostTried),
  org: Schema.optionalKey(storedName(256)),
}).annotate({ identifier: "PolicyTestRequest" })
export type PolicyTestRequest = typeof PolicyTestRequest.Type

/** The most findings of one policy in a reply. */
export const mostFindings = 1000

/** Each policy's findings in a text, in the order in which calls review it. */
export const PolicyTestReply = Schema.Struct({
  policies: Schema.Array(
    Schema.Struct({
      id: Id,
      /** The direction in which it was tried. */
      direction: Schema.Literals(["inbound", "outbound"]),
      action: PolicyAction,
      reason: Schema.String,
      /** Its effect on a call; `failed` if its engine gave no verdict. */
      did: Schema.Literals(["nothing", "denied", "masked", "flagged", "shadow", "failed"]),
      /** The text that it reviewed: masks come first, and what follows them reviews the masked text. */
      reviewed: Schema.Literals(["text", "masked"]),
      /** The number of findings; 1 if an engine flagged the text without a place. */
      count: Schema.Int,
      /** At most 1,000, as UTF-16 code units of the text that it reviewed; `end` is not included. `label` is the word of its marks. */
      findings: Schema.Array(Schema.Struct({ start: Schema.Int, end: Schema.Int, label: Schema.String })),
      /** The reason why its engine gave no verdict, and the verdict that `onFailure` gives. */
      failure: Schema.optionalKey(
        Schema.Struct({
          engine: Schema.String,
          reason: Schema.String,
          status: Schema.optionalKey(Schema.Int),
          problem: Schema.optionalKey(Schema.String),
          onFailure: Schema.Literals(["allow", "deny"]),
        }),
      ),
    }),
  ),
  /** The text with marks, if a policy masks. Without an organisation, its calls may have other marks. */
  masked: Schema.optionalKey(Schema.String),
}).annotate({ identifier: "PolicyTestReply" })
export type PolicyTestReply = typeof PolicyTestReply.Type
