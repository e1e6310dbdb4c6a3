/**
 * Formats rows as a table: columns as wide as needed, numbers right-aligned.
 * @param empty shown instead of a table without rows: a sentence, with the next step
 */
export const table = (
  heads: ReadonlyArray<string>,
  records: ReadonlyArray<ReadonlyArray<string>>,
  empty = "",
): string => {
  if (records.length === 0) return empty
  const rows = records.map((row) => row.map((cell) => toSecond(cell).replace(control, "\ufffd")))
  const columns = heads.map((head, at) => {
    const cells = rows.map((row) => row[at] ?? "")
    const isNumeric = cells.every((cell) => /^-?[\d.]*$/.test(cell))
    return { width: Math.max(head.length, ...cells.map(widthOf)), isNumeric }
  })
  const line = (cells: ReadonlyArray<string>) =>
    columns
      .map(({ width, isNumeric }, at) => {
        const cell = cells[at] ?? ""
        const space = " ".repeat(width - widthOf(cell))
        return isNumeric ? space + cell : cell + space
      })
      .join("  ")
      .trimEnd()
  return [line(heads.map((head) => head.toUpperCase())), ...rows.map(line)].join("\n")
}

/** Line ends and the like, also those that begin a terminal's commands. */
const control = /\p{Cc}/gu

const marks = /\p{M}/gu
const wide =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\u3000-\u303e\uff01-\uff60\uffe0-\uffe6]/gu

/** The columns of a text in a terminal. Source: Unicode Standard Annex 11, "East Asian Width". */
const widthOf = (text: string): number => {
  if (/^[ -~]*$/.test(text)) return text.length
  const shown = text.replace(marks, "")
  return [...shown].length + (shown.match(wide)?.length ?? 0)
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
