/** Formats rows as a table: columns as wide as needed, numbers right-aligned. */
export const table = (heads: ReadonlyArray<string>, records: ReadonlyArray<ReadonlyArray<string>>): string => {
  if (records.length === 0) return "No entries"
  const rows = records.map((row) => row.map(toSecond))
  const columns = heads.map((head, at) => {
    const cells = rows.map((row) => row[at] ?? "")
    const isNumeric = cells.every((cell) => /^-?[\d.]*$/.test(cell))
    return { width: Math.max(head.length, ...cells.map((cell) => cell.length)), isNumeric }
  })
  const line = (cells: ReadonlyArray<string>) =>
    columns
      .map(({ width, isNumeric }, at) => (isNumeric ? cells[at]?.padStart(width) : cells[at]?.padEnd(width)) ?? "")
      .join("  ")
      .trimEnd()
  return [line(heads.map((head) => head.toUpperCase())), ...rows.map(line)].join("\n")
}

/** An instant of UTC to the second, so that all of a column are equally wide; any other cell as it is. */
const toSecond = (cell: string): string =>
  cell.replace(/^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d+)?(?:Z|\+00:00)$/, "$1Z")

/** Prints one record, a member a line. */
export const describeRecord = (record: object): string => {
  const members = Object.entries(record)
  const width = Math.max(...members.map(([name]) => name.length))
  return members
    .map(([name, value]) => `${name.padEnd(width)}  ${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join("\n")
}
