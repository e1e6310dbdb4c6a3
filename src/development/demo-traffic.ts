/**
 * A handful of exchanges after the first start with the simulated vendor, so that the first look at the console is not
 * empty. Their purpose is `demo`. Off with `SVC_DEMO_TRAFFIC=0`, and never beyond development.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { JsonObject } from "../protocol/mcp/message.ts"
import { toolCallRequest } from "../protocol/mcp/tool-call.ts"
import type { DevelopmentHandout } from "./start.ts"

const messages = [
  "What is a weir?",
  "How is a stream measured?",
  "Name three rivers of Mesopotamia.",
  "Why do weirs have a notch?",
  "Explain double entry in one sentence.",
  "What is a lease in a distributed system?",
]

/** Makes them once: not if the development organisation has any usage. */
export const makeDemoTraffic = Effect.fnUntraced(function* (
  baseUrl: string,
  { id, secret }: NonNullable<DevelopmentHandout["key"]>,
) {
  const sql = yield* SqlClient.SqlClient
  const [used] = yield* sql`select from usage_records where key_id = ${id} limit 1`
  if (used !== undefined) return
  for (const [index, text] of messages.entries()) {
    yield* call(baseUrl, { "x-svc-key-id": id, "x-svc-key": secret }, { text, model: "main", stream: index % 2 === 0 })
  }
  yield* callTool(baseUrl, `${id}~${secret}`, "level", { river: "Aare" })
  yield* callTool(baseUrl, `${id}~${secret}`, "words", { text: "Still waters run deep" })
  // A call that fails, so that errors are seen too.
  yield* call(
    baseUrl,
    { "x-svc-key-id": id, "x-svc-key": secret },
    { text: "Hello", model: "not-there", stream: false },
  )
})

const callTool = (baseUrl: string, credential: string, tool: string, given: JsonObject) =>
  Effect.tryPromise(async (signal) => {
    const { path, headers, body } = toolCallRequest("river", tool, given)
    const authorization = `Bearer ${credential}`
    const init = { method: "POST", headers: { ...headers, authorization }, body: JSON.stringify(body), signal }
    await (await fetch(`${baseUrl}/${path}`, init)).text()
  })

interface Demo {
  readonly text: string
  readonly model: string
  readonly stream: boolean
}

const call = (baseUrl: string, headers: Readonly<Record<string, string>>, { text, ...request }: Demo) =>
  Effect.tryPromise(async (signal) => {
    const thread = [{ role: "user", blocks: [{ t: "text", v: text }] }]
    const body = JSON.stringify({ ...request, thread, meta: { purpose: "demo" } })
    const init = { method: "POST", headers: { ...headers, "content-type": "application/json" }, body, signal }
    await (await fetch(`${baseUrl}/t1/exchange`, init)).text()
  })
