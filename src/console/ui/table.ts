/** The one table: a caption for screen readers, columns, rows, an empty state, and the button for the next page. */

import { html } from "htm/preact"
import type { ComponentChildren } from "preact"
import type { Pages } from "../load.ts"
import { ErrorBox, Loading } from "./parts.ts"

export interface Column<Row> {
  readonly name: string
  readonly show: (row: Row) => ComponentChildren
  readonly align?: "right" | "nowrap"
  /** Sorts the rows by this column. */
  readonly sort?: () => void
  readonly sorted?: "ascending" | "descending" | undefined
}

export interface TableProps<Row> {
  readonly caption: string
  readonly columns: ReadonlyArray<Column<Row>>
  readonly rows: ReadonlyArray<Row>
  /** Shown instead of a table without rows. */
  readonly empty: ComponentChildren
}

export const Table = <Row>({ caption, columns, rows, empty }: TableProps<Row>) => {
  if (rows.length === 0) return empty
  return html`<div class="table" tabindex="0" role="region" aria-label="Table of ${caption.toLowerCase()}">
    <table>
      <caption class="hidden">${caption}</caption>
      <thead><tr>${columns.map((column) => html`<${HeadCell} column=${column} />`)}</tr></thead>
      <tbody>${rows.map((row) => html`<tr>${columns.map(({ show, align }) => html`<td class=${align}>${show(row)}</td>`)}</tr>`)}</tbody>
    </table>
  </div>`
}

const arrows = { ascending: " ↑", descending: " ↓" } as const

const HeadCell = <Row>({ column: { name, align, sort, sorted } }: { readonly column: Column<Row> }) =>
  html`<th scope="col" class=${align} aria-sort=${sorted}>${
    sort === undefined
      ? name
      : html`<button type="button" class="link" onClick=${sort}>${name}${sorted !== undefined && html`<span aria-hidden="true">${arrows[sorted]}</span>`}</button>`
  }</th>`

/** A table of a list with a cursor. */
export const PagedTable = <Row>({
  pages,
  ...table
}: Omit<TableProps<Row>, "rows"> & { readonly pages: Pages<Row> }) => {
  const { data, error, isLoading, more, reload } = pages
  return html`
    <${ErrorBox} error=${error} retry=${reload} />
    ${data === undefined ? isLoading && html`<${Loading} />` : html`<${Table} ...${table} rows=${data} />`}
    ${more !== undefined && html`<div><button class="quiet" type="button" disabled=${isLoading} onClick=${more}>Show more</button></div>`}
  `
}
