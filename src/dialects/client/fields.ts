/**
 * The lists of fields of a client's request. A field is in one of five lists: carried; without effect elsewhere;
 * known to its own API alone; accepted with neutral values only; refused. A field that is in none is new: it is carried to a
 * vendor of the same API, and refused elsewhere, because dropping one silently would cost its user money.
 */
import { Result } from "effect"
import { type ExactPlaces, placesIn } from "../parse/exact-places.ts"
import { isObject, type JsonObject } from "../parse/json.ts"

/** The reason why a request cannot become one of twp/1. */
export interface FieldRefusal {
  /** The field, as the client named it, e.g. `messages.0.content`. */
  readonly path: string
  readonly message: string
}

/** The client's names of the messages and blocks of a thread. */
export type ClientPlaces = ReadonlyMap<unknown, string>

export type FieldRule =
  | { readonly list: "carried" }
  | { readonly list: "without effect"; readonly why: string }
  | { readonly list: "own"; readonly values: ReadonlyArray<unknown> }
  /** `why`: the reason why other values are refused. */
  | { readonly list: "neutral"; readonly values: ReadonlyArray<unknown>; readonly why?: string }
  | { readonly list: "refused"; readonly why: string }

export type FieldTable = Readonly<Record<string, FieldRule>>

export const carried: FieldRule = { list: "carried" }
export const withoutEffect = (why: string): FieldRule => ({ list: "without effect", why })
/** A field that only a vendor of the same API understands; elsewhere these values change nothing. */
export const own = (...values: ReadonlyArray<unknown>): FieldRule => ({ list: "own", values })
export const neutral = (...values: ReadonlyArray<unknown>) => ({ list: "neutral", values }) as const satisfies FieldRule
export const refused = (why: string): FieldRule => ({ list: "refused", why })

/** The same rule for several fields. */
export const all = <Name extends string>(rule: FieldRule, ...names: ReadonlyArray<Name>): FieldTable =>
  Object.fromEntries(names.map((name) => [name, rule]))

/** Reads a request, and remembers the first field that cannot be honoured. */
export class FieldReader {
  refusal: FieldRefusal | undefined
  /** The first field that only a vendor of the same API supports. */
  lack: FieldRefusal | undefined
  /** Fields that are in no table. */
  readonly newFields: Array<string> = []
  /** The bytes of their values, and of other fields that twp/1 does not support: a vendor may count them. */
  newBytes = 0
  /** Fields that are left out, because they change no answer. */
  readonly omitted: Array<string> = []
  /** Parts of the request that belong to another vendor. */
  readonly foreign: Array<string> = []

  /** The positions of the client's own JSON, by the values that were made of it. */
  readonly #exact = new Map<unknown, string>()

  /**
   * Remembers the position of JSON whose text is forwarded unchanged.
   * @param read the value that was made of it
   */
  exactly<A>(read: A, path: string): A {
    if (isObject(read)) this.#exact.set(read, path)
    return read
  }

  /** The client's names of messages and blocks, for the checks that follow. */
  readonly #places = new Map<unknown, string>()

  /** Remembers the client's name of a block. */
  placed(block: JsonObject, path: string): JsonObject {
    this.#places.set(block, path)
    return block
  }

  /** Remembers the client's name of messages, and of those of their blocks that have none yet. */
  placedMessages<Message extends JsonObject>(messages: ReadonlyArray<Message>, path: string): ReadonlyArray<Message> {
    for (const message of messages) {
      this.#places.set(message, path)
      const { blocks } = message
      if (!Array.isArray(blocks)) continue
      for (const block of blocks) if (!this.#places.has(block)) this.#places.set(block, path)
    }
    return messages
  }

  /** The same for a copy of a value, such as a block that was marked. */
  copied(copy: JsonObject, read: JsonObject): JsonObject {
    const [path, place] = [this.#exact.get(read), this.#places.get(read)]
    if (place !== undefined) this.#places.set(copy, place)
    return path === undefined ? copy : this.exactly(copy, path)
  }

  refuse(path: string, message: string): void {
    this.refusal ??= { path, message }
  }

  /** Records that other APIs do not support a field. */
  lacks(path: string, message: string): void {
    this.lack ??= { path, message }
  }

  /** Checks the fields of an object against its table. */
  check(table: FieldTable, value: JsonObject, path: string): void {
    for (const name of Object.keys(value)) {
      if (!Object.hasOwn(table, name)) {
        this.#checkNew(table, name, value[name], at(path, name))
        continue
      }
      const rule = table[name]
      if (rule?.list === "without effect" && !isEmpty(value[name])) this.omitted.push(at(path, name))
      // Fields of the whole request are labels and switches.
      if (path !== "" && (rule?.list === "without effect" || rule?.list === "own")) this.#count(value[name])
      const refusal = refusalOf(rule, value[name])
      if (refusal === undefined) continue
      if (rule?.list === "own") this.lacks(at(path, name), refusal)
      else this.refuse(at(path, name), refusal)
    }
  }

  #checkNew(table: FieldTable, name: string, value: unknown, path: string): void {
    if (inherited.has(name)) {
      this.refuse(path, "is no name of a field")
      return
    }
    if (this.newFields.length >= mostNewFields) {
      this.refuse(path, `is one of more than ${mostNewFields} fields that the gateway does not know`)
      return
    }
    // Some servers ignore the case of names.
    if (spellingsIn(table).has(spellingOf(name))) {
      this.refuse(path, "is another spelling of a known field")
      return
    }
    this.newFields.push(path)
    this.#count(value)
    this.lacks(path, "is not a field of this API that the gateway knows")
  }

  #count(value: unknown): void {
    this.newBytes += Buffer.byteLength(JSON.stringify(value) ?? "")
  }

  string(value: unknown, path: string): string {
    if (typeof value === "string") return value
    this.refuse(path, "must be a string")
    return ""
  }

  object(value: unknown, path: string): JsonObject {
    if (isObject(value)) return value
    this.refuse(path, "must be an object")
    return {}
  }

  /** An object whose fields are in a table. */
  checked(table: FieldTable, value: unknown, path: string): JsonObject {
    const object = this.object(value, path)
    this.check(table, object, path)
    return object
  }

  list(value: unknown, path: string): ReadonlyArray<unknown> {
    if (Array.isArray(value)) return value
    this.refuse(path, "must be a list")
    return []
  }

  /** An object that may be absent. */
  optionalObject(value: unknown, path: string): JsonObject {
    return isAbsent(value) ? {} : this.object(value, path)
  }

  /** A list that may be absent. */
  optionalList(value: unknown, path: string): ReadonlyArray<unknown> {
    return isAbsent(value) ? [] : this.list(value, path)
  }

  /** The read request, unless it has a field that is not supported. */
  result<A>(read: A): Result.Result<A, FieldRefusal> {
    const refusal = this.refusal ?? this.lack
    return refusal === undefined ? Result.succeed(read) : Result.fail(refusal)
  }

  /** The read request, unless a field is refused by every vendor. */
  carriedResult<A extends { readonly exchange: JsonObject }>(
    read: A,
  ): Result.Result<A & { readonly exact: ExactPlaces | undefined; readonly places: ClientPlaces }, FieldRefusal> {
    if (this.refusal !== undefined) return Result.fail(this.refusal)
    return Result.succeed({ ...read, exact: placesIn(read.exchange, this.#exact), places: this.#places })
  }

  /** The value for an API's name. */
  word<A>(words: Readonly<Record<string, A>>, value: unknown, path: string): A | undefined {
    if (isAbsent(value)) return undefined
    if (typeof value === "string" && Object.hasOwn(words, value)) return words[value]
    this.lacks(path, `must be one of ${Object.keys(words).join(", ")}`)
    return undefined
  }
}

export const isAbsent = (value: unknown): value is null | undefined => value === null || value === undefined

/**
 * Leaves out absent fields; null is absent.
 * @param fields named by us, not by a client
 */
export const present = (fields: JsonObject): JsonObject => presentIfAny(fields) ?? {}

/** {@link present}, or nothing if all are absent: then there is nothing to check. */
export const presentIfAny = (fields: JsonObject): JsonObject | undefined => {
  let kept: Record<string, JsonObject[string]> | undefined
  for (const name in fields) {
    const value = fields[name]
    if (isAbsent(value)) continue
    kept ??= {}
    kept[name] = value
  }
  return kept
}

const at = (path: string, name: string): string => (path === "" ? name : `${path}.${name}`)

/** Names that every object has in some languages. */
const inherited: ReadonlySet<string> = new Set(["__proto__", "constructor", "prototype"])

/** The maximum number of new fields: an API has few at once, and each is named in a warning. */
const mostNewFields = 64

const knownSpellings = new WeakMap<FieldTable, ReadonlySet<string>>()

const spellingsIn = (table: FieldTable): ReadonlySet<string> => {
  const known = knownSpellings.get(table) ?? new Set(Object.keys(table).map(spellingOf))
  knownSpellings.set(table, known)
  return known
}

const spellingOf = (name: string): string => name.replace(/[_-]/g, "").toLowerCase()

const refusalOf = (rule: FieldRule | undefined, value: unknown): string | undefined => {
  if (rule === undefined || rule.list === "carried" || rule.list === "without effect" || isEmpty(value))
    return undefined
  if (rule.list === "refused") return `is not supported: ${rule.why}`
  const text = JSON.stringify(value)
  const isNeutral = rule.values.some((known) => JSON.stringify(known) === text)
  if (isNeutral) return undefined
  if (rule.values.length === 0) return "is understood by its own API alone"
  const only = `is supported only as ${rule.values.map((known) => JSON.stringify(known)).join(" or ")}`
  return rule.list === "neutral" && rule.why !== undefined ? `${only}: ${rule.why}` : only
}

const isEmpty = (value: unknown): boolean =>
  isAbsent(value) ||
  (Array.isArray(value) && value.length === 0) ||
  (isObject(value) && Object.keys(value).length === 0)
