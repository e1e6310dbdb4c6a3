/** The health of targets. */
import { html } from "htm/preact"
import type { Targets } from "../protocol/control/activity.ts"
import { Tag } from "./ui/parts.ts"
import { Time } from "./ui/time.ts"

export type Target = Targets["data"][number]

const tones = { healthy: "good", suspect: "warn", "cooling down": "bad" } as const

const causes = {
  breaker: "its circuit breaker is open",
  vendor: "the vendor asked for a pause",
  busy: "the vendor is busy",
  refused: "the vendor refuses it",
} as const

export const TargetState = ({ target: { state } }: { readonly target: Target }) =>
  html`<${Tag} tone=${tones[state]}>${state}<//>`

/** The health of a target: a dot if it is healthy, otherwise its state. */
export const TargetDot = ({ target }: { readonly target: Target }) =>
  target.state === "healthy"
    ? html`<span class="good" role="img" aria-label="healthy" title="healthy">●</span>`
    : html`<${TargetState} target=${target} />`

/** The reason and the end of a cooldown. */
export const Cooldown = ({ target: { until, cause = "breaker", reason } }: { readonly target: Target }) =>
  until === undefined
    ? null
    : html`${causes[cause]}${reason !== undefined && ` (${reason})`}, until <${Time} at=${until} />`
