/** Messages for people: a sentence for each event, and forms that no name can break. */
import type { Schema } from "effect"
import { describe, expect, it } from "vitest"
import { EventType, WebhookForm } from "../../../src/protocol/control/webhook.ts"
import { forms } from "../../../src/webhooks/forms/forms.ts"
import { type Event, messageOf } from "../../../src/webhooks/message.ts"
import { checkPagerDuty, checkSlack, checkTeams, routingKey } from "../../support/notification-services.ts"

const event = (type: string, subject: string, data: Schema.JsonObject, org = "acme"): Event => ({
  event_id: "evt_1",
  type,
  org_id: org,
  subject,
  data,
  at: new Date("2026-11-28T00:00:00Z"),
})
const budget = {
  id: "team",
  scope: "team",
  subject: "t1",
  unit: "money",
  period: "day",
  limit: "100.0000000001",
  used: "80.10",
  percent: 80,
  mode: "enforce",
  resetAt: "2026-11-29T00:00:00+08:00",
  currency: "USD",
}
const down = (reason: string) => event("target.down", "openai/gpt@api", { target: "openai/gpt@api", reason }, "")

const sentences: ReadonlyArray<readonly [event: Event, sentence: string, severity: string]> = [
  [
    event("budget.near", "team", budget),
    "Budget team is used to 80 %: 80.10 of 100.0000000001 USD this day",
    "warning",
  ],
  [
    event("budget.reached", "team", { ...budget, unit: "tokens", used: "7", limit: 7, mode: "shadow" }),
    "Budget team is used up: 7 of 7 tokens this day. It only counts: no calls are refused.",
    "error",
  ],
  [
    event("balance.low", "USD", { balance: "4.2", below: "5", currency: "USD" }),
    "The balance of acme is low: 4.2 USD, below 5 USD",
    "warning",
  ],
  [event("key.created", "key_1", { key: "key_1", appId: "a" }), "Key key_1 of acme was created", "info"],
  [event("key.revoked", "key_1", { key: "key_1" }), "Key key_1 of acme was revoked", "info"],
  [event("job.done", "job_1", { status: "done", cost: "0.5" }), "Job job_1 of acme is done", "info"],
  [event("job.done", "job_1", { status: "failed", error: "filtered" }), "Job job_1 of acme failed", "warning"],
  [event("job.done", "job_1", { status: "cancelled" }), "Job job_1 of acme is cancelled", "info"],
  [
    event("batch.done", "b1", { status: "completed", requests: 3, succeeded: 2 }),
    "Batch b1 of acme is completed: 2 of 3 requests succeeded",
    "info",
  ],
  [event("response.completed", "resp_1", { status: "incomplete" }), "Response resp_1 of acme is incomplete", "info"],
  [event("response.failed", "resp_1", { status: "failed" }), "Response resp_1 of acme failed", "warning"],
  [event("response.cancelled", "resp_1", { status: "cancelled" }), "Response resp_1 of acme was cancelled", "info"],
  [
    event("policy.denied", "words", { reason: "leak", at: "reply", count: 1 }),
    "Policy words denied a reply of acme: leak",
    "warning",
  ],
  [
    event("policy.denied", "words", { reason: "leak", at: "request", count: 7 }),
    "Policy words denied 7 texts of acme: leak",
    "warning",
  ],
  [down("credit"), "Calls to openai/gpt@api fail: its account has no credit or no quota left", "critical"],
  [down("failing"), "Calls to openai/gpt@api fail: its vendor does not answer as it should", "critical"],
  [event("target.up", "openai/gpt@api", {}, ""), "Calls to openai/gpt@api work again", "info"],
  [event("catalogue.applied", "catalogue", { revision: "12" }, ""), "Revision 12 of the catalogue was applied", "info"],
  [
    event("books.closed", "2026-10", { month: "2026-10", transfers: 1234 }, ""),
    "The books of 2026-10 were closed, with 1234 transfers",
    "info",
  ],
  [event("webhook.test", "test", {}), "This is a test: the webhook works", "info"],
]

describe("a message", () => {
  it.each(sentences)("$0.type: $1", (each, sentence, severity) => {
    expect(messageOf(each)).toMatchObject({ title: sentence, severity })
  })

  it("is known for each event that there is", () => {
    const known = new Set(sentences.map(([{ type }]) => type))
    expect(EventType.literals.filter((type) => !known.has(type))).toEqual([])
  })

  it("has no field that is not in its list", () => {
    const told = JSON.stringify(messageOf(event("key.created", "k", { secret: "hidden", token: "hidden", appId: "a" })))
    expect(told).not.toContain("hidden")
    expect(told).toContain('["Application","a"]')
  })

  it("has names of objects as names", () => {
    expect(messageOf(event("job.done", "constructor", {})).title).toBe("Job constructor of acme is")
  })
})

const checks = { slack: checkSlack, teams: checkTeams, pagerduty: checkPagerDuty }
const sending = { secrets: [routingKey], seconds: 0, source: "https://weir.test" }
const bodyOf = (form: keyof typeof checks, each: Event) => forms[form].requestOf(each, sending).body

describe.each(["slack", "teams", "pagerduty"] as const)("the form %s", (form) => {
  it("is one that the service accepts, for each event", () => {
    for (const [each] of sentences) expect(checks[form](bodyOf(form, each))).toBeUndefined()
  })

  it.each(["&", "<", '"', "\\", "\u0000", "\u2028", "\ud800", "𝒳", "é"])(
    "is accepted with the longest names of %j",
    (letter) => {
      const long = letter.repeat(20_000)
      const fields = ["scope", "subject", "resetAt", "appId", "expiresAt", "kind", "model", "requestId", "cost"]
      const more = ["currency", "error", "reason", "path", "used", "limit", "status", "balance"]
      const data = Object.fromEntries([...fields, ...more].map((field) => [field, long]))
      for (const type of [...EventType.literals, long]) {
        expect(checks[form](bodyOf(form, { ...event(type, long, data, long) }))).toBeUndefined()
      }
    },
  )

  it("is the same at each attempt", () => {
    const again = forms[form].requestOf(down("credit"), { ...sending, seconds: 60 })
    expect(again.body).toBe(bodyOf(form, down("credit")))
  })
})

it("a name cannot call a channel of Slack, nor be a link", () => {
  const body = bodyOf("slack", event("key.created", "<!channel> <http://evil|click>", {}))
  expect(body).not.toMatch(/<[!h]/)
  expect(body).toContain("&lt;!channel&gt;")
})

it("a target that is up again resolves what its fault has triggered, of this deployment alone", () => {
  const read = (each: Event, source = sending.source) =>
    JSON.parse(forms.pagerduty.requestOf(each, { ...sending, source }).body)
  const [begun, ended] = [
    read(down("credit")),
    read({ ...event("target.up", "openai/gpt@api", {}, ""), event_id: "e2" }),
  ]
  expect([begun.event_action, ended.event_action]).toEqual(["trigger", "resolve"])
  expect(ended.dedup_key).toBe(begun.dedup_key)
  expect(read(down("credit"), "https://staging.test").dedup_key).not.toBe(begun.dedup_key)
  const two = ["evt_1", "evt_2"].map((event_id) => read({ ...event("key.created", "k", {}), event_id }).dedup_key)
  expect(new Set(two).size).toBe(2)
})

it.each([
  ["slack", 200, "ok", "delivered"],
  ["slack", 200, "<html>", "again"],
  ["slack", 400, "invalid_payload", "failed"],
  ["slack", 404, "no_service", "failed"],
  ["slack", 410, "channel_is_archived", "failed"],
  ["slack", 429, "", "again"],
  ["slack", 500, "rollup_error", "again"],
  ["teams", 202, "", "delivered"],
  ["teams", 200, "1", "delivered"],
  ["teams", 401, "", "failed"],
  ["teams", 413, "", "failed"],
  ["teams", 429, "", "again"],
  ["teams", 502, "", "again"],
  ["pagerduty", 202, "{}", "delivered"],
  ["pagerduty", 200, "{}", "again"],
  ["pagerduty", 400, "{}", "failed"],
  ["pagerduty", 408, "", "again"],
  ["pagerduty", 429, "", "again"],
  ["pagerduty", 500, "", "again"],
  ["weir", 404, "", "again"],
  ["weir", 410, "", "failed"],
] as const)("%s that answers %i with %j: %s", (form, status, body, outcome) => {
  const judged = forms[form].judge(status, body)
  expect(judged.outcome).toBe(outcome)
  if (form !== "weir" && outcome === "failed") expect(judged.problem).toMatch(/refuses it: HTTP \d+/)
})

it("there is a form for each name", () => {
  expect(Object.keys(forms).sort()).toEqual([...WebhookForm.literals].sort())
})
