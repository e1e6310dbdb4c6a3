/** Takes a secret, or a member of one that is JSON, from a store's answer. Pure. */
import { Schema } from "effect"
import { parseShallow } from "../secret-stores/store.ts"

export interface PickedSecret {
  readonly value: string | undefined
  /** The reason why there is no value, without anything of the secret. */
  readonly problem: string | undefined
}

/** Maximum length of a secret that is used: stores hold keys, certificates and JSON of accounts, which have a few KiB. */
export const longestSecret = 64 * 1024

const isObject = Schema.is(Schema.Record(Schema.String, Schema.Json))

/** Whitespace around it is removed, as around a secret in a file. An object within the JSON is returned as JSON. */
export const pickSecret = (text: string, member: string | undefined): PickedSecret => {
  if (member === undefined) return checked(text)
  const json = parseShallow(text)
  if (!isObject(json)) return refused(`it is not a JSON object, so it has no member ${member}`)
  if (!Object.hasOwn(json, member)) return refused(`it has no member ${member}`)
  const found = json[member]
  if (typeof found === "string") return checked(found)
  return typeof found === "object" && found !== null
    ? checked(JSON.stringify(found))
    : refused(`its member ${member} is neither text nor an object`)
}

const checked = (text: string): PickedSecret => {
  const value = text.trim()
  if (value === "") return refused("it is empty")
  return value.length > longestSecret
    ? refused(`it is longer than ${longestSecret / 1024} KiB`)
    : { value, problem: undefined }
}

const refused = (problem: string): PickedSecret => ({ value: undefined, problem })
