/** The figures of a run of `npm run bench -- --peers --json FILE`; the README shows those in front-page.json. */
import { Schema } from "effect"

const Cost = Schema.Struct({ us: Schema.Finite, perSecond: Schema.Finite })
/** CPU, in microseconds each, and the number a second. */
export type Cost = typeof Cost.Type

const measured = {
  json: Schema.optional(Cost),
  stream: Schema.optional(Cost),
  long: Schema.optional(Cost),
  /** A request of 184 KB. */
  request: Schema.optional(Cost),
  /** One exchange at a time, p50. */
  aloneMs: Schema.optional(Schema.Finite),
  /** Added to the first frame, 64 in flight: p50 and p99. */
  firstMs: Schema.optional(Schema.Array(Schema.Finite)),
  residentMib: Schema.Finite,
  /** The reasons for figures that are absent. */
  failures: Schema.Array(Schema.String),
}
const Measured = Schema.Struct(measured)
/** The figures of one gateway; one that is absent failed. */
export type Measured = typeof Measured.Type

const PeerFigures = Schema.Struct({ name: Schema.String, version: Schema.String, ...measured })
export type PeerFigures = typeof PeerFigures.Type

export const PeerRun = Schema.Struct({
  /** The day of the run, as `2026-11-30`. */
  date: Schema.String,
  machine: Schema.String,
  command: Schema.String,
  gateways: Schema.Array(PeerFigures),
})
export type PeerRun = typeof PeerRun.Type
