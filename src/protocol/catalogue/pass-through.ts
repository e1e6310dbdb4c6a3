/** Routes of vendors' APIs that have no dialect, with their prices and the owners of their ids. */
import { Schema } from "effect"
import { Currency } from "../usage.ts"
import { NonNegative } from "../values/bounds.ts"
import { Id } from "./values.ts"

const segment = String.raw`(?:\*|[A-Za-z0-9][A-Za-z0-9_.:-]{0,63})`

/** A path below a vendor's base URL, such as `/vector_stores/**`: `*` is one segment, `**` at its end any number of them. */
export const RoutePath = Schema.String.check(
  Schema.isPattern(new RegExp(`^(?:/${segment}){0,16}(?:/\\*\\*)?$`), {
    expected: "a path such as /vector_stores/**",
  }),
  Schema.isMinLength(2),
)

/** A place in a reply's JSON, such as `$.usage.total_tokens` or `$.data[*].id`. */
export const ReplyPath = Schema.String.check(
  Schema.isPattern(/^\$(?:\.[A-Za-z_][\w-]{0,63}|\[\*\]){1,8}$/, { expected: "a place such as $.id or $.data[*].id" }),
)

/** A place in a reply's JSON, or the name of a header: `header:x-pages`. */
const UsagePlace = Schema.Union([
  ReplyPath.check(Schema.isPattern(/^[^[]*$/, { expected: "one place, such as $.usage.total_tokens" })),
  Schema.String.check(Schema.isPattern(/^header:[a-z][a-z0-9-]{0,63}$/, { expected: "header: and a name" })),
])

/** The name of a unit that a vendor reports. */
export const ReportedUnit = Schema.String.check(
  Schema.isPattern(/^(?!(?:call|second|megabyte|currency)$)[a-z][a-z_]{0,31}$/, {
    expected: "a name such as pages, which is not call, second or megabyte",
  }),
)

/** Prices of one unit: of a call, a second, a megabyte (10^6 bytes, of request and reply), or a unit that the vendor reports. */
export const RoutePrice = Schema.Record(Schema.String, Schema.String)
  .check(
    Schema.makeFilter(({ currency, ...prices }) => {
      if (currency === undefined || !Schema.is(Currency)(currency)) return "needs a currency such as USD"
      const units = Object.entries(prices)
      if (units.length === 0) return "has no price: say free if the route costs nothing"
      const odd = units.find(([, price]) => !Schema.is(NonNegative)(price))
      return odd === undefined ? undefined : `${odd[0]} is no amount`
    }),
  )
  .annotate({ description: "A currency, and prices of call, second, megabyte and of units that the vendor reports" })

export const Mount = Schema.Literals(["openai", "anthropic", "gemini", "cohere"])
export type Mount = typeof Mount.Type

export const PassThrough = Schema.Struct({
  /** Its name, and its place: `/pass/ID/…`. Lists of models name it `pass/ID`. */
  id: Schema.String.check(Schema.isPattern(/^[a-z0-9][a-z0-9-]{0,58}$/, { expected: "an id such as vector-stores" })),
  vendor: Id,
  /** The paths that are passed, below the vendor's base URL. */
  path: RoutePath,
  methods: Schema.Array(Schema.Literals(["GET", "POST", "PUT", "PATCH", "DELETE"])).check(
    Schema.isMinLength(1),
    Schema.isMaxLength(5),
  ),
  /** The API of this gateway below whose base it is served too, for its SDKs. */
  mount: Schema.optionalKey(Mount),
  price: Schema.Union([Schema.Literal("free"), RoutePrice]),
  /** The most that a call costs, which is held: a call that reaches it is ended. Not needed where `price` is `free`. */
  hold: Schema.optionalKey(NonNegative),
  /** The places in a reply of the counts that the vendor reports, by the names of their units. */
  usage: Schema.optionalKey(Schema.Record(ReportedUnit, UsagePlace)),
  /**
   * The places in a reply of ids that belong to their caller: others get 404 for them. Elements of lists that are another's
   * are left out.
   */
  owners: Schema.optionalKey(Schema.Array(ReplyPath).check(Schema.isMinLength(1), Schema.isMaxLength(8))),
  /** Headers of requests that are passed on, beside `accept`, `content-type` and the version and betas of its API. */
  headers: Schema.optionalKey(
    Schema.Array(
      Schema.String.check(
        Schema.isPattern(
          /^(?!(?:authorization|cookie|host|connection|content-length|content-encoding|transfer-encoding|keep-alive|te|trailer|upgrade|expect|accept-encoding|api-key|proxy-.*|x-api-key|x-goog-api-key|x-svc-.*|x-forwarded-.*|forwarded|idempotency-key)$)[a-z][a-z0-9-]{0,63}$/,
          { expected: "the name of a header that carries no credential and is not of the connection" },
        ),
      ),
    ).check(Schema.isMaxLength(16)),
  ),
})
export type PassThrough = typeof PassThrough.Type
