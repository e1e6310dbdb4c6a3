/** With `SVC_REVOKED_GRACE_MS`: what runs ends after its key is revoked, and what it used is billed. */
import { Schema } from "effect"
import { beforeEach, describe, expect, it } from "vitest"
import { KeyMinted } from "../../src/protocol/admin-directory.ts"
import { hello, newTestIds, openaiChunk, parseEvents } from "../../src/testing/index.ts"
import { openSocket } from "../sockets/client.ts"
import { eventually, holdsOf, lastUsage, useGateway } from "./gateway.ts"

const ids = newTestIds()
const gateway = useGateway({ ids, config: { revokedGraceMs: 400 } })
const admin = () => ({ "x-svc-admin-key": gateway().adminKey })
const readMinted = Schema.decodeUnknownSync(KeyMinted)

const mint = async () => {
  const { keyId: id, key: secret } = readMinted(
    await (await gateway().call("POST", "/v1/admin/keys", { app: ids.app }, admin())).json(),
  )
  return { id, headers: { "x-svc-key-id": id, "x-svc-key": secret } }
}
const revoke = async (id: string) =>
  expect((await gateway().call("POST", `/v1/admin/keys/${id}/revoke`, undefined, admin())).status).toBe(204)

beforeEach(() => {
  gateway().vendor.script(async (call) => {
    call.head()
    while (await call.write(openaiChunk("more "))) await call.wait(10)
  })
})

describe("after the revocation of its key", () => {
  it("a stream ends, its vendor is left, and it is billed; streams of other keys go on", async () => {
    const key = await mint()
    const stream = await gateway().exchange({ ...hello, stream: true }, { headers: key.headers })
    const other = await gateway().exchange({ ...hello, stream: true })
    const reader = other.body?.getReader()
    await revoke(key.id)
    expect(parseEvents(await stream.text()).at(-1)?.event).toBe("t.err")
    await eventually(() => gateway().vendor.calls.filter(({ hungUpAt }) => hungUpAt !== undefined).length === 1)
    await eventually(async () => (await lastUsage(gateway())) !== undefined)
    for (let at = 0; at < 20; at++) expect((await reader?.read())?.done).toBe(false)
    await reader?.cancel()
    await eventually(async () => (await holdsOf(gateway())).every(({ state }) => state === "settled"))
  })

  it.each(["/t1/socket", "/openai/v1/responses"])("an idle socket is closed: %s", async (path) => {
    const key = await mint()
    const socket = await openSocket(`${gateway().baseUrl}${path}`, {
      ...key.headers,
      authorization: `Bearer ${key.id}~${key.headers["x-svc-key"]}`,
    })
    await revoke(key.id)
    expect((await socket.closed).code).toBe(1008)
  })
})
