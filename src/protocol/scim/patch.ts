/**
 * PATCH of SCIM resources. Pure. RFC 7644 section 3.5.2.
 *
 * **Details**: operations in any case (Entra ID: `Replace`); with a path, a path that selects values, or none; `remove` with a
 * list of values (Entra ID) as well as with a selection (Okta). An `add` or `replace` that selects a value which the list does not
 * have makes one, if the selection is an equality: Entra ID sets `emails[type eq "work"].value` in this way.
 */

import type { Schema } from "effect"
import { Result } from "effect"
import { type Filter, type PatchPath, parsePath } from "./filter.ts"
import { matches } from "./match.ts"
import { type Checked, refuse } from "./problem.ts"
import { type Attribute, isList, isObject, memberNamed, type ResourceKind } from "./schema.ts"
import { checkList, isPrimary, isWritable, readList, readOne, readValue } from "./values.ts"

export const patchSchema = "urn:ietf:params:scim:api:messages:2.0:PatchOp"

type Op = "add" | "remove" | "replace"
interface Operation {
  readonly op: Op
  readonly path: string | undefined
  readonly value: Schema.Json | undefined
}

export const maxOperations = 1000
/** The values that the operations of a request may look at, so that one request cannot hold up others. */
const maxSteps = 5_000_000

/** Applies the operations of a PATCH body in their order. @returns the attributes after them */
export const applyPatch = (
  kind: ResourceKind,
  attributes: Schema.JsonObject,
  body: Schema.Json,
): Checked<Schema.JsonObject> =>
  Result.flatMap(readOperations(body), (operations) => {
    const draft = new Draft(kind, attributes)
    for (const operation of operations) {
      const done = draft.apply(operation)
      if (Result.isFailure(done)) return Result.fail(done.failure)
    }
    return draft.finished()
  })

const readOperations = (body: Schema.Json): Checked<ReadonlyArray<Operation>> => {
  const list = isObject(body) ? memberNamed(body, "Operations") : undefined
  if (!isList(list) || list.length === 0) return refuse("invalidSyntax", "Operations is required")
  if (list.length > maxOperations) return refuse("tooMany", `A request has at most ${maxOperations} operations`)
  const operations: Array<Operation> = []
  for (const item of list) {
    if (!isObject(item)) return refuse("invalidSyntax", "An operation is an object")
    const op = ops.get(String(memberNamed(item, "op")).toLowerCase())
    const path = memberNamed(item, "path") ?? undefined
    if (op === undefined) return refuse("invalidSyntax", "op is add, remove or replace")
    if (path !== undefined && typeof path !== "string") return refuse("invalidPath", "A path is a text")
    const value = memberNamed(item, "value")
    if (op !== "remove" && value === undefined) return refuse("invalidValue", `${op} needs a value`)
    operations.push({ op, path: path === "" ? undefined : path, value })
  }
  return Result.succeed(operations)
}

const ops: ReadonlyMap<string, Op> = new Map([
  ["add", "add"],
  ["remove", "remove"],
  ["replace", "replace"],
])

const done: Checked<void> = Result.void

/** A resource that is being changed. */
class Draft {
  private readonly kind: ResourceKind
  private readonly resource: Record<string, Schema.Json>
  private steps = 0

  constructor(kind: ResourceKind, resource: Schema.JsonObject) {
    this.kind = kind
    this.resource = { ...resource }
  }

  finished(): Checked<Schema.JsonObject> {
    const missing = this.kind.attributes.find(
      ({ name, required, type }) => required === true && type === "string" && this.resource[name] === undefined,
    )
    return missing === undefined
      ? Result.succeed(this.resource)
      : refuse("invalidValue", `${missing.name} cannot be removed`)
  }

  apply({ op, path, value }: Operation): Checked<void> {
    if (path !== undefined) {
      return Result.flatMap(parsePath(this.kind, path), (target) => this.set(op, target, value))
    }
    if (op === "remove") return refuse("noTarget", "remove needs a path")
    if (!isObject(value)) return refuse("invalidValue", "Without a path, value is an object")
    for (const [name, member] of Object.entries(value)) {
      const target = parsePath(this.kind, name)
      // Clients send what they have read, and attributes of other services.
      if (Result.isFailure(target) || !isTarget(target.success)) continue
      const set = this.set(op, target.success, member)
      if (Result.isFailure(set)) return set
    }
    return done
  }

  private set(op: Op, target: PatchPath, value: Schema.Json | undefined): Checked<void> {
    if (!isTarget(target)) return refuse("mutability", `${target.attribute?.name ?? "The attribute"} cannot be written`)
    if (target.extension === undefined) return setIn(this.resource, op, target, value, this.count)
    const { extension } = target
    const known = this.resource[extension]
    const holder: Record<string, Schema.Json> = isObject(known) ? { ...known } : {}
    const set =
      target.attribute === undefined
        ? this.setExtension(holder, op, value)
        : setIn(holder, op, target, value, this.count)
    if (Result.isFailure(set)) return set
    if (Object.keys(holder).length === 0) delete this.resource[extension]
    else this.resource[extension] = holder
    return done
  }

  private setExtension(holder: Record<string, Schema.Json>, op: Op, value: Schema.Json | undefined): Checked<void> {
    if (op === "remove") {
      for (const name of Object.keys(holder)) delete holder[name]
      return done
    }
    if (!isObject(value)) return refuse("invalidValue", "The value of an extension is an object")
    for (const attribute of this.kind.extension?.attributes ?? []) {
      const member = memberNamed(value, attribute.name)
      if (member === undefined) continue
      const set = setIn(holder, op, { attribute }, member, this.count)
      if (Result.isFailure(set)) return set
    }
    return done
  }

  private readonly count = (steps: number): boolean => {
    this.steps += steps
    return this.steps <= maxSteps
  }
}

const isTarget = ({ attribute, extension, sub }: PatchPath): boolean =>
  attribute === undefined ? extension !== undefined : isWritable(attribute) && (sub === undefined || isWritable(sub))

type Count = (steps: number) => boolean

/** Changes an attribute of an object. */
const setIn = (
  holder: Record<string, Schema.Json>,
  op: Op,
  target: PatchPath,
  value: Schema.Json | undefined,
  count: Count,
): Checked<void> => {
  const { attribute, sub, filter } = target
  if (attribute === undefined) return refuse("invalidPath", "The path has no attribute")
  const changed =
    attribute.multiValued === true
      ? changedList(attribute, listAt(holder, attribute), op, { sub, filter }, value, count)
      : changedOne(attribute, holder[attribute.name], op, sub, value)
  return Result.map(changed, (after) => {
    if (after === undefined) delete holder[attribute.name]
    else holder[attribute.name] = after
  })
}

const listAt = (holder: Schema.JsonObject, { name }: Attribute): ReadonlyArray<Schema.Json> => {
  const value = holder[name]
  return isList(value) ? value : []
}

type After = Checked<Schema.Json | undefined>

const changedOne = (
  attribute: Attribute,
  before: Schema.Json | undefined,
  op: Op,
  sub: Attribute | undefined,
  value: Schema.Json = null,
): After => {
  if (attribute.type !== "complex") return op === "remove" ? Result.succeed(undefined) : readValue(attribute, value)
  const parts = isObject(before) ? before : {}
  if (sub !== undefined)
    return Result.map(op === "remove" ? removed : readValue(sub, value), (part) => withPart(parts, sub, part))
  if (op === "remove" || value === null) return removed
  // The parts that are not sent stay, for `replace` too.
  return Result.map(readOne(attribute, value), (sent) => (isObject(sent) ? { ...parts, ...sent } : before))
}

const removed: After = Result.succeed(undefined)

const withPart = (parts: Schema.JsonObject, { name }: Attribute, part: Schema.Json | undefined) => {
  const { [name]: _, ...others } = parts
  const after = part === undefined ? others : { ...others, [name]: part }
  return Object.keys(after).length === 0 ? undefined : after
}

interface Selection {
  readonly sub: Attribute | undefined
  readonly filter: Filter | undefined
}

const changedList = (
  attribute: Attribute,
  before: ReadonlyArray<Schema.Json>,
  op: Op,
  { sub, filter }: Selection,
  value: Schema.Json | undefined,
  count: Count,
): After => {
  if (!count(before.length)) return refuse("tooMany", "The request has too many operations on long lists")
  if (filter !== undefined || sub !== undefined) return changedValues(attribute, before, op, { sub, filter }, value)
  if (op === "remove" && (value === undefined || value === null)) return removed
  return Result.flatMap(readList(attribute, value ?? null), (sent = []) => {
    if (op === "replace") return checkList(attribute, sent)
    const keys = new Set(sent.map(keyOf))
    if (op === "remove")
      return checkList(
        attribute,
        before.filter((known) => !keys.has(keyOf(known))),
      )
    const known = new Set(before.map(keyOf))
    const added = distinct(sent).filter((item) => !known.has(keyOf(item)))
    return checkList(attribute, [...(added.some(isPrimary) ? before.map(withoutPrimary) : before), ...added])
  })
}

const distinct = (values: ReadonlyArray<Schema.Json>): ReadonlyArray<Schema.Json> => [
  ...new Map(values.map((value) => [keyOf(value), value])).values(),
]

/** The identity of a value of a list: values with the same `value` and `type` are one. */
const keyOf = (value: Schema.Json): string =>
  isObject(value) && typeof value["value"] === "string"
    ? JSON.stringify([
        value["value"],
        value["$ref"] === undefined && value["type"] !== "User" ? (value["type"] ?? null) : null,
      ])
    : JSON.stringify(value)

const withoutPrimary = (value: Schema.Json): Schema.Json =>
  isObject(value) && value["primary"] === true ? { ...value, primary: false } : value

/** Changes the values that the filter selects; all without one. */
const changedValues = (
  attribute: Attribute,
  before: ReadonlyArray<Schema.Json>,
  op: Op,
  { sub, filter }: Selection,
  value: Schema.Json | undefined,
): After => {
  const isSelected = (item: Schema.Json) => filter === undefined || (isObject(item) && matches(filter, item))
  if (op === "remove" && sub === undefined)
    return checkList(
      attribute,
      before.filter((item) => !isSelected(item)),
    )
  const sent =
    op === "remove" ? removed : sub === undefined ? readOne(attribute, value ?? null) : readValue(sub, value ?? null)
  return Result.flatMap(sent, (part) => {
    const changed = (item: Schema.JsonObject) =>
      sub === undefined ? { ...item, ...(isObject(part) ? part : {}) } : withPart(item, sub, part)
    if (before.some(isSelected)) {
      const others = isObject(part) && part["primary"] === true ? withoutPrimary : (item: Schema.Json) => item
      const becomesPrimary = sub?.name === "primary" && part === true
      return checkList(
        attribute,
        before.flatMap((item) => {
          if (!isSelected(item)) return [becomesPrimary ? withoutPrimary(item) : others(item)]
          return (isObject(item) ? changed(item) : item) ?? []
        }),
      )
    }
    if (op === "remove" || part === undefined) return checkList(attribute, before)
    const made = filter === undefined ? {} : selected(filter)
    const item = made && changed(made)
    if (item === undefined) return refuse("noTarget", `${attribute.name}: no value is selected`)
    return checkList(attribute, [...(isPrimary(item) ? before.map(withoutPrimary) : before), item])
  })
}

/** A value that a filter of equalities selects. */
const selected = (filter: Filter): Schema.JsonObject | undefined => {
  if (filter.op === "eq") {
    const { attribute } = filter.path
    if (attribute === undefined || filter.value === null) return undefined
    const read = readOne(attribute, filter.value)
    return Result.isSuccess(read) && read.success !== undefined ? { [attribute.name]: read.success } : undefined
  }
  if (filter.op !== "and") return undefined
  const parts = filter.of.map(selected)
  return parts.every((part) => part !== undefined) ? Object.assign({}, ...parts) : undefined
}
