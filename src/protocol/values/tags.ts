/** Tags of calls: names and values by which usage is counted, such as `{team: "search"}`. */
import { Schema } from "effect"

const namePattern = /^[a-z][a-z0-9_-]{0,31}$/
export const TagName = Schema.String.check(
  Schema.isPattern(namePattern, { expected: "a name of a tag: 1 to 32 of a-z, 0-9, _ and -, the first a letter" }),
)

/** Printable: no control characters, and nothing that is not seen. */
export const TagValue = Schema.String.check(
  Schema.isPattern(/^[^\p{C}\p{Zl}\p{Zp}]{1,64}$/u, { expected: "1 to 64 printable characters" }),
)

const mostTags = 8

/** At most 8 tags. */
export const Tags = Schema.Record(TagName, TagValue).check(
  Schema.makeFilter((tags: Readonly<Record<string, string>>) =>
    Object.keys(tags).length <= mostTags ? undefined : `has more than ${mostTags} tags`,
  ),
)
export type Tags = typeof Tags.Type

/** The value of a tag; undefined if there is none, also for `constructor`, which each object inherits. */
export const tagOf = (tags: Tags, name: string): string | undefined =>
  Object.hasOwn(tags, name) ? tags[name] : undefined

/** A tag as a dimension or a scope, e.g. `tag:feature`. */
export type TagScope = `tag:${string}`

export const TagScope = Schema.String.check(
  Schema.isPattern(/^tag:[a-z][a-z0-9_-]{0,31}$/, { expected: "tag: and the name of a tag, such as tag:feature" }),
)

export const isTagScope = (text: string): text is TagScope => text.startsWith("tag:") && namePattern.test(text.slice(4))

/** The name of a tag in a dimension or scope. */
export const tagIn = (scope: TagScope): string => scope.slice("tag:".length)

/**
 * Reads the header `x-svc-tags`: `team=search, feature=rank`; values may be percent-encoded. Undefined members are left to the schema, which
 * names them.
 */
export const tagsInHeader = (text: string): Record<string, string> =>
  Object.fromEntries(
    text.split(",").flatMap((part) => {
      const [name = "", ...value] = part.trim().split("=")
      return part.trim() === "" ? [] : [[name.trim(), decoded(value.join("=").trim())]]
    }),
  )

const decoded = (value: string): string => {
  try {
    return decodeURIComponent(value)
  } catch {
    return value
  }
}

/** Tags as one text, in an order of their names, e.g. `feature=rank; team=search`. */
export const tagsText = (tags: Tags): string =>
  Object.entries(tags)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${name}=${value}`)
    .join("; ")
