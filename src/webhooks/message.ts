/** An event in plain English, for people who read it in a chat or on a pager. Pure. */
import type { Schema } from "effect"
import type { DeliveryRow } from "./delivery-store.ts"

export type Severity = "info" | "warning" | "error" | "critical"

export interface Message {
  /** One sentence. */
  readonly title: string
  /** Details, each with a label. */
  readonly facts: ReadonlyArray<readonly [label: string, text: string]>
  readonly severity: Severity
  /** Whether the event begins something that another ends, or ends it; undefined if it does neither. */
  readonly turn: "begins" | "ends" | undefined
}

export type Event = Pick<DeliveryRow, "event_id" | "type" | "org_id" | "subject" | "data" | "at">

/** The message of an event. Only the fields below are sent: a field that an event gets later must be added here. */
export const messageOf = (event: Event): Message => {
  const words = wordsOf(event)
  const known = [
    ["Organisation", event.org_id],
    ...labels.map(([field, label]) => [label, textIn(event.data, field)] as const),
    ["Time", event.at.toISOString()],
    ["Event", event.event_id],
  ] as const
  return {
    severity: "info",
    turn: undefined,
    ...words,
    title: oneLine(words.title, longestTitle),
    facts: known.flatMap(([label, text]) => (text === "" ? [] : [[label, oneLine(text, longestFact)] as const])),
  }
}

type Words = Pick<Message, "title"> & Partial<Pick<Message, "severity" | "turn">>

const wordsOf = ({ type, subject, data, org_id: org }: Event): Words => {
  const of = (field: string) => textIn(data, field)
  switch (type) {
    case "budget.near":
      return { severity: "warning", title: `Budget ${subject} is used to ${of("percent")} %: ${usedOf(data)}` }
    case "budget.reached":
      return { severity: "error", title: `Budget ${subject} is used up: ${usedOf(data)}. ${consequence(of("mode"))}` }
    case "balance.low":
      return {
        severity: "warning",
        title: `The balance of ${org} is low: ${of("balance")} ${of("currency")}, below ${of("below")} ${of("currency")}`,
      }
    case "key.created":
      return { title: `Key ${subject} of ${org} was created` }
    case "key.revoked":
      return { title: `Key ${subject} of ${org} was revoked` }
    case "job.done":
      return of("status") === "failed"
        ? { severity: "warning", title: `Job ${subject} of ${org} failed` }
        : { title: `Job ${subject} of ${org} is ${of("status")}` }
    case "batch.done":
      return {
        title: `Batch ${subject} of ${org} is ${of("status")}: ${of("succeeded")} of ${of("requests")} requests succeeded`,
      }
    case "response.completed":
      return { title: `Response ${subject} of ${org} is ${of("status")}` }
    case "response.failed":
      return { severity: "warning", title: `Response ${subject} of ${org} failed` }
    case "response.cancelled":
      return { title: `Response ${subject} of ${org} was cancelled` }
    case "policy.denied":
      return {
        severity: "warning",
        title: `Policy ${subject} denied ${of("count") === "1" ? `a ${of("at")}` : `${of("count")} texts`} of ${org}: ${of("reason")}`,
      }
    case "target.down":
      return { severity: "critical", turn: "begins", title: `Calls to ${subject} fail: ${whyDown(of("reason"))}` }
    case "target.up":
      return { turn: "ends", title: `Calls to ${subject} work again` }
    case "catalogue.applied":
      return { title: `Revision ${of("revision")} of the catalogue was applied` }
    case "books.closed":
      return { title: `The books of ${of("month")} were closed, with ${of("transfers")} transfers` }
    case "webhook.test":
      return { title: "This is a test: the webhook works" }
    default:
      return { title: `${type}: ${subject}` }
  }
}

/** Fields of events, with their labels, in the order of the message. */
const labels: ReadonlyArray<readonly [field: string, label: string]> = [
  ["scope", "Scope"],
  ["subject", "Subject"],
  ["resetAt", "Resets"],
  ["appId", "Application"],
  ["expiresAt", "Expires"],
  ["kind", "Kind"],
  ["model", "Model"],
  ["requestId", "Request"],
  ["cost", "Cost"],
  ["currency", "Currency"],
  ["error", "Error"],
  ["reason", "Reason"],
  ["path", "File"],
]

/** Amounts are decimals as text, and stay as they are. */
const usedOf = (data: Schema.JsonObject): string => {
  const unit = textIn(data, "unit") === "tokens" ? "tokens" : textIn(data, "currency")
  return `${textIn(data, "used")} of ${textIn(data, "limit")} ${unit} this ${textIn(data, "period")}`.replace("  ", " ")
}

const consequence = (mode: string): string =>
  mode === "shadow" ? "It only counts: no calls are refused." : "Calls that it does not cover are refused."

const reasons: ReadonlyMap<string, string> = new Map([
  ["credential", "its key is wrong, revoked or expired"],
  ["credit", "its account has no credit or no quota left"],
  ["permission", "its key may not call this model"],
  ["model", "its vendor has no such model"],
  ["region", "its vendor does not serve this region"],
  ["address", "its address has changed"],
])

const whyDown = (reason: string): string => reasons.get(reason) ?? "its vendor does not answer as it should"

const textIn = (data: Schema.JsonObject, field: string): string => {
  const value = Object.hasOwn(data, field) ? data[field] : undefined
  return typeof value === "string" || typeof value === "number" ? String(value) : ""
}

/** Names of tenants come from others: a line break or a control character would change the form. */
const oneLine = (text: string, most: number): string => {
  const clean = text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ").trim()
  const letters = [...clean]
  return letters.length <= most ? clean : `${letters.slice(0, most - 1).join("")}…`
}

/** Lengths in which every form holds a message, also where each letter is escaped: see the forms. */
const longestTitle = 400
const longestFact = 200
