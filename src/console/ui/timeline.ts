/** Events that followed each other, as bars over time. */
import { html } from "htm/preact"
import { millis } from "../format.ts"
import { Empty } from "./parts.ts"

export interface Span {
  readonly name: string
  readonly fromMs: number
  readonly tookMs: number
  readonly tone: "good" | "bad" | "warn" | "soft"
}

const rowHeight = 26
const width = 800
const barsFrom = 330

export const Timeline = ({ title, spans }: { readonly title: string; readonly spans: ReadonlyArray<Span> }) => {
  const endMs = Math.max(1, ...spans.map(({ fromMs, tookMs }) => fromMs + tookMs))
  const scale = (width - barsFrom - 80) / endMs
  if (spans.length === 0) return html`<${Empty} title="No vendor was called" />`
  return html`<div class="chart table" tabindex="0" role="region" aria-label=${title}>
    <svg viewBox="0 0 ${width} ${spans.length * rowHeight}" role="img" aria-label=${spans.map(({ name, tookMs }) => `${name}, ${millis(tookMs)}`).join("; ")}>
      ${spans.map(({ name, fromMs, tookMs, tone }, index) => {
        const x = barsFrom + fromMs * scale
        const length = Math.max(2, tookMs * scale)
        return html`<g class=${tone}>
          <text x="0" y=${index * rowHeight + 17}>${name}</text>
          <rect x=${x} y=${index * rowHeight + 5} width=${length} height="16" rx="3" fill="currentColor" />
          <text x=${x + length + 6} y=${index * rowHeight + 17}>${millis(tookMs)}</text>
        </g>`
      })}
    </svg>
  </div>`
}
