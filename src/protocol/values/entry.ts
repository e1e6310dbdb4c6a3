/**
 * Looks up a word of another system: a vendor's finish reason, a client's service tier.
 *
 * **Gotchas**: a plain index, `table[word]`, also finds what every object inherits, such as `constructor`.
 */
export const entryOf = <A>(table: Readonly<Record<string, A>>, word: string | undefined): A | undefined =>
  word !== undefined && Object.hasOwn(table, word) ? table[word] : undefined
