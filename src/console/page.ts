/** The properties of every page. */

/** The rest of the address is the page's own. */
export interface PageProps {
  readonly parts: ReadonlyArray<string>
  readonly query: Readonly<Record<string, string>>
}
