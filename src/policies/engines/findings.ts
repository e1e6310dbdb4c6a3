/** Findings anywhere in an answer. Pure. */
import { isObject, type JsonObject } from "../../dialects/parse/json.ts"

/** Whether any object of a value, however deep, is one of those meant. Replies of engines are at most 64 deep. */
export const anyWithin = (value: unknown, isMeant: (object: JsonObject) => boolean): boolean => {
  if (Array.isArray(value)) return value.some((each) => anyWithin(each, isMeant))
  if (!isObject(value)) return false
  return isMeant(value) || Object.values(value).some((each) => anyWithin(each, isMeant))
}
