/** Limits of a subject: the models that it may use, and how much it may ask for. */
import { Schema } from "effect"
import { TokenLimit } from "../values/bounds.ts"
import { ExactMillis } from "../values/duration.ts"
import { Positive } from "./values.ts"

const expectedModel = "a model's handle, the start of one with * at its end, such as gpt-*, or tag:cheap"

/** Models by a handle, by the start of handles (`gpt-*`), or by a tag of the catalogue (`tag:cheap`). */
export const ModelPattern = Schema.String.check(
  Schema.isPattern(/^(tag:[a-z][a-z0-9_-]{0,31}|[A-Za-z0-9][A-Za-z0-9_.:/-]{0,63}\*?|\*)$/, {
    expected: expectedModel,
  }),
)

/** The models that a subject may use. An empty list is none. */
export const ModelList = Schema.Array(ModelPattern).check(Schema.isMaxLength(1000))
export type ModelList = typeof ModelList.Type

/** Tools by a server (`weather`), by the name of one (`weather__forecast`), or by the start of names (`wea*`). */
export const ToolPattern = Schema.String.check(
  Schema.isPattern(/^(?:[a-z][a-z0-9-]{0,30}(?:__[^\s\p{Cc}*]{1,128})?\*?|\*)$/u, {
    expected: "a server, a tool such as weather__forecast, or the start of names with * at its end",
  }),
)

/** The tools that a subject may use. An empty list is none. */
export const ToolList = Schema.Array(ToolPattern).check(Schema.isMaxLength(1000))
export type ToolList = typeof ToolList.Type

/** Whether it names models by their start or a tag, and not one by its handle. */
export const isPattern = (model: string): boolean => model.endsWith("*") || model.startsWith("tag:")

/** A tag of a model. */
export const ModelTag = Schema.String.check(
  Schema.isPattern(/^[a-z][a-z0-9_-]{0,31}$/, { expected: "a tag such as cheap: a-z, 0-9, _ and -, from a letter on" }),
)

/** The length of a window: no window of that length has more than the limit, wherever it begins. */
const Per = ExactMillis.check(
  Schema.isBetween({ minimum: 1000, maximum: 31 * 86_400_000 }, { expected: "a duration from 1s to 744h" }),
)
/** Only calls of these models count; those of all models if absent. */
const model = Schema.optionalKey(ModelPattern)

/** Calls in a window. */
const RequestRate = Schema.Struct({ requests: Positive, per: Per, model })
/**
 * Tokens in a window. A call counts an estimate when it is admitted, and its tokens when it has ended. `cached: free` leaves out the
 * tokens that the vendor read from its cache.
 */
const TokenRate = Schema.Struct({
  tokens: TokenLimit,
  per: Per,
  model,
  cached: Schema.optionalKey(Schema.Literals(["count", "free"])),
})
/** Calls at the same time. */
const ConcurrentRate = Schema.Struct({ concurrent: Positive, model })

export const Rate = Schema.Union([RequestRate, TokenRate, ConcurrentRate]).annotate({ identifier: "Rate" })
export type Rate = typeof Rate.Type

export const Rates = Schema.Array(Rate)
  .check(Schema.isMaxLength(16))
  .check(
    Schema.makeFilter((rates: ReadonlyArray<Rate>) => {
      const names = rates.map(rateName)
      const twice = names.findIndex((name, at) => names.indexOf(name) !== at)
      return twice < 0 ? undefined : { path: [twice], issue: `limits ${names[twice]} a second time` }
    }),
  )
export type Rates = typeof Rates.Type

/** A rate without its limit, e.g. `tokens a 60000ms of gpt-*`: a subject has one of each. */
export const rateName = (rate: Rate): string => {
  const of = rate.model === undefined ? "" : ` of ${rate.model}`
  if ("concurrent" in rate) return `calls at a time${of}`
  return `${"requests" in rate ? "requests" : "tokens"} in ${rate.per}ms${of}`
}

/** The members that each subject may have; a lower one can only narrow what is above it. */
export const limitFields = {
  /** The models that it may use, of those that are allowed above it. An empty list is none; all of them if absent. */
  models: Schema.optionalKey(ModelList),
  /**
   * Its limits: `{requests: 600, per: 60s}`, `{tokens: 200000, per: 1h}` and `{concurrent: 20}`, each also of some models only, with
   * `model: gpt-*`. The subjects above it have their own as well.
   */
  rates: Schema.optionalKey(Rates),
  /**
   * The tools that it may use, of those that are allowed above it. An empty list is none. If absent, all of them; an organisation
   * without a list has none.
   */
  tools: Schema.optionalKey(ToolList),
}

export const SubjectLimits = Schema.Struct(limitFields)
export type SubjectLimits = typeof SubjectLimits.Type
