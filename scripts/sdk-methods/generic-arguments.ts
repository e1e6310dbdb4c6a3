/** Arguments for a method by the names that its source gives to its parameters: enough to see the route that it calls. */
import { checkedArguments } from "./checked-arguments.ts"
import type { Sdk } from "./clients.ts"
import type { SdkMethod } from "./walk.ts"

/** The text for an id in a recorded path, such as `{file_id}`. */
const placeholder = (name: string): string => `{${name.replace(/I[Dd]$/, "_id")}}`

/** Members of requests that Google's and Cohere's SDKs put into the path, or check before they send. */
const commonMembers: Readonly<Record<string, unknown>> = {
  name: "{name}",
  model: "{model}",
  parent: "{parent}",
  contents: "Hello",
  config: {},
}

/** @param id the method's place and name in its client */
export const genericArguments = (sdk: Sdk["name"], id: string, { source }: SdkMethod): ReadonlyArray<unknown> => {
  const [, list = ""] = /^(?:async\s+)?[\w$]*\s*\(([^)]*)\)/.exec(source) ?? []
  const parameters = list.split(",").map((parameter) => parameter.replace(/=.*/s, "").trim())
  return (
    checkedArguments[sdk]?.[id] ?? parameters.filter((name) => name !== "").map((name) => argumentFor(name, source))
  )
}

const argumentFor = (parameter: string, source: string): unknown => {
  if (/options$/i.test(parameter)) return undefined
  if (/^_?(params|body|query|request)_?$|Request$/.test(parameter))
    return { ...commonMembers, ...membersIn(parameter, source) }
  return placeholder(parameter)
}

/** The members that a method takes out of a parameter, except for the rest. */
const membersIn = (parameter: string, source: string): Readonly<Record<string, string>> => {
  const [, members = ""] = new RegExp(`\\{([^{}]*)\\}\\s*=\\s*${parameter}\\b`).exec(source) ?? []
  const names = members.split(",").map((name) => name.replace(/[:=].*/s, "").trim())
  const isOfPath = (name: string) => /^\w+$/.test(name) && !["betas", "api_version"].includes(name)
  return Object.fromEntries(names.filter(isOfPath).map((name) => [name, placeholder(name)]))
}
