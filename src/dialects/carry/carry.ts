/**
 * Carrying: a request goes to a vendor of the same API as its client sent it, with edits. The part that all APIs share is
 * here; the rest is in each dialect's `carry.ts`. Pure.
 */
import type { ExchangeParams } from "../../protocol/exchange.ts"
import { type ExtraParams, extraNames } from "../../protocol/extra-params.ts"
import { cut, cutPart, type JsonEdit, type JsonPath, set } from "../../protocol/json/json-edit.ts"
import type { VendorRequest } from "../chat-dialect.ts"
import { isObject } from "../parse/json.ts"
import type { HostedTool } from "../vendor/hosted-tools.ts"
import type { OwnRequest, SentBody } from "./carried-request.ts"

/** Hosted tools that are removed from a request: those that cost more than is held. */
export const omittedTools = (
  { hosted }: Pick<VendorRequest, "hosted">,
  own: Pick<OwnRequest, "hosted">,
): ReadonlyArray<HostedTool> =>
  own.hosted.filter(({ isFree, unit }) => !isFree && !(unit !== undefined && hosted?.allowed.includes(unit) === true))

/** The edits of a carried request in every API: removes other vendors' parts and omitted tools, and treats end users' ids. */
export const commonEdits = (
  request: VendorRequest,
  { own }: SentBody,
  names: { readonly toolChoice: string; readonly parallel?: string },
): Array<JsonEdit> => {
  const omitted = omittedTools(request, own)
  const edits: Array<JsonEdit> = [
    ...own.foreign.map(takenOut),
    ...own.endUsers.flatMap(({ path, id }) => endUserEdit(path, request.endUsers?.[id])),
    ...(own.said?.stream === undefined ? [] : [set(own.said.stream, "stream")]),
  ]
  // An empty list of tools, and a choice among them, are refused.
  const whole = omitted.filter(
    ({ path: [name, at, ...part] }) => name === "tools" && typeof at !== "string" && part.length === 0,
  )
  if (own.tools > 0 && whole.length === own.tools) {
    const { toolChoice, parallel } = names
    // Others are at other positions: in the thread, and beside the list.
    edits.push(cut("tools"), cut(toolChoice), ...(parallel === undefined ? [] : [cut(parallel)]))
    return [...edits, ...omitted.filter(({ path: [name] }) => name !== "tools").map(({ path }) => takenOut(path))]
  }
  return [...edits, ...omitted.map(({ path }) => takenOut(path))]
}

/** No message is left empty, and no group of tools. */
const takenOut = (path: JsonPath): JsonEdit => {
  const isInGroup = path[0] === "tools" && path.length === 4
  return isInGroup || path.at(-2) === "content" || path.at(-2) === "parts" ? cutPart(...path) : cut(...path)
}

const endUserEdit = (path: JsonPath, replaced: string | undefined): ReadonlyArray<JsonEdit> => {
  if (replaced === undefined) return []
  return [replaced === "" ? cut(...path) : set(replaced, ...path)]
}

/** Whether the model's profile, or the model, removes the reasoning, or the effort, that was asked for. */
export const losesReasoning = ({ reasoning, effort }: VendorRequest, { asked }: SentBody): boolean =>
  (reasoning === undefined && (asked.reasoning !== undefined || asked.reasoningBudget !== undefined)) ||
  (effort === undefined && asked.effort !== undefined)

type Params = Omit<ExchangeParams, keyof ExtraParams> & ExtraParams

/** The positions of a parameter in an API; the first one is edited, the others are removed with it. */
export type ParamPlaces = { readonly [Name in keyof Params]?: ReadonlyArray<JsonPath> }

/** Parameters that the model's profile changes or removes. The limit of the output has a rule of its own. */
export const paramEdits = (request: VendorRequest, asked: ExchangeParams, places: ParamPlaces): Array<JsonEdit> => {
  const { temperature, topP, stop, extras } = request
  const allowed: { readonly [Name in keyof Params]?: Params[Name] | undefined } = {
    temperature,
    topP,
    ...(asked.stop !== undefined && { stop }),
    ...extras,
  }
  const edits: Array<JsonEdit> = []
  for (const name of changeable) {
    const [first, ...others] = places[name] ?? []
    const value = allowed[name]
    if (first === undefined || value === asked[name]) continue
    if (value !== undefined && (name !== "stop" || stop.length > 0)) edits.push(set(value, ...first))
    else edits.push(cut(...first), ...others.map((path) => cut(...path)))
  }
  return edits
}

const changeable = ["temperature", "topP", "stop", ...extraNames] as const

/**
 * Removes the named parameters from a body, at any value: values that would change the answer were refused or clamped
 * before.
 */
export const lackedEdits = (
  { head }: SentBody,
  names: ReadonlyArray<keyof Params>,
  places: ParamPlaces,
): Array<JsonEdit> =>
  names
    .flatMap((name) => places[name] ?? [])
    .filter((path) => isAt(head, path))
    .map((path) => cut(...path))

const isAt = (value: unknown, [name, ...rest]: JsonPath): boolean =>
  name === undefined || (isObject(value) && Object.hasOwn(value, name) && isAt(value[name], rest))

/**
 * The limit of the output: clamped, or added if the client gave none.
 * @param path its position, or the position where it is added
 */
export const limitEdit = (
  { maxTokens }: VendorRequest,
  asked: ExchangeParams,
  path: JsonPath,
): ReadonlyArray<JsonEdit> => (asked.maxTokens === maxTokens ? [] : [set(maxTokens, ...path)])
