/**
 * Lists of SCIM resources. RFC 7644 section 3.4.2.
 *
 * **Details**: a filter that names a `userName`, an `externalId`, an id or a `displayName` is narrowed in the store; all others read
 * the organisation's resources a page at a time, so that the memory stays bounded.
 */
import { Effect, Option, Result, Schema } from "effect"
import type { Narrowing, Span } from "../../identity/scim/scim-rows.ts"
import { type ScimFailure, unwrap } from "../../identity/scim/scim-writes.ts"
import { maxCount } from "../../protocol/scim/discovery.ts"
import { type Filter, narrowing, parseFilter } from "../../protocol/scim/filter.ts"
import { matches } from "../../protocol/scim/match.ts"
import { refuse } from "../../protocol/scim/problem.ts"
import { hasAttribute, type Projection, project, readProjection } from "../../protocol/scim/projection.ts"
import type { ResourceKind } from "../../protocol/scim/schema.ts"
import type { StoreUnavailable } from "../../store/unavailable.ts"

/** The resources of one kind, as a list reads them. */
export interface Collection<A extends { readonly id: string }> {
  readonly kind: ResourceKind
  /** The attribute by whose name resources are found. */
  readonly nameAttribute: string
  /** The attribute that costs a query of its own. */
  readonly costly: string
  readonly list: (by: Narrowing, span: Span, withCostly: boolean) => Effect.Effect<ReadonlyArray<A>, StoreUnavailable>
  readonly count: Effect.Effect<number, StoreUnavailable>
  readonly json: (resource: A) => Schema.JsonObject
}

export interface ListQuery {
  readonly filter: Filter | undefined
  /** The filter as it was sent. */
  readonly text: string
  readonly startIndex: number
  readonly count: number
  readonly projection: Projection
}

/** A part of a list, and the number of all that it has. */
export interface Listed {
  readonly total: number
  readonly resources: ReadonlyArray<Schema.JsonObject>
}

/** The parameters of a list, of a query or of a search request. */
export const SearchRequest = Schema.Struct({
  filter: Schema.optionalKey(Schema.String),
  startIndex: Schema.optionalKey(Schema.Union([Schema.Number, Schema.String])),
  count: Schema.optionalKey(Schema.Union([Schema.Number, Schema.String])),
  attributes: Schema.optionalKey(Schema.Array(Schema.String)),
  excludedAttributes: Schema.optionalKey(Schema.Array(Schema.String)),
})
const decodeSearch = Schema.decodeUnknownOption(SearchRequest)

export const readListQuery = (kind: ResourceKind, sent: unknown): Effect.Effect<ListQuery, ScimFailure> => {
  const search = Option.getOrUndefined(decodeSearch(sent))
  if (search === undefined) return unwrap(refuse("invalidSyntax", "The search request cannot be read"))
  const { filter: text, startIndex = 1, count = maxCount, attributes, excludedAttributes } = search
  const [start, most] = [integerOf(startIndex), integerOf(count)]
  if (start === undefined || most === undefined) {
    return unwrap(refuse("invalidValue", "startIndex and count are integers"))
  }
  const parsed = text === undefined ? Result.succeed(undefined) : parseFilter(kind, text)
  return Effect.map(unwrap(parsed), (filter) => ({
    filter,
    text: text ?? "",
    startIndex: Math.min(Math.max(1, start), maxStart),
    count: Math.min(Math.max(0, most), maxCount),
    projection: readProjection(kind, attributes, excludedAttributes),
  }))
}

/** The largest offset of the store. */
const maxStart = 2 ** 31 - 1

const integerOf = (value: string | number): number | undefined => {
  const number = Number(value)
  return Number.isInteger(number) && value !== "" ? number : undefined
}

const pageSize = 500

export const listOf = Effect.fnUntraced(function* <A extends { readonly id: string }>(
  collection: Collection<A>,
  query: ListQuery,
): Effect.fn.Return<Listed, ScimFailure> {
  const { filter, projection, startIndex, count } = query
  const withCostly = hasAttribute(projection, collection.costly)
  const show = (resources: ReadonlyArray<A>) => resources.map((each) => project(collection.json(each), projection))
  if (filter === undefined) {
    const total = yield* collection.count
    const span = { offset: startIndex - 1, limit: count }
    const found = count === 0 || startIndex > total ? [] : yield* collection.list({}, span, withCostly)
    return { total, resources: show(found) }
  }
  const by = {
    id: narrowing(filter, "id"),
    externalId: narrowing(filter, "externalId"),
    name: narrowing(filter, collection.nameAttribute),
  }
  // Costly attributes are needed for each resource only if the filter names them, or few are left.
  const isNarrow = Object.values(by).some((value) => value !== undefined)
  const needsCostly = query.text.toLowerCase().includes(collection.costly.toLowerCase())
  const kept: Array<A> = []
  let total = 0
  let after: string | undefined
  while (true) {
    const page = yield* collection.list(by, { after, limit: pageSize }, needsCostly || (isNarrow && withCostly))
    const last = page.at(-1)
    if (last === undefined) break
    for (const each of page) {
      if (!matches(filter, collection.json(each))) continue
      total++
      if (total >= startIndex && kept.length < count) kept.push(each)
    }
    after = last.id
  }
  if (!withCostly || needsCostly || isNarrow) return { total, resources: show(kept) }
  const shown: Array<A> = []
  for (const { id } of kept) shown.push(...(yield* collection.list({ id }, { limit: 1 }, true)))
  return { total, resources: show(shown) }
})

export const listResponse = (
  totalResults: number,
  startIndex: number,
  resources: ReadonlyArray<Schema.JsonObject>,
): Schema.JsonObject => ({
  schemas: ["urn:ietf:params:scim:api:messages:2.0:ListResponse"],
  totalResults,
  startIndex,
  itemsPerPage: resources.length,
  Resources: resources,
})
