/** A settlement as a line of a journal: a checksum and JSON, whose amounts are strings. */
import { createHash } from "node:crypto"
import { Option, Result, Schema } from "effect"
import { BudgetUnit } from "../../protocol/catalogue/budget.ts"
import type { Settlement } from "../settlement.ts"
import { UsageRecord } from "../usage-record.ts"

const object = Schema.optional(Schema.Struct({ id: Schema.String, bytes: Schema.Finite }))

/** A stored settlement: amounts as strings, because JSON has no integers that large. */
const entryFields = {
  hold: Schema.Struct({
    ref: Schema.String,
    orgId: Schema.String,
    currency: Schema.String,
    keyId: Schema.String,
    requestId: Schema.optional(Schema.String),
    day: Schema.String,
    node: Schema.String,
    amount: Schema.BigIntFromString,
    budgets: Schema.optional(Schema.Array(Schema.Struct({ counter: Schema.String, unit: BudgetUnit }))),
  }),
  atMs: Schema.Finite,
  cost: Schema.BigIntFromString,
  job: Schema.optional(
    Schema.Struct({
      id: Schema.String,
      kind: Schema.String,
      endUserId: Schema.optional(Schema.String),
      targetModel: Schema.String,
      vendorJob: Schema.String,
      isOwn: Schema.Boolean,
      view: Schema.Record(Schema.String, Schema.Union([Schema.String, Schema.Finite])),
      timeoutMs: Schema.Finite,
    }),
  ),
  record: UsageRecord,
  kept: Schema.optional(
    Schema.Struct({
      id: Schema.String,
      day: Schema.String,
      previous: Schema.optional(Schema.String),
      app: Schema.String,
      person: Schema.String,
      endUser: Schema.String,
      model: Schema.String,
      state: Schema.Literals(["completed", "incomplete"]),
      background: Schema.optional(Schema.Boolean),
      eraseAt: Schema.Finite,
      items: Schema.Array(Schema.String),
      sealed: Schema.String,
      object,
      conversation: Schema.optional(
        Schema.Struct({
          id: Schema.String,
          items: Schema.Array(Schema.Struct({ id: Schema.String, sealed: Schema.String, object })),
        }),
      ),
    }),
  ),
  reply: Schema.optional(Schema.Struct({ sealed: Schema.String, told: Schema.optional(Schema.BigIntFromString) })),
}
const EntryJson = Schema.fromJsonString(Schema.Struct(entryFields))
const encode = Schema.encodeSync(EntryJson)
const decodeEntry = Schema.decodeUnknownOption(EntryJson)

/** An entry of the first design, whose holds the database knew by their ref. */
const { cost, record } = entryFields
const FirstDesignJson = Schema.fromJsonString(Schema.Struct({ ref: Schema.String, cost, record }))
const decodeFirstDesign = Schema.decodeUnknownOption(FirstDesignJson)

const decode = (json: string): Option.Option<Settlement> =>
  Option.orElse(decodeEntry(json), () =>
    Option.map(decodeFirstDesign(json), ({ ref, ...entry }) => ({ ...entry, hold: holdByRef(ref), atMs: Date.now() })),
  )

const holdByRef = (ref: string): Settlement["hold"] => ({
  ref,
  orgId: "",
  currency: "",
  keyId: "",
  day: "",
  node: "",
  amount: 0n,
})

const checksum = (json: string): string => createHash("sha256").update(json).digest("hex").slice(0, 16)

/** The line of a settlement; empty if it cannot be encoded. */
export const lineOf = (settlement: Settlement): string => {
  try {
    const json = encode(settlement)
    return `${checksum(json)} ${json}\n`
  } catch {
    return ""
  }
}

/** Room that has no line yet, or none any more, has zeros. */
const cleared = "\0"

/** The settlement of a line: none where there is no line, a failure where it is not whole. */
export const readLine = (line: string): Result.Result<Option.Option<Settlement>, "torn"> => {
  if (line === "" || line.startsWith(cleared)) return Result.succeed(Option.none())
  const json = line.slice(17)
  const settlement = line.slice(0, 16) === checksum(json) ? decode(json) : Option.none()
  return Option.isSome(settlement) ? Result.succeed(settlement) : Result.fail("torn")
}
