/** The first place where a request leaves the shape of a vendor's API. */
import { Result, Schema, type SchemaIssue } from "effect"

/** The reason why a value does not fit. */
export interface ShapeFault {
  readonly path: ReadonlyArray<string | number>
  readonly why: "unknown" | "missing" | "type" | "value"
}

/** A field that may be absent. */
export const maybe = <S extends Schema.Constraint>(schema: S): Schema.optionalKey<S> => Schema.optionalKey(schema)

/** A field that may be absent or null. */
export const nullable = <S extends Schema.Constraint>(schema: S): Schema.optionalKey<Schema.NullOr<S>> =>
  Schema.optionalKey(Schema.NullOr(schema))

/** A count that is at least one. */
export const Positive = Schema.Int.check(Schema.isGreaterThanOrEqualTo(1))

export const between = (minimum: number, maximum: number): Schema.Finite =>
  Schema.Finite.check(Schema.isBetween({ minimum, maximum }))

/** An object whose names are the caller's. */
export const AnyObject = Schema.Record(Schema.String, Schema.Unknown)

type Shape = Schema.Decoder<unknown>

const strictly = { errors: "first", onExcessProperty: "error" } as const

export const shapeFault = (shape: Shape, value: unknown): ShapeFault | undefined => {
  const decoded = Schema.decodeUnknownResult(shape, strictly)(value)
  return Result.isSuccess(decoded) ? undefined : faultIn(decoded.failure.issue, [])
}

const faultIn = (issue: SchemaIssue.Issue, path: ShapeFault["path"]): ShapeFault => {
  switch (issue._tag) {
    case "Pointer":
      return faultIn(issue.issue, [...path, ...issue.path.map((key) => (typeof key === "number" ? key : String(key)))])
    case "Composite":
      return faultIn(issue.issues[0], path)
    case "AnyOf": {
      // The member that was meant is the one that fits farthest.
      const faults = issue.issues.map((each) => faultIn(each, path))
      const [deepest] = faults.sort((a, b) => b.path.length - a.path.length)
      return deepest ?? { path, why: issue.ast.types.some(({ _tag }) => _tag === "Literal") ? "value" : "type" }
    }
    case "MissingKey":
      return { path, why: "missing" }
    case "UnexpectedKey":
      return { path, why: "unknown" }
    case "InvalidType":
      return { path, why: "type" }
    default:
      return { path, why: "value" }
  }
}

/** The value at a path; undefined if there is none. */
export const valueAt = (body: unknown, path: ShapeFault["path"]): unknown =>
  path.reduce<unknown>(
    (value, key) => (typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined),
    body,
  )
