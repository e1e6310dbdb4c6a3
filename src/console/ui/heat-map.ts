/** Numbers by day and hour: a table whose cells are tinted by their share of the cap, or of the highest. */
import { html } from "htm/preact"

interface Props {
  readonly title: string
  /** The highest possible number, if there is a limit. */
  readonly cap?: number | undefined
  readonly rows: ReadonlyArray<{ readonly name: string; readonly values: ReadonlyArray<number | null> }>
}

const hours = Array.from({ length: 24 }, (_, hour) => hour)

export const HeatMap = ({ title, rows, cap }: Props) => {
  const most = cap ?? Math.max(1, ...rows.flatMap(({ values }) => values.map((value) => value ?? 0)))
  const tint = (value: number | null | undefined) =>
    value
      ? {
          background: `color-mix(in srgb, var(--accent) ${Math.min(60, Math.round((60 * value) / most))}%, var(--card))`,
        }
      : {}
  return html`<div class="table" tabindex="0" role="region" aria-label=${title}>
    <table class="heat">
      <caption class="hidden">${title}</caption>
      <thead><tr><th scope="col">Day</th>${hours.map((hour) => html`<th scope="col" class="right">${hour}</th>`)}</tr></thead>
      <tbody>${rows.map(
        ({ name, values }) =>
          html`<tr><th scope="row">${name}</th>${hours.map((hour) => html`<td class="right" style=${tint(values[hour])}>${values[hour] ?? ""}</td>`)}</tr>`,
      )}</tbody>
    </table>
  </div>`
}
