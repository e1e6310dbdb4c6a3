/** Results that are kept under an id: the caller's alone, for the call that it was. */
import { Redacted, Schema } from "effect"
import { afterAll, expect, it } from "vitest"
import { AppTokenResponse } from "../../../src/protocol/control/app-token.ts"
import { newTestIds, testKey } from "../../../src/testing/gateway.ts"
import { useGateway } from "../../support/gateway.ts"
import { toolCatalogue } from "../../support/tool-catalogue.ts"
import { startToolServer, textResult } from "../../support/tool-server.ts"

let count = 0
const server = await startToolServer({
  isStateless: true,
  tools: { count: () => textResult(`number ${++count}`), other: () => textResult(`number ${++count}`) },
})
afterAll(() => server.stop())

const ids = newTestIds()
const gateway = useGateway({
  ids,
  config: { masterKey: Redacted.make("master") },
  catalogue: (urls) =>
    toolCatalogue(
      urls,
      ids,
      `toolServers:\n  - { id: srv, url: "${server.url}", price: { currency: USD, calls: "1000" } }\n`,
    ).replace("keys:\n", `keys:\n  - { id: ${ids.key}-two, app: ${ids.app}, secret: "env:WEIR_TEST_KEY" }\n`),
})

const decodeToken = Schema.decodeUnknownSync(AppTokenResponse)
const endUser = async (endUserId: string) => ({
  "x-svc-app-token": decodeToken(await (await gateway().call("POST", "/v1/app-tokens", { endUserId })).json()).token,
})
const key = (id: string) => ({ authorization: `Bearer ${id}~${testKey}` })
const call = async (credential: Record<string, string>, id: string, name = "count", given: object = {}) => {
  const params = { name, arguments: given, _meta: { "x-svc-request-id": `${ids.org}-${id}` } }
  const reply = await fetch(`${gateway().baseUrl}/mcp/srv`, {
    method: "POST",
    headers: { ...credential, "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
  })
  return reply.text()
}
const numberIn = (text: string) => /number \d+/.exec(text)?.[0]
const conflict = "idempotency_conflict"

it("are given again to the key that made the call, and not to another one", async () => {
  const first = numberIn(await call(key(ids.key), "key"))
  expect(numberIn(await call(key(ids.key), "key"))).toBe(first)
  expect(numberIn(await call(key(`${ids.key}-two`), "key"))).not.toBe(first)
})

it("are not given to another end user of the key", async () => {
  const [ada, bob] = [await endUser("ada"), await endUser("bob")]
  const first = numberIn(await call(ada, "end-user"))
  expect(numberIn(await call(ada, "end-user"))).toBe(first)
  for (const other of [bob, key(ids.key)]) {
    const text = await call(other, "end-user")
    expect([numberIn(text), text.includes(conflict)]).toEqual([undefined, true])
  }
})

it.each([
  ["another tool", "other", {}],
  ["other arguments", "count", { a: 1 }],
])("are not given for %s", async (change, name, given) => {
  await call(key(ids.key), change.replace(" ", "-"))
  expect(await call(key(ids.key), change.replace(" ", "-"), name, given)).toContain(conflict)
})

it.each([
  ["a space", { "x-svc-request-id": "a b\u0000" }, {}],
  ["a number", { "x-svc-request-id": 7 }, {}],
  ["a long one", { "x-svc-request-id": "x".repeat(129) }, {}],
  ["a long one in a header", {}, { "idempotency-key": "x".repeat(129) }],
  ["a tag without a value", {}, { "x-svc-tags": "team" }],
  ["a purpose of another form", {}, { "x-svc-purpose": "x".repeat(100) }],
])("a call with metadata that cannot be used is not run: %s", async (_, _meta, headers) => {
  const before = count
  const reply = await fetch(`${gateway().baseUrl}/mcp/srv`, {
    method: "POST",
    headers: { ...key(ids.key), "content-type": "application/json", ...headers },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "count", arguments: {}, _meta },
    }),
  })
  const [named = ""] = [...Object.keys(_meta), ...Object.keys(headers)]
  expect((await reply.text()).toLowerCase()).toContain(named)
  expect(count).toBe(before)
})
