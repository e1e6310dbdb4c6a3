/** The one chart over time: lines or bars, a legend that shows values, and the same values as a table. */

import { html } from "htm/preact"
import { useEffect, useRef, useState } from "preact/hooks"
import type uPlot from "uplot"
import { instant, tick } from "../format.ts"

export interface Series {
  readonly name: string
  readonly values: ReadonlyArray<number | null>
  readonly color: Color
  readonly isBar?: boolean
  /** The value of the whole range, which the legend has until a point is chosen. */
  readonly summary?: string
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

/** The value of a colour of the style in the present theme. */
const colorOf = (element: Element, name: string): string => {
  const probe = element.appendChild(document.createElement("i"))
  probe.style.color = `var(--${name})`
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}

export const TimeChart = ({ title, unit, times, series, format }: TimeChartProps) => {
  const place = useRef<HTMLDivElement>(null)
  const [isOpen, setOpen] = useState(false)
  const seconds = times.map((time) => Date.parse(time) / 1000)
  const data: uPlot.AlignedData = [seconds, ...series.map(({ values }) => [...values])]
  const shape = JSON.stringify(series.map(({ name, color, isBar }) => [name, color, isBar]))
  const chart = useRef<uPlot>(undefined)
  const latest = useRef(data)
  latest.current = data
  const summaries = useRef<ReadonlyArray<string | undefined>>([])
  summaries.current = series.map(({ summary }) => summary)

  useEffect(() => {
    const element = place.current
    if (element === null) return
    let remove: (() => void) | undefined
    let isGone = false
    const show = (Plot: typeof uPlot) => {
      if (isGone) return
      const draw = () => {
        chart.current?.destroy()
        chart.current = new Plot(
          optionsOf(Plot, element, series, format, () => summaries.current),
          latest.current,
          element,
        )
      }
      draw()
      remove = followLooks(element, draw, () => chart.current?.setSize({ width: element.clientWidth, height }))
    }
    // The page does not wait for the library of charts.
    import("uplot").then(
      (library) => show(library.default),
      () => undefined,
    )
    return () => {
      isGone = true
      remove?.()
      chart.current?.destroy()
      chart.current = undefined
    }
  }, [shape])

  useEffect(() => chart.current?.setData(data), [JSON.stringify(data)])

  return html`<figure class="chart">
    <div class="head"><h2>${title}</h2><span class="small soft">${unit}</span></div>
    <div ref=${place} aria-hidden="true"></div>
    <details class="small" onToggle=${({ currentTarget }: { readonly currentTarget: HTMLDetailsElement }) => setOpen(currentTarget.open)}>
      <summary>Values of ${title.toLowerCase()}</summary>
      ${isOpen && html`<${Values} title=${title} times=${times} series=${series} format=${format} />`}
    </details>
  </figure>`
}

/** The values of a chart, one row a point. */
const Values = ({ title, times, series, format }: Omit<TimeChartProps, "unit">) =>
  html`<div class="table" tabindex="0" role="region" aria-label="Values of ${title.toLowerCase()}"><table>
    <thead><tr><th scope="col">Time</th>${series.map(({ name }) => html`<th scope="col" class="right">${name}</th>`)}</tr></thead>
    <tbody>${times.map((time, index) => html`<tr><td>${instant(time)}</td>${series.map(({ values }) => html`<td class="right">${shown(values[index], format)}</td>`)}</tr>`)}</tbody>
  </table></div>`

const height = 190

const optionsOf = (
  { paths }: typeof uPlot,
  element: Element,
  series: TimeChartProps["series"],
  format: TimeChartProps["format"],
  summaries: () => ReadonlyArray<string | undefined>,
): uPlot.Options => {
  const bars = paths.bars?.({ size: [0.8, 40] })
  const soft = colorOf(element, "soft")
  const grid = { stroke: colorOf(element, "line"), width: 1 }
  return {
    width: element.clientWidth,
    height,
    cursor: { drag: { x: false, y: false } },
    scales: { x: { time: true }, y: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : 1] } },
    axes: [
      { stroke: soft, grid, ticks: grid, values: (_, ticks) => ticks.map(tick) },
      { stroke: soft, grid, ticks: grid, size: 68, values: (_, ticks) => ticks.map(format) },
    ],
    series: [
      { label: "Time", value: (_, at) => (at === null ? "whole range" : instant(new Date(at * 1000).toISOString())) },
      ...series.map(({ name, color, isBar }, index) => ({
        label: name,
        stroke: colorOf(element, color),
        width: 2,
        points: { show: true, size: 5, filter: isolated },
        value: (_: uPlot, value: number | null, __: number, at: number | null) =>
          at === null ? (summaries()[index] ?? "–") : shown(value, format),
        ...(isBar && bars !== undefined && { paths: bars, fill: colorOf(element, color), width: 0 }),
      })),
    ],
  }
}

/** Draws again when the theme changes, and resizes with the page. Returns the function that stops it. */
const followLooks = (element: Element, draw: () => void, resize: () => void): (() => void) => {
  const size = new ResizeObserver(resize)
  size.observe(element)
  const theme = new MutationObserver(draw)
  theme.observe(document.documentElement, { attributeFilter: ["data-theme"] })
  const system = matchMedia("(prefers-color-scheme: dark)")
  system.addEventListener("change", draw)
  return () => {
    size.disconnect()
    theme.disconnect()
    system.removeEventListener("change", draw)
  }
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
