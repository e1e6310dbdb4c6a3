/**
 * A message of Slack's incoming webhooks. A block's text has at most 3,000 letters, a field 2,000, and a section ten fields.
 * Source: https://api.slack.com/messaging/webhooks, https://api.slack.com/reference/block-kit/blocks
 */
import { messageOf } from "../message.ts"
import { type Form, json, judgeBy, shortReply } from "./form.ts"

const mostFields = 10

export const slack: Form = {
  requestOf: (event) => {
    const { title, facts } = messageOf(event)
    const text = escaped(title)
    const fields = facts.slice(0, mostFields).map(([label, value]) => mrkdwn(`*${label}*\n${escaped(value)}`))
    const body = {
      text,
      blocks: [
        { type: "section", text: mrkdwn(`*${text}*`) },
        { type: "section", fields },
      ],
    }
    return { headers: json, body: JSON.stringify(body) }
  },
  maxReplyBytes: shortReply,
  judge: (status, body) => {
    if (status === 200 && body.trim() === "ok") return { outcome: "delivered" }
    return status === 200 ? { outcome: "again", problem: "its answer is not that of Slack" } : judgeBy("Slack", status)
  },
}

const mrkdwn = (text: string) => ({ type: "mrkdwn", text })

/** Replaces the letters that Slack reads as its own: `<!channel>` in a name would call everybody. */
const escaped = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")
