/** Refusals in OpenAI's format. Source: https://platform.openai.com/docs/guides/error-codes */
import type { JsonObject } from "../../../dialects/parse/json.ts"
import { type ShapeFault, valueAt } from "../shape.ts"
import type { TwinFault, TwinRefusal } from "../twin.ts"

export const openaiRefusal = (
  rule: string,
  message: string,
  param: string | null,
  code: string | null = null,
): TwinRefusal => ({
  rule,
  status: 400,
  body: { error: { message, type: "invalid_request_error", param, code } },
})

export const brokenRefusal = ({ rule, path, message }: TwinFault & { readonly rule: string }): TwinRefusal =>
  openaiRefusal(rule, message, path === "" ? null : path)

/** `messages[0].content`. */
export const pathText = (path: ShapeFault["path"]): string =>
  path.reduce<string>(
    (text, key) => (typeof key === "number" ? `${text}[${key}]` : text === "" ? key : `${text}.${key}`),
    "",
  )

const kindOf = (value: unknown): string => {
  if (value === null) return "null"
  if (Array.isArray(value)) return "an array"
  return typeof value === "object" ? "an object" : `a ${typeof value}`
}

/** @param isFlat whether an unknown member of the body is reported like in chat completions */
export const shapeRefusal = (body: JsonObject, { path, why }: ShapeFault, isFlat: boolean): TwinRefusal => {
  const param = pathText(path)
  switch (why) {
    case "unknown":
      return isFlat && path.length === 1
        ? openaiRefusal("shape", `Unrecognized request argument supplied: ${param}`, null)
        : openaiRefusal("shape", `Unknown parameter: '${param}'.`, param, "unknown_parameter")
    case "missing":
      return openaiRefusal("shape", `Missing required parameter: '${param}'.`, param, "missing_required_parameter")
    case "type":
      return openaiRefusal(
        "shape",
        `Invalid type for '${param}': got ${kindOf(valueAt(body, path))} instead.`,
        param,
        "invalid_type",
      )
    case "value":
      return openaiRefusal("shape", `Invalid value for '${param}'.`, param, "invalid_value")
  }
}

export const tooLong = (path: string, kind: "string" | "array", most: number, length: number): TwinFault => ({
  path,
  message: `Invalid '${path}': ${kind} too long. Expected ${kind === "string" ? "a string" : "an array"} with maximum length ${most}, but got ${kind === "string" ? "a string" : "an array"} with length ${length} instead.`,
})
