/**
 * The positions of a client's own JSON in a body, which is forwarded as its text: `tools.0.parameters`,
 * `messages.2.content.0.input`.
 */
import type { JsonPath } from "../../protocol/json/json-edit.ts"
import { isObject, type JsonObject } from "./json.ts"

export interface ExactPlaces {
  /** Inputs of calls, and JSON that became the text `v` of a block. */
  readonly blocks: ReadonlyArray<{ readonly message: number; readonly block: number; readonly path: string }>
  /** Schemas of tools. */
  readonly tools: ReadonlyArray<{ readonly tool: number; readonly path: string }>
  /** The schema of the output. */
  readonly output?: string | undefined
}

/** Names are known and have no dots. */
export const pathOf = (path: string): JsonPath =>
  path.split(".").map((name) => (/^\d+$/.test(name) ? Number(name) : name))

/**
 * The positions of an exchange's own JSON in a body; undefined if there is none.
 * @param found the paths of inputs, schemas and blocks, by the values that were made of them
 */
export const placesIn = (
  { thread, tools, params }: JsonObject,
  found: ReadonlyMap<unknown, string>,
): ExactPlaces | undefined => {
  if (found.size === 0) return undefined
  const schema = isObject(params) && isObject(params["output"]) ? params["output"]["schema"] : undefined
  return {
    blocks: listOf(thread).flatMap((one, message) =>
      listOf(one["blocks"]).flatMap((each, block) => {
        const path = found.get(each["t"] === "tool_call" ? each["input"] : each)
        return path === undefined ? [] : [{ message, block, path }]
      }),
    ),
    tools: listOf(tools).flatMap(({ inputSchema }, tool) => {
      const path = found.get(inputSchema)
      return path === undefined ? [] : [{ tool, path }]
    }),
    output: found.get(schema),
  }
}

const listOf = (value: unknown): ReadonlyArray<JsonObject> =>
  Array.isArray(value) ? value.map((each: unknown) => (isObject(each) ? each : {})) : []
