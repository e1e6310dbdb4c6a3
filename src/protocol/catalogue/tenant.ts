/** Organisations, people, teams, applications and keys. */
import { DateTime, Option, Schema } from "effect"
import { OrgReplyCache } from "../control/reply-cache.ts"
import { Currency } from "../usage.ts"
import { NonNegative, PerMinute } from "../values/bounds.ts"
import { dayMs, Instant } from "../values/instant.ts"
import { TagName, Tags } from "../values/tags.ts"
import { limitFields, SubjectLimits } from "./limits.ts"
import { SsoProvider } from "./sso-provider.ts"
import { Id, Role, SecretRef } from "./values.ts"

/** A zone of the IANA database. */
export const TimeZone = Schema.String.check(
  Schema.isMaxLength(64),
  Schema.makeFilter((name: string) =>
    isZone(name) ? undefined : "a zone such as Europe/Zurich or Asia/Kolkata is required",
  ),
)

const isZone = (name: string): boolean => Option.isSome(DateTime.zoneMakeNamed(name))

const keepTime = "a time from 1h to 400d, such as 12h or 30d"

/** The time for which an organisation's data are kept, e.g. `12h` or `30d`. */
export const KeepTime = Schema.String.annotate({ expected: keepTime }).check(
  Schema.makeFilter((text: string) => {
    const ms = keepMs(text)
    return ms !== undefined && ms > 0 && ms <= 400 * dayMs ? undefined : `${keepTime}, is required`
  }),
)

/** Milliseconds of a time such as `30d`; undefined if it is none. */
export const keepMs = (text: string): number | undefined => {
  const [, count, unit] = /^(\d{1,5})(h|d)$/.exec(text) ?? []
  return count === undefined ? undefined : Number(count) * (unit === "d" ? dayMs : dayMs / 24)
}

export const Org = Schema.Struct({
  id: Id,
  /** The name that people see. */
  name: Schema.NonEmptyString,
  /** The plan that it has. */
  plan: Schema.optionalKey(Id),
  /** The currency of its account, e.g. `USD`. */
  currency: Currency,
  /**
   * The zone of its days, e.g. `Europe/Zurich`, in which its budgets begin and its reports count; UTC+8 if absent. Plans' daily quotas
   * are always of UTC+8.
   */
  timeZone: Schema.optionalKey(TimeZone),
  /** The balance below which the event `balance.low` is sent. */
  warnBelow: Schema.optionalKey(NonNegative),
  ...limitFields,
  /** Ids of the policies that hold for it. */
  policies: Schema.optionalKey(Schema.Array(Id)),
  /** Abilities that end users of its applications may use: `imageGen`, `textToSpeech`, `speechToText`, `videoGen`, … */
  capabilities: Schema.optionalKey(Schema.Record(Schema.String, Schema.Boolean)),
  /**
   * The handling of tools that vendors run and that a request cannot have, because its vendor has none or no price names
   * them: the call is refused and the error names them, or it goes on without them and its client gets a warning. If absent,
   * the call is refused if no vendor of the model has them and it offers no other tools, as agents do.
   */
  hostedTools: Schema.optionalKey(Schema.Literals(["refuse", "omit"])),
  /** Model handles by the names that existing clients insist on; a trailing `*` matches any rest. */
  aliases: Schema.optionalKey(
    Schema.Record(
      Schema.String.check(
        Schema.isPattern(/^[^*]{0,128}\*?$/, {
          expected: "a name, or the start of one with * at its end, such as gpt-*",
        }),
      ),
      Id,
    ),
  ),
  /** Its identity provider. */
  sso: Schema.optionalKey(SsoProvider),
  /**
   * The time for which replies are kept for this organisation, and the scope that shares them. Wins over the setting of
   * models.
   */
  replyCache: Schema.optionalKey(OrgReplyCache),
  /** The data that are kept for its callers, sealed. */
  keeps: Schema.optionalKey(
    Schema.Struct({
      /**
       * The time for which responses, with what was asked, can be continued and read, e.g. `30d`; if absent, none is kept. A
       * shorter time holds at once, also for those that exist.
       */
      responses: Schema.optionalKey(KeepTime),
    }),
  ),
})
export type Org = typeof Org.Type

/** The time for which an organisation keeps responses, in milliseconds; undefined if it keeps none. */
export const keptResponsesMs = ({ keeps }: Org): number | undefined =>
  keeps?.responses === undefined ? undefined : keepMs(keeps.responses)

/** The time of the oldest that is kept of responses now: a shorter time holds for those that exist, too. */
export const keptSince = (org: Org, nowMs: number): Date | undefined => {
  const ms = keptResponsesMs(org)
  return ms === undefined ? undefined : new Date(nowMs - ms)
}

export const User = Schema.Struct({
  id: Id,
  /** The address with which the person logs in. */
  email: Schema.String.check(
    Schema.isPattern(/^[^\s@]+@[^\s@]+$/, { expected: "an e-mail address such as ann@example.com" }),
  ),
  org: Id,
  /** The role in the organisation. */
  role: Role,
  ...limitFields,
})

/** A name for people: ids stay what calls and bills use. */
const DisplayName = Schema.NonEmptyString.check(Schema.isMaxLength(128))

export const Team = Schema.Struct({
  id: Id,
  org: Id,
  /** The name that people see. */
  name: Schema.optionalKey(DisplayName),
  /** Ids of people. */
  members: Schema.Array(Id),
  ...limitFields,
  disabled: Schema.optionalKey(Schema.Boolean),
})

export const App = Schema.Struct({
  id: Id,
  org: Id,
  /** The name that people see. */
  name: Schema.optionalKey(DisplayName),
  /** Its own rate limit: `rpm`, calls a minute. */
  quota: Schema.optionalKey(Schema.Struct({ rpm: Schema.optionalKey(PerMinute) })),
  ...limitFields,
  /** The limits of each of its end users. */
  endUsers: Schema.optionalKey(SubjectLimits),
  /** Tags that each of its calls has; callers cannot give them other values. */
  tags: Schema.optionalKey(Tags),
  /** Ids of policies that hold for it, beside those of its organisation. */
  policies: Schema.optionalKey(Schema.Array(Id)),
  /** Names of tags that each of its calls must have. */
  requiredTags: Schema.optionalKey(Schema.Array(TagName).check(Schema.isMaxLength(8))),
  /** Whether each request must be signed. */
  requireSignature: Schema.optionalKey(Schema.Boolean),
  /** Addresses or networks (CIDR); empty or absent allows all. */
  ipAllow: Schema.optionalKey(Schema.Array(Schema.NonEmptyString)),
  /** Whether it works only with an active licence. */
  licenceRequired: Schema.optionalKey(Schema.Boolean),
  disabled: Schema.optionalKey(Schema.Boolean),
})
export type App = typeof App.Type

export const KeyScope = Schema.Literals(["runtime", "control"])
export type KeyScope = typeof KeyScope.Type

/**
 * The members of a key that are stored together: its limits, and ids of the policies that hold for its calls. Earlier versions read
 * the limits only.
 */
export const KeyLimits = Schema.Struct({ ...limitFields, policies: Schema.optionalKey(Schema.Array(Id)) })
export type KeyLimits = typeof KeyLimits.Type

export const Key = Schema.Struct({
  id: Id,
  /** The application that it belongs to. */
  app: Id,
  /** The name that people see. */
  name: Schema.optionalKey(DisplayName),
  /** If absent, a secret is minted when the key is first applied, and returned once. */
  secret: Schema.optionalKey(SecretRef),
  /** `runtime` for calls, `control` for the control API; `runtime` if absent. */
  scopes: Schema.optionalKey(Schema.Array(KeyScope)),
  ...limitFields,
  /** Ids of policies that hold for calls by it, beside those of its application. */
  policies: Schema.optionalKey(Schema.Array(Id)),
  /** The instant at which it ends. */
  expiresAt: Schema.optionalKey(Instant),
  disabled: Schema.optionalKey(Schema.Boolean),
})
