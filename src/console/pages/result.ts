/** The outcome of an exchange, in a word. */
import { html } from "htm/preact"
import type { LoggedExchange } from "../../protocol/control/exchange-log.ts"
import { Tag } from "../ui/parts.ts"

export const Result = ({ exchange: { code, stop, estimatedReason } }: { readonly exchange: LoggedExchange }) => html`
  <span class="row">
    ${code === undefined ? html`<${Tag} tone=${stop === "interrupted" ? "warn" : "good"}>${stop}<//>` : html`<${Tag} tone="bad">${code}<//>`}
    ${estimatedReason !== undefined && html`<${Tag} tone="warn">estimated<//>`}
  </span>`
