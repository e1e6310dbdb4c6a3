/** Slack, Teams and PagerDuty for a test: each refuses what the service refuses. */
import { Schema } from "effect"
import { type Answer, type Asked, type Issuer, startIssuer } from "./issuer.ts"

export interface Service extends Issuer {
  /** Bodies that were accepted. */
  readonly accepted: Array<Schema.JsonObject>
  /** The reasons why others were refused. */
  readonly refused: Array<string>
  /** The answer to every request, while it is set. */
  down: Answer | undefined
}

type Check = (body: unknown) => string | undefined

const service = async (
  check: (asked: Asked) => string | undefined,
  accepted: Answer,
  refusal: (why: string) => Answer,
) => {
  const issuer = await startIssuer((asked) => {
    if (made.down !== undefined) return made.down
    const why = asked.method === "POST" ? check(asked) : "method"
    if (why !== undefined) {
      made.refused.push(why)
      return refusal(why)
    }
    made.accepted.push(Schema.decodeUnknownSync(JsonText)(asked.body))
    return accepted
  })
  const made: Service = Object.assign(issuer, { accepted: [], refused: [], down: undefined })
  return made
}

const JsonText = Schema.fromJsonString(Schema.Record(Schema.String, Schema.Json))
const strict = { onExcessProperty: "error" } as const

/** @returns why a text is refused: it is too large, or not of the schema */
const by =
  (schema: Schema.Decoder<unknown>, mostBytes: number): Check =>
  (body) => {
    if (typeof body !== "string" || Buffer.byteLength(body) > mostBytes) return "too large"
    const decoded = Schema.decodeUnknownResult(Schema.fromJsonString(schema), strict)(body)
    return decoded._tag === "Success" ? undefined : String(decoded.failure)
  }

const text = (most: number) => Schema.NonEmptyString.check(Schema.isMaxLength(most))
const mrkdwn = (most: number) => Schema.Struct({ type: Schema.Literal("mrkdwn"), text: text(most) })

/** https://api.slack.com/reference/block-kit/blocks#section */
const SlackMessage = Schema.Struct({
  text: text(40_000),
  blocks: Schema.Array(
    Schema.Union([
      Schema.Struct({ type: Schema.Literal("section"), text: mrkdwn(3000) }),
      Schema.Struct({
        type: Schema.Literal("section"),
        fields: Schema.Array(mrkdwn(2000)).check(Schema.isMinLength(1), Schema.isMaxLength(10)),
      }),
    ]),
  ).check(Schema.isMaxLength(50)),
})
export const checkSlack = by(SlackMessage, 1024 * 1024)

const TextRun = Schema.Struct({
  type: Schema.Literal("TextRun"),
  text: Schema.String,
  weight: Schema.optionalKey(Schema.Literal("Bolder")),
  size: Schema.optionalKey(Schema.Literal("Medium")),
  isSubtle: Schema.optionalKey(Schema.Boolean),
})
/** https://adaptivecards.io/explorer/RichTextBlock.html */
const TeamsMessage = Schema.Struct({
  type: Schema.Literal("message"),
  attachments: Schema.Tuple([
    Schema.Struct({
      contentType: Schema.Literal("application/vnd.microsoft.card.adaptive"),
      contentUrl: Schema.Null,
      content: Schema.Struct({
        $schema: Schema.Literal("http://adaptivecards.io/schemas/adaptive-card.json"),
        type: Schema.Literal("AdaptiveCard"),
        version: Schema.Literal("1.4"),
        fallbackText: Schema.String,
        body: Schema.NonEmptyArray(
          Schema.Struct({
            type: Schema.Literal("RichTextBlock"),
            spacing: Schema.optionalKey(Schema.Literal("Small")),
            inlines: Schema.NonEmptyArray(TextRun),
          }),
        ),
      }),
    }),
  ]),
})
export const checkTeams = by(TeamsMessage, 28 * 1024)

/** https://developer.pagerduty.com/docs/send-alert-event */
const PagerDutyEvent = Schema.Struct({
  routing_key: Schema.String.check(Schema.isPattern(/^[A-Za-z0-9]{32}$/)),
  event_action: Schema.Literals(["trigger", "acknowledge", "resolve"]),
  dedup_key: text(255),
  payload: Schema.Struct({
    summary: text(1024),
    source: Schema.NonEmptyString,
    severity: Schema.Literals(["critical", "warning", "error", "info"]),
    timestamp: Schema.String.check(Schema.isPattern(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/)),
    component: Schema.optionalKey(Schema.String),
    class: Schema.optionalKey(Schema.String),
    custom_details: Schema.optionalKey(Schema.Record(Schema.String, Schema.Json)),
  }),
})
export const checkPagerDuty = by(PagerDutyEvent, 512 * 1024)

export const routingKey = "0123456789abcdef0123456789ABCDEF"

const isJson = ({ headers }: Asked) => headers["content-type"] === "application/json"

export const startSlack = () =>
  service(
    ({ path, body, ...asked }) => {
      if (path !== "/services/T000/B000/hidden") return "no_service"
      return isJson({ path, body, ...asked }) ? checkSlack(body) : "invalid_payload"
    },
    { body: "ok", type: "text/html" },
    (why) => ({ status: why === "no_service" ? 404 : 400, body: why, type: "text/html" }),
  )

export const startTeams = () =>
  service(
    (asked) => {
      if (asked.path !== "/workflows/x/triggers/manual/paths/invoke?sp=run&sig=hidden") return "DirectApiAuthorization"
      return isJson(asked) ? checkTeams(asked.body) : "InvalidContentType"
    },
    { status: 202, body: "" },
    (why) => ({ status: why === "DirectApiAuthorization" ? 401 : 400, body: { error: { code: why } } }),
  )

export const startPagerDuty = () =>
  service(
    (asked) => {
      if (asked.path !== "/v2/enqueue") return "not found"
      const why = checkPagerDuty(asked.body)
      return why ?? (asked.body.includes(routingKey) ? undefined : "Invalid routing key")
    },
    { status: 202, body: { status: "success", message: "Event processed", dedup_key: "d" } },
    (why) => ({ status: 400, body: { status: "invalid event", message: "Event object is invalid", errors: [why] } }),
  )
