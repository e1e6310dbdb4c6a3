/** Durations as people write them: `250ms`, `10s`, `2m` or `1h`. */
import { Schema, SchemaTransformation } from "effect"

const unitMillis: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }

/** Milliseconds of `250ms`, `10s`, `2m` or `1h`. */
export const millisOf = (text: string): number =>
  Number.parseInt(text, 10) * (unitMillis[text.replace(/^\d+/, "")] ?? 1)

const expected = "a duration such as 250ms, 10s, 2m or 1h"

const Positive = Schema.Int.check(
  Schema.isBetween({ minimum: 1, maximum: 1_000_000_000 }, { expected: `${expected}, from 1ms to 277h` }),
)

/** A number without a unit is no duration: the message names the units. */
const Text = Schema.String.annotate({ expected }).check(Schema.isPattern(/^\d{1,9}(ms|s|m|h)$/, { expected }))

/** Decoded to milliseconds. */
export const Millis = Text.pipe(
  Schema.decodeTo(Positive, SchemaTransformation.transform({ decode: millisOf, encode: (millis) => `${millis}ms` })),
)

/** The same, written in the largest unit that has it whole. Its bounds are those of its use. */
export const ExactMillis = Text.pipe(
  Schema.decodeTo(
    Schema.Int,
    SchemaTransformation.transform({ decode: millisOf, encode: (millis) => exactText(millis) }),
  ),
)

const exactText = (millis: number): string => {
  const [unit = "ms", length = 1] = units.find(([, each]) => millis % each === 0) ?? []
  return `${millis / length}${unit}`
}

const units = Object.entries(unitMillis).sort(([, a], [, b]) => b - a)

/** The same, or a plain number of milliseconds, as variables have it. */
export const MillisOrNumber = Schema.String.check(
  Schema.isPattern(/^(\d{1,10}|\d{1,9}(ms|s|m|h))$/, {
    expected: `milliseconds, or ${expected}`,
  }),
).pipe(
  Schema.decodeTo(
    Schema.Int.check(
      Schema.isBetween({ minimum: 1, maximum: 2 ** 31 - 1 }, { expected: `${expected}, from 1ms to 596h` }),
    ),
    SchemaTransformation.transform({
      decode: (text) => (/\d$/.test(text) ? Number(text) : millisOf(text)),
      encode: String,
    }),
  ),
)

/** {@link MillisOrNumber}, or 0 to turn it off. */
export const MillisOrZero = Schema.Union([
  Schema.Literal("0").pipe(
    Schema.decodeTo(
      Schema.Literal(0),
      SchemaTransformation.transform({ decode: () => 0 as const, encode: () => "0" as const }),
    ),
  ),
  MillisOrNumber,
])

/** Writes a duration as a catalogue has it: exact where the notation allows it, rounded otherwise. */
export const duration = (ms: number): string => {
  if (ms < 1000) return `${Math.round(ms)}ms`
  const units = [
    [3_600_000, "h"],
    [60_000, "m"],
  ] as const
  for (const [unit, name] of units) if (ms >= unit && ms % unit === 0) return `${ms / unit}${name}`
  return ms % 1000 === 0 ? `${ms / 1000}s` : `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)}s`
}
