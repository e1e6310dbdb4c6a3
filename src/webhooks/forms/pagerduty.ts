/**
 * An event of PagerDuty's Events API v2. A summary has at most 1,024 letters, an event 512 KB.
 * Source: https://developer.pagerduty.com/docs/send-alert-event
 */
import { hash } from "node:crypto"
import { messageOf } from "../message.ts"
import { type Form, json, judgeBy, shortReply } from "./form.ts"

/** The address of events if a webhook names none; the service region of Europe has its own. */
export const pagerdutyUrl = "https://events.pagerduty.com/v2/enqueue"

export const pagerduty: Form = {
  requestOf: (event, { secrets, source }) => {
    const { title, facts, severity, turn } = messageOf(event)
    // The key of an alert: an event that ends an alert has the key of the one that began it; any other has its own, the same at
    // each attempt.
    const about = turn === undefined ? event.event_id : `${event.org_id} ${event.subject}`
    const body = {
      routing_key: secrets[0] ?? "",
      event_action: turn === "ends" ? "resolve" : "trigger",
      dedup_key: `weir-${hash("sha256", `${source} ${about}`)}`,
      payload: {
        summary: title,
        source,
        severity,
        timestamp: event.at.toISOString(),
        component: event.subject.slice(0, longestName),
        class: event.type,
        custom_details: Object.fromEntries(facts),
      },
    }
    return { headers: json, body: JSON.stringify(body) }
  },
  maxReplyBytes: shortReply,
  judge: (status) => {
    if (status === 202) return { outcome: "delivered" }
    const judged = judgeBy("PagerDuty", status)
    return status === 400 ? { ...judged, problem: "PagerDuty refuses it: HTTP 400; is the routing key right?" } : judged
  },
}

const longestName = 200
