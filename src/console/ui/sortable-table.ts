/** A table whose rows a person sorts by its columns. */
import { html } from "htm/preact"
import type { ComponentChildren } from "preact"
import { useState } from "preact/hooks"
import { type Column, Table } from "./table.ts"

export interface SortableColumn<Row> extends Column<Row> {
  /** The value by which rows are sorted; a number that is none comes last. */
  readonly sortBy: (row: Row) => number | string
}

interface Props<Row> {
  readonly caption: string
  readonly columns: ReadonlyArray<SortableColumn<Row>>
  readonly rows: ReadonlyArray<Row>
  readonly empty: ComponentChildren
}

export const SortableTable = <Row>({ columns, rows, ...table }: Props<Row>) => {
  const [sorting, setSorting] = useState<{ readonly name: string; readonly isRising: boolean }>()
  const column = columns.find(({ name }) => name === sorting?.name)
  const sorted =
    column === undefined
      ? rows
      : [...rows].sort((a, b) => compare(column.sortBy(a), column.sortBy(b), sorting?.isRising === true))
  const choose = (name: string) =>
    setSorting((known) => ({ name, isRising: known?.name === name ? !known.isRising : false }))
  const heads = columns.map((each) => {
    const direction = each.name !== sorting?.name ? undefined : sorting.isRising ? "ascending" : "descending"
    return { ...each, sorted: direction, sort: () => choose(each.name) } as const
  })
  return html`<${Table} ...${table} rows=${sorted} columns=${heads} />`
}

/** Empty values come last, in both directions. */
const compare = (a: number | string, b: number | string, isRising: boolean): number => {
  if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(a)) - Number(Number.isNaN(b))
  const order = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b))
  return isRising ? order : -order
}
