/** Timeouts as a catalogue states them. */
import { Schema } from "effect"
import { isTier, type TimeoutSettings, tiers } from "../timeout-tiers.ts"
import { Millis } from "../values/duration.ts"

/** The tiers in the order in which a call passes them. */
export const Tier = Schema.Literals(tiers)

/** The four timeout tiers of an upstream call, in milliseconds. */
const TimeoutTiers = Schema.Struct({
  connect: Schema.optionalKey(Millis),
  ttfb: Schema.optionalKey(Millis),
  idle: Schema.optionalKey(Millis),
  total: Schema.optionalKey(Millis),
})

/** Tiers for every environment, and tiers of one environment (`SVC_ENV`) below its name. */
export const TimeoutsOfPlace = Schema.Record(
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
