/** The requests of tests of twins. */
import type { VendorRequest } from "../../src/dialects/dialect.ts"
import { type JsonObject, parseObject } from "../../src/dialects/json.ts"
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

/** A request in the words of twp/1. */
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
