/** The forms in which events are sent to a webhook, by their names. */
import type { WebhookForm } from "../../protocol/control/webhook.ts"
import type { Form } from "./form.ts"
import { pagerduty } from "./pagerduty.ts"
import { slack } from "./slack.ts"
import { teams } from "./teams.ts"
import { weir } from "./weir.ts"

export const forms: Readonly<Record<WebhookForm, Form>> = { weir, slack, teams, pagerduty }
