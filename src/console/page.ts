/** The properties of every page. */

/** A page shows the rest of the address. */
export interface PageProps {
  readonly parts: ReadonlyArray<string>
  readonly query: Readonly<Record<string, string>>
}
