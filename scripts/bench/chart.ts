/** Line charts as SVG, with two axes. */
export interface Line {
  readonly name: string
  readonly colour: string
  readonly points: ReadonlyArray<readonly [x: number, y: number]>
}

export interface Chart {
  readonly title: string
  readonly x: string
  readonly y: string
  readonly lines: ReadonlyArray<Line>
}

const width = 640
const height = 320
const margin = { left: 72, right: 24, top: 44, bottom: 52 }

/** The next round number: 1, 2 or 5 times a power of ten. */
const roundUp = (value: number): number => {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1e-9)))
  return ([1, 2, 5, 10].find((step) => step * power >= value) ?? 10) * power
}

const one = ({ title, x, y, lines }: Chart, top: number): string => {
  const all = lines.flatMap(({ points }) => points)
  const maxX = Math.max(...all.map(([at]) => at))
  const maxY = roundUp(Math.max(...all.map(([, value]) => value)))
  const px = (value: number) => margin.left + (value / maxX) * (width - margin.left - margin.right)
  const py = (value: number) => top + height - margin.bottom - (value / maxY) * (height - margin.top - margin.bottom)
  const text = (at: number, down: number, words: string, more = "") =>
    `<text x="${at.toFixed(1)}" y="${down.toFixed(1)}" ${more}>${words}</text>`
  const ticks = [0, 0.25, 0.5, 0.75, 1]
  return [
    text(margin.left, top + 18, title, `font-weight="bold"`),
    ...ticks.map(
      (share) =>
        `<line x1="${margin.left}" x2="${width - margin.right}" y1="${py(share * maxY)}" y2="${py(share * maxY)}" stroke="#ddd"/>${text(margin.left - 8, py(share * maxY) + 4, String(Number((share * maxY).toPrecision(3))), `text-anchor="end"`)}`,
    ),
    ...ticks.map((share) =>
      text(
        px(share * maxX),
        top + height - margin.bottom + 18,
        String(Math.round(share * maxX)),
        `text-anchor="middle"`,
      ),
    ),
    text(width / 2, top + height - 12, x, `text-anchor="middle"`),
    text(16, top + height / 2, y, `text-anchor="middle" transform="rotate(-90 16 ${top + height / 2})"`),
    ...lines.map(
      ({ colour, points }) =>
        `<polyline fill="none" stroke="${colour}" stroke-width="2" points="${points.map(([at, value]) => `${px(at).toFixed(1)},${py(value).toFixed(1)}`).join(" ")}"/>`,
    ),
    ...lines.map(({ name, colour }, at) =>
      text(width - margin.right, top + 18 + at * 16, name, `text-anchor="end" fill="${colour}"`),
    ),
  ].join("\n")
}

export const charts = (all: ReadonlyArray<Chart>): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height * all.length}" font-family="sans-serif" font-size="12">
<title>${all.map(({ title }) => title).join("; ")}</title>
<rect width="100%" height="100%" fill="#fff"/>
${all.map((chart, at) => one(chart, at * height)).join("\n")}
</svg>
`
