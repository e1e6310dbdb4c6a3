/** The requests of tests of twins. */
import type { VendorRequest } from "../../src/dialects/chat-dialect.ts"
import { type JsonObject, parseObject } from "../../src/dialects/parse/json.ts"
import type { Twin, TwinCall, TwinRefusal } from "../../src/testing/index.ts"

/** @param body as it is sent: what is absent is not */
export const callTo = (body: object, path = "/", streaming = false): TwinCall => ({
  path,
  body: parsedJson(body),
  headers: {},
  streaming,
})

const parsedJson = (body: object): TwinCall["body"] => JSON.parse(JSON.stringify(body))

export const refusalOf = (twin: Twin, body: object, path?: string): TwinRefusal | undefined =>
  twin.refuse(callTo(body, path))

/** A request in twp/1. */
export const testRequest: VendorRequest = {
  model: "upstream",
  thread: [{ role: "user", blocks: [{ t: "text", v: "Hi" }] }],
  tools: [],
  maxTokens: 4000,
  stop: [],
  canReason: true,
  cache: { enabled: false, skipWrite: false },
  stream: false,
}

export const jsonIn = (text: string): JsonObject => parseObject(text) ?? {}

/** Messages of a thread: a user's, the calls of an assistant, and their results. */
export const asks = { role: "user", blocks: [{ t: "text", v: "Hi" }] } as const

export const calls = (...ids: ReadonlyArray<string>) => ({
  role: "assistant" as const,
  blocks: ids.map((id) => ({ t: "tool_call" as const, id, name: "get", input: {} })),
})

export const answers = (...ids: ReadonlyArray<string>) => results(...ids.map((id) => [id, "7"] as const))

/** @param each its id and its text */
export const results = (...each: ReadonlyArray<readonly [id: string, v: string]>) => ({
  role: "tool" as const,
  blocks: each.map(([id, v]) => ({ t: "tool_result" as const, id, v })),
})
