/** The ids of one call of a route: those that it names must be its caller's, and those that the vendor gives become so. */
import { Effect } from "effect"
import type { CallTarget } from "../../catalogue/snapshot.ts"
import type { Caller } from "../../identity/caller.ts"
import { ownerOf } from "../../kept-responses/kept-response.ts"
import type { IdOwner, IdOwners } from "../../pass-through/id-owners.ts"
import { hasOtherList, listedElements } from "../../pass-through/listed-ids.ts"
import { type IdSegment, longestId } from "../../pass-through/named-ids.ts"
import { type ReplyPlace, valuesAt } from "../../pass-through/reply-path.ts"
import { type ServiceError, serviceError } from "../../protocol/error.ts"
import { cut, editJsonText, type JsonEdit } from "../../protocol/json/json-edit.ts"
import { type StoreUnavailable, toServiceError } from "../../store/unavailable.ts"
import type { PassedRequest } from "./passed-request.ts"

/** The same for ids of others and for ids that nobody has: nobody learns which ids exist. */
const unknownId = serviceError("not_found", "There is no such object")
const noList = serviceError("not_found", "The owners of this list are not declared: an element's own address works")
const tooLong = serviceError("upstream_error", "The vendor's list is too long: ask for a shorter page")

export class PassedIds {
  readonly #owners: IdOwners["Service"]
  readonly #owner: IdOwner
  readonly #request: PassedRequest
  /** Texts of the request that may be ids. */
  readonly #named: ReadonlySet<string>

  constructor(owners: IdOwners["Service"], caller: Caller, request: PassedRequest) {
    this.#owners = owners
    this.#owner = { org: caller.org.id, ...ownerOf(caller) }
    this.#request = request
    this.#named = new Set([...request.ids.flatMap(({ spellings }) => spellings), ...request.named])
  }

  /** Whether replies of the route have ids. */
  get areGiven(): boolean {
    const { ids, listed } = this.#request.route
    return ids.length > 0 || listed.length > 0
  }

  /**
   * The first segment of the path that its declaration does not name: it must be the caller's id, also where it looks like a
   * word, as names may that tenants choose. Objects below it belong to it.
   */
  get #parent(): IdSegment | undefined {
    return this.areGiven ? this.#request.ids[0] : undefined
  }

  /** Whether a reply is a list of all that the account of the vendor has. */
  get isOfAll(): boolean {
    return this.areGiven && this.#request.method === "GET" && this.#parent === undefined
  }

  /** Whether everything that the account has would be changed. */
  get #changesAll(): boolean {
    const { method } = this.#request
    return this.areGiven && this.#parent === undefined && method !== "GET" && method !== "POST"
  }

  /** Fails if the request names an id that is not its caller's. */
  check(target: CallTarget): Effect.Effect<void, ServiceError> {
    if (this.isOfAll && this.#request.route.listed.length === 0) return Effect.fail(noList)
    if (this.#changesAll) return Effect.fail(unknownId)
    if (this.#named.size === 0) return Effect.void
    const parent = this.#parent
    return Effect.flatMap(this.#find(target, [...this.#named]), ({ own, others }) => {
      const isForeign = parent !== undefined && !parent.spellings.some((spelling) => own.has(spelling))
      return isForeign || others.size > 0 ? Effect.fail(unknownId) : Effect.void
    })
  }

  /** The new ids of a value of a reply. Below an object, an id that the request names is no new one: a file of a store. */
  newIn(json: unknown): ReadonlyArray<string> {
    const ids = idsAt(json, this.#request.route.ids)
    return this.#parent === undefined ? ids : ids.filter((id) => !this.#named.has(id))
  }

  /** Gives new ids to the caller. Fails if another has one of them, or if the call made nothing and nobody has it. */
  record(target: CallTarget, ids: ReadonlyArray<string>): Effect.Effect<void, ServiceError> {
    if (ids.length === 0) return Effect.void
    const found = this.isOfAll ? this.#find(target, ids) : this.#give(target, ids)
    return Effect.flatMap(found, ({ own }) => (ids.every((id) => own.has(id)) ? Effect.void : Effect.fail(unknownId)))
  }

  /** The text of a reply without the elements of lists that are not the caller's. */
  filtered(target: CallTarget, json: unknown, text: string): Effect.Effect<string, ServiceError> {
    const { ids, listed } = this.#request.route
    if (this.#parent !== undefined || listed.length === 0) return Effect.succeed(text)
    // An object of the caller's may have lists of anything.
    if (this.isOfAll && idsAt(json, ids).length === 0 && hasOtherList(json, listed)) return Effect.fail(noList)
    const elements = listedElements(json, listed)
    if (elements === undefined) return Effect.fail(tooLong)
    if (elements.length === 0) return Effect.succeed(text)
    const named = elements.flatMap(({ values }) => values.filter(isId))
    return Effect.map(this.#find(target, named), ({ own }) => {
      const isOwn = (value: unknown) => isId(value) && own.has(value)
      const foreign = elements.filter(({ values }) => values.length === 0 || !values.every(isOwn))
      const names = new Set(named.filter((id) => !own.has(id)))
      return editJsonText(text, [...foreign.map(({ path }) => cut(...path)), ...cursors(json, names)])
    })
  }

  /**
   * The vendor has removed the object that the path names. An object below another one keeps its owner: a file that was taken
   * out of a store is still in the account.
   */
  removed(target: CallTarget): Effect.Effect<void> {
    const { ids, method } = this.#request
    const last = ids.at(-1)
    const isBelow = this.#parent !== undefined && this.#parent !== last
    if (method !== "DELETE" || last === undefined || isBelow) return Effect.void
    return this.#owners
      .forget(placeOf(target, this.#owner), this.#owner, last.spellings)
      .pipe(Effect.catch((cause) => Effect.logWarning("An id that was removed is still recorded", cause)))
  }

  #find(target: CallTarget, texts: ReadonlyArray<string>) {
    return Effect.mapError(this.#owners.find(placeOf(target, this.#owner), this.#owner, texts), storeError)
  }

  #give(target: CallTarget, ids: ReadonlyArray<string>) {
    return Effect.mapError(this.#owners.record(placeOf(target, this.#owner), this.#owner, ids), storeError)
  }
}

const storeError = (error: StoreUnavailable): ServiceError => toServiceError(error)

/** An organisation's own key is another account of its vendor. */
const placeOf = ({ vendor, isOwn }: CallTarget, { org }: IdOwner): string => (isOwn ? `${vendor.id} ${org}` : vendor.id)

const isId = (value: unknown): value is string =>
  typeof value === "string" && value.length > 0 && value.length <= longestId && !/\p{Cc}/u.test(value)

const idsAt = (json: unknown, places: ReadonlyArray<ReplyPlace>): ReadonlyArray<string> =>
  places.flatMap((place) => valuesAt(json, place)).flatMap(({ value }) => (isId(value) ? [value] : []))

/** Members beside a list that name an element of it which is left out: nobody may go on from there. */
const cursors = (json: unknown, left: ReadonlySet<string>): ReadonlyArray<JsonEdit> =>
  typeof json !== "object" || json === null
    ? []
    : Object.entries(json).flatMap(([name, value]) =>
        typeof value === "string" && left.has(value) ? [{ path: [name], json: "null" }] : [],
      )
