/**
 * A conversation of Cohere's API v1 as a thread of twp/1. Calls have no ids there: a result repeats the call that it is for.
 * Source: https://docs.cohere.com/v1/reference/chat
 */
import { canonicalJson } from "../../protocol/values/canonical.ts"
import { nonEmptyText } from "../client/client-parts.ts"
import { all, carried, type FieldReader, type FieldTable, isAbsent } from "../client/fields.ts"
import type { JsonObject } from "../parse/json.ts"

const entryFields: Readonly<Record<string, FieldTable>> = {
  USER: all(carried, "role", "message", "tool_calls"),
  CHATBOT: all(carried, "role", "message", "tool_calls"),
  SYSTEM: all(carried, "role", "message", "tool_calls"),
  TOOL: all(carried, "role", "tool_results"),
}

const roles: Readonly<Record<string, string>> = { USER: "user", CHATBOT: "assistant", SYSTEM: "system", TOOL: "tool" }

/** A call without its result. */
interface OpenCall {
  readonly id: string
  readonly name: unknown
  readonly parameters: unknown
}

/** Builds a thread, and gives each call an id that its result names. */
export class History {
  readonly thread: Array<JsonObject> = []
  readonly #reader: FieldReader
  #open: Array<OpenCall> = []
  #calls = 0

  constructor(reader: FieldReader) {
    this.#reader = reader
  }

  say(role: "system" | "user", text: unknown, path: string): void {
    if (!isAbsent(text)) this.#add(role, nonEmptyText(this.#reader.string(text, path)))
  }

  entry(value: unknown, path: string): void {
    const entry = this.#reader.object(value, path)
    const name = String(entry["role"]).toUpperCase()
    const role = Object.hasOwn(roles, name) ? roles[name] : undefined
    if (role === undefined) {
      this.#reader.refuse(`${path}.role`, "must be USER, CHATBOT, SYSTEM or TOOL")
      return
    }
    this.#reader.check(entryFields[name] ?? {}, entry, path)
    if (role === "tool") this.results(this.#reader.list(entry["tool_results"], `${path}.tool_results`), path)
    else this.#message(role, entry, path)
  }

  #message(role: string, { message, tool_calls: listed }: JsonObject, path: string): void {
    const said = isAbsent(message) ? "" : this.#reader.string(message, `${path}.message`)
    const calls = role === "assistant" ? this.#reader.optionalList(listed, `${path}.tool_calls`) : []
    this.#open = []
    const called = calls.map((call, index) => this.#call(call, `${path}.tool_calls.${index}`))
    this.#add(role, [...nonEmptyText(said), ...called])
  }

  /** Whether the last message of the model waits for results. */
  get waits(): boolean {
    return this.#open.length > 0
  }

  /** Results, after the calls that no message of the model made. @param path of the object that has them */
  results(results: ReadonlyArray<unknown>, path: string): void {
    const made: Array<JsonObject> = []
    const blocks = results.map((value, index) => {
      const at = `${path === "" ? "" : `${path}.`}tool_results.${index}`
      const { call, outputs } = this.#reader.checked(all(carried, "call", "outputs"), value, at)
      const { name, parameters } = this.#called(call, `${at}.call`)
      const v = JSON.stringify(this.#reader.list(outputs, `${at}.outputs`))
      const known = this.#taken(name, parameters)
      if (known !== undefined) return { t: "tool_result", id: known.id, v }
      const block = this.#call(call, `${at}.call`)
      made.push(block)
      this.#open.pop()
      return { t: "tool_result", id: block["id"], v }
    })
    this.#add("assistant", made)
    this.#add("tool", blocks)
  }

  /** The call that a result is for: with the same parameters, or else with the same name. */
  #taken(name: unknown, parameters: unknown): OpenCall | undefined {
    const text = canonicalOf(parameters)
    const same = this.#open.filter((call) => call.name === name)
    const found = same.find((call) => canonicalOf(call.parameters) === text) ?? same[0]
    this.#open = this.#open.filter((call) => call !== found)
    return found
  }

  #called(value: unknown, path: string) {
    const { name, parameters } = this.#reader.checked(all(carried, "name", "parameters", "generation_id"), value, path)
    return { name, parameters: this.#reader.optionalObject(parameters, `${path}.parameters`) }
  }

  #call(value: unknown, path: string): JsonObject {
    const { name, parameters } = this.#called(value, path)
    this.#calls++
    const id = `call_${this.#calls}`
    this.#open.push({ id, name, parameters })
    return { t: "tool_call", id, name, input: this.#reader.exactly(parameters, `${path}.parameters`) }
  }

  #add(role: string, blocks: ReadonlyArray<JsonObject>): void {
    if (blocks.length > 0) this.thread.push({ role, blocks })
  }
}

const canonicalOf = (value: unknown): string => canonicalJson(value ?? {})
