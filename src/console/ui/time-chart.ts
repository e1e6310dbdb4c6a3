/** The one chart over time: lines or bars, a legend that tells values, and the same values as a table. */

import { html } from "htm/preact"
import { useEffect, useRef } from "preact/hooks"
import uPlot from "uplot"
import { instant, tick } from "../format.ts"

export interface Series {
  readonly name: string
  readonly values: ReadonlyArray<number | null>
  readonly color: Color
  readonly isBar?: boolean
}

type Color = "accent" | "good" | "warn" | "bad" | "soft"

export interface TimeChartProps {
  readonly title: string
  /** Unit and range, e.g. `tokens per hour`. */
  readonly unit: string
  /** The beginning of each point. */
  readonly times: ReadonlyArray<string>
  readonly series: ReadonlyArray<Series>
  readonly format: (value: number) => string
}

/** What a colour of the style is in the present theme. */
const colorOf = (element: Element, name: string): string => {
  const probe = element.appendChild(document.createElement("i"))
  probe.style.color = `var(--${name})`
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}

export const TimeChart = ({ title, unit, times, series, format }: TimeChartProps) => {
  const place = useRef<HTMLDivElement>(null)
  const seconds = times.map((time) => Date.parse(time) / 1000)
  const data: uPlot.AlignedData = [seconds, ...series.map(({ values }) => [...values])]
  const shape = JSON.stringify(series.map(({ name, color, isBar }) => [name, color, isBar]))
  const chart = useRef<uPlot>(undefined)
  const latest = useRef(data)
  latest.current = data

  useEffect(() => {
    const element = place.current
    if (element === null) return
    const bars = uPlot.paths.bars?.({ size: [0.8, 40] })
    const draw = () => {
      chart.current?.destroy()
      const soft = colorOf(element, "soft")
      const grid = { stroke: colorOf(element, "line"), width: 1 }
      chart.current = new uPlot(
        {
          width: element.clientWidth,
          height: 190,
          cursor: { drag: { x: false, y: false } },
          scales: { x: { time: true }, y: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : 1] } },
          axes: [
            { stroke: soft, grid, ticks: grid, values: (_, ticks) => ticks.map(tick) },
            { stroke: soft, grid, ticks: grid, size: 68, values: (_, ticks) => ticks.map(format) },
          ],
          series: [
            { label: "Time", value: (_, at) => (at === null ? "–" : instant(new Date(at * 1000).toISOString())) },
            ...series.map(({ name, color, isBar }) => ({
              label: name,
              stroke: colorOf(element, color),
              width: 2,
              points: { show: true, size: 5, filter: isolated },
              value: (_: uPlot, value: number | null) => (value === null ? "–" : format(value)),
              ...(isBar && bars !== undefined && { paths: bars, fill: colorOf(element, color), width: 0 }),
            })),
          ],
        },
        latest.current,
        element,
      )
    }
    draw()
    const resize = new ResizeObserver(() => chart.current?.setSize({ width: element.clientWidth, height: 190 }))
    resize.observe(element)
    const theme = new MutationObserver(draw)
    theme.observe(document.documentElement, { attributeFilter: ["data-theme"] })
    const system = matchMedia("(prefers-color-scheme: dark)")
    system.addEventListener("change", draw)
    return () => {
      resize.disconnect()
      theme.disconnect()
      system.removeEventListener("change", draw)
      chart.current?.destroy()
      chart.current = undefined
    }
  }, [shape])

  useEffect(() => chart.current?.setData(data), [JSON.stringify(data)])

  return html`<figure class="chart">
    <div class="head"><h2>${title}</h2><span class="small soft">${unit}</span></div>
    <div ref=${place} aria-hidden="true"></div>
    <details class="small"><summary>Values of ${title.toLowerCase()}</summary>
      <div class="table" tabindex="0" role="region" aria-label="Values of ${title.toLowerCase()}"><table>
        <thead><tr><th scope="col">Time</th>${series.map(({ name }) => html`<th scope="col" class="right">${name}</th>`)}</tr></thead>
        <tbody>${times.map((time, index) => html`<tr><td>${instant(time)}</td>${series.map(({ values }) => html`<td class="right">${shown(values[index], format)}</td>`)}</tr>`)}</tbody>
      </table></div>
    </details>
  </figure>`
}

/** A line needs two points: those without a neighbour are drawn as dots. */
const isolated: uPlot.Series.Points.Filter = ({ data }, index) => {
  const values = data[index] ?? []
  return Array.from(values).flatMap((value, at) =>
    typeof value === "number" && typeof values[at - 1] !== "number" && typeof values[at + 1] !== "number" ? [at] : [],
  )
}

const shown = (value: number | null | undefined, format: (value: number) => string): string =>
  value === null || value === undefined ? "–" : format(value)
