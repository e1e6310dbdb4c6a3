/** A reader of Gemini requests, whose names are written in two ways. */
import { FieldReader, type FieldTable } from "../client/fields.ts"
import { isObject, type JsonObject } from "../parse/json.ts"

/** Reads objects whose names come in both spellings, and refuses one name in both. */
export class GenerateReader extends FieldReader {
  fields(value: unknown, path: string): JsonObject {
    const sent = this.object(value, path)
    const read = camel(sent)
    if (Object.keys(read).length < Object.keys(sent).length) this.refuse(path, "names a field in both spellings")
    return read
  }

  /** The same of an object whose fields are in a table. */
  checkedFields(table: FieldTable, value: unknown, path: string): JsonObject {
    const read = this.fields(value, path)
    this.check(table, read, path)
    return read
  }
}

/** A field's name as it was sent. */
export const nameIn = (value: unknown, name: string): string =>
  (isObject(value) ? Object.keys(value).find((sent) => camelName(sent) === name) : undefined) ?? name

const camelName = (name: string): string => name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase())

/** Google reads names in both spellings. */
export const camel = (value: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(value).map(([name, field]) => [camelName(name), field]))
