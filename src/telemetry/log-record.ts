/** A log entry: a message, and flat fields beside it; as a line of JSON, or as a line for people. */
import { styleText } from "node:util"
import { Array as Arr, Cause, Context, Formatter, type Logger, Predicate, References, Tracer } from "effect"

export interface LogRecord {
  /** Fields of the entry; names of the record's own members come back with an underscore. */
  readonly [field: string]: unknown
  /** ISO 8601. */
  readonly timestamp: string
  /** `DEBUG`, `INFO`, `WARN`, `ERROR` or `FATAL`. */
  readonly level: string
  readonly message: string
}

/**
 * Texts are the message, plain objects and annotations are fields, and anything else is the error: `requestId` is the
 * call's, `traceId` and `spanId` are there if the call is traced.
 */
export const logRecord = ({ message, logLevel, cause, fiber, date }: Logger.Options<unknown>): LogRecord => {
  const parts = Arr.ensure(message)
  const texts = parts.filter(Predicate.isString)
  const errors = parts.filter((part) => !Predicate.isString(part) && !isPlain(part))
  if (cause.reasons.length > 0) errors.push(cause)
  const span = Context.getOrUndefined(fiber.context, Tracer.ParentSpan)
  const fields: Record<string, unknown> = {}
  for (const source of [...parts.filter(isPlain), fiber.getRef(References.CurrentLogAnnotations)]) {
    for (const [name, value] of Object.entries(source)) {
      if (value !== undefined) fields[own.has(name) ? `${name}_` : name] = value
    }
  }
  return {
    ...fields,
    ...(errors.length > 0 && { error: errors.map(describeError).join("; ") }),
    ...(span !== undefined && { traceId: span.traceId, spanId: span.spanId }),
    timestamp: date.toISOString(),
    level: logLevel.toUpperCase(),
    message: texts.join(": "),
  }
}

const own = new Set(["timestamp", "level", "message", "error", "traceId", "spanId"])

const isPlain = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype

/** An error with its causes, on one line; a defect has the stack that shows its location. */
const describeError = (error: unknown): string => {
  if (Cause.isCause(error)) return error.reasons.map(describeReason).join("; ")
  const names: Array<string> = []
  for (let at = error, depth = 0; at !== undefined && at !== null && depth < 5; depth++) {
    const { name, text, cause } = describeOne(at)
    names.push(text === "" || text === name ? name : `${name}: ${text}`)
    at = cause
  }
  return names.join(" <- ")
}

const describeReason = (reason: Cause.Reason<unknown>): string => {
  if (Cause.isFailReason(reason)) return describeError(reason.error)
  if (!Cause.isDieReason(reason)) return "interrupted"
  return reason.defect instanceof Error
    ? (reason.defect.stack ?? describeError(reason.defect))
    : describeError(reason.defect)
}

interface Described {
  readonly name: string
  readonly text: string
  readonly cause?: unknown
}

const describeOne = (error: unknown): Described => {
  if (error instanceof Error) {
    const code = "code" in error && typeof error.code === "string" ? ` (${error.code})` : ""
    return { name: `${error.name}${code}`, text: error.message, cause: error.cause }
  }
  if (isPlain(error) && typeof error["_tag"] === "string") {
    return { name: error["_tag"], text: Formatter.formatJson(error), cause: undefined }
  }
  return { name: String(error), text: "" }
}

/** A line for machines. */
export const jsonLine = (record: LogRecord): string => Formatter.formatJson(record)

/** A line for people: the time of day, the level, the message, and `name=value` for each field. */
export const prettyLine = ({ timestamp, level, message, ...fields }: LogRecord, isColoured: boolean): string => {
  const style = (format: Style, text: string) =>
    isColoured ? styleText(format, text, { validateStream: false }) : text
  const rest = Object.entries(fields).map(([name, value]) => `${style("dim", `${name}=`)}${fieldText(value)}`)
  const time = style("dim", timestamp.slice(11, 23))
  return [time, style(levelStyles[level] ?? "reset", level.padEnd(5)), oneLine(message), ...rest].join(" ")
}

type Style = Parameters<typeof styleText>[0]

const levelStyles: Readonly<Record<string, Style>> = { WARN: "yellow", ERROR: "red", FATAL: "red", DEBUG: "dim" }

const fieldText = (value: unknown): string => {
  const isWord = typeof value === "string" && /^[\w./:@~+-]+$/.test(value)
  return isWord ? value : printable(Formatter.formatJson(value))
}

const oneLine = (text: string): string => printable(text.replace(/\s*\n\s*/g, " "))

/** The text without characters that move a terminal's cursor. */
const printable = (text: string): string =>
  text.replace(/\p{Cc}/gu, (control) => `\\u${(control.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`)
