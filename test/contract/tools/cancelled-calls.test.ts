/** Calls whose client does not want the result any more: the server learns of it, and the call is paid once. */
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, expect, it } from "vitest"
import { newTestIds, testKey } from "../../../src/testing/gateway.ts"
import { balanceOf, eventually, holdsOf, useGateway } from "../../support/gateway.ts"
import { toolCatalogue } from "../../support/tool-catalogue.ts"
import { startToolServer } from "../../support/tool-server.ts"

const tools = { hangs: () => new Promise(() => {}) }
const legacy = await startToolServer({ isStateless: false, tools })
const modern = await startToolServer({ isStateless: true, tools })
afterAll(() => {
  legacy.stop()
  modern.stop()
})
const ids = newTestIds()
const gateway = useGateway({
  ids,
  catalogue: (urls) =>
    toolCatalogue(
      urls,
      ids,
      `toolServers:
  - { id: old, url: "${legacy.url}", price: { currency: USD, calls: "1000" } }
  - { id: new, url: "${modern.url}", price: { currency: USD, calls: "1000" } }
`,
    ),
})
const post = (server: string, message: object, signal?: AbortSignal, session?: string) =>
  fetch(`${gateway().baseUrl}/mcp/${server}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${ids.key}~${testKey}`,
      "content-type": "application/json",
      ...(session !== undefined && { "mcp-session-id": session }),
    },
    body: JSON.stringify({ jsonrpc: "2.0", ...message }),
    ...(signal !== undefined && { signal }),
  })
const begin = async (server: string) => {
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } }
  const reply = await post(server, { id: 0, method: "initialize", params })
  return reply.headers.get("mcp-session-id") ?? ""
}
const cancel = { method: "notifications/cancelled", params: { requestId: 9 } }
const call = { id: 9, method: "tools/call", params: { name: "hangs", arguments: {} } }
const settled = async () => !(await holdsOf(gateway())).some(({ state }) => state === "held")

it.each([
  ["old", legacy, "by a notification"],
  ["old", legacy, "by leaving"],
  ["new", modern, "by leaving"],
] as const)("a call at the %s server is cancelled %s", async (name, server, how) => {
  const before = await balanceOf(gateway())
  const runs = server.runs.get("hangs") ?? 0
  const closed = server.closed.length
  const cancels = () => server.asked.filter(({ message }) => message.method === "notifications/cancelled").length
  const told = cancels()
  const leave = new AbortController()
  const session = await begin(name)
  const reply = post(name, call, leave.signal, session).catch(() => undefined)
  await eventually(() => server.runs.get("hangs") === runs + 1)
  if (how === "by leaving") leave.abort()
  else expect((await post(name, cancel, undefined, session)).status).toBe(202)
  await reply
  await eventually(() => server.closed.length > closed)
  if (name === "old") await eventually(() => cancels() > told)
  await eventually(settled)
  expect(before - (await balanceOf(gateway()))).toBe(10_000_000n)
})

it.each([
  ["without a session", async () => undefined],
  ["in a session", () => begin("new")],
])("a call %s is not cancelled by another client of its key that counts like it", async (_, session) => {
  const runs = modern.runs.get("hangs") ?? 0
  const leave = new AbortController()
  const own = await session()
  let isOver = false
  const reply = post("new", call, leave.signal, own)
    .then((response) => response.text())
    .catch(() => undefined)
    .finally(() => {
      isOver = true
    })
  await eventually(() => modern.runs.get("hangs") === runs + 1)
  for (const other of [undefined, await begin("new")])
    expect((await post("new", cancel, undefined, other)).status).toBe(202)
  await sleep(200)
  expect(isOver).toBe(false)
  leave.abort()
  await reply
  await eventually(settled)
})
