/**
 * A card for a workflow of Microsoft Teams that begins with a webhook request. A message has at most 28 KB.
 * Source: https://learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors/how-to/add-incoming-webhook
 */
import { messageOf } from "../message.ts"
import { type Form, json, judgeBy, shortReply } from "./form.ts"

export const teams: Form = {
  requestOf: (event) => {
    const { title, facts } = messageOf(event)
    const content = {
      $schema: "http://adaptivecards.io/schemas/adaptive-card.json",
      type: "AdaptiveCard",
      version: "1.4",
      fallbackText: title,
      body: [
        { type: "RichTextBlock", inlines: [run(title, { weight: "Bolder", size: "Medium" })] },
        ...facts.map(([label, value]) => ({
          type: "RichTextBlock",
          spacing: "Small",
          inlines: [run(`${label}: `, { isSubtle: true }), run(value)],
        })),
      ],
    }
    const attachment = { contentType: "application/vnd.microsoft.card.adaptive", contentUrl: null, content }
    return { headers: json, body: JSON.stringify({ type: "message", attachments: [attachment] }) }
  },
  maxReplyBytes: shortReply,
  judge: (status) => (status >= 200 && status < 300 ? { outcome: "delivered" } : judgeBy("Teams", status)),
}

/** Text that is no Markdown, as that of a TextBlock is: a name cannot become a link. */
const run = (text: string, style: object = {}) => ({ type: "TextRun", text, ...style })
