/** `SVC_REVOKED_GRACE_MS`: running calls end after their key is revoked, and their usage is billed. */
import { Schema } from "effect"
import { beforeEach, describe, expect, it } from "vitest"
import { KeyMinted } from "../../src/protocol/control/admin-directory.ts"
import { hello, newTestIds, openaiChunk, parseEvents, testCatalogue } from "../../src/testing/index.ts"
import { eventually, holdsOf, lastUsage, useGateway } from "../support/gateway.ts"
import { openSocket } from "../support/socket-client.ts"
import { withFilm } from "./film.ts"

const ids = newTestIds()
const gateway = useGateway({
  backgroundSpeed: 10,
  ids,
  config: { revokedGraceMs: 400 },
  catalogue: (urls) => withFilm(testCatalogue(urls, ids)),
})
const admin = () => ({ "x-svc-admin-key": gateway().adminKey })
const readMinted = Schema.decodeUnknownSync(KeyMinted)

const mint = async () => {
  const { keyId: id, key: secret } = readMinted(
    await (await gateway().call("POST", "/v1/admin/keys", { app: ids.app }, admin())).json(),
  )
  return { id, headers: { "x-svc-key-id": id, "x-svc-key": secret } }
}
/** Leaves out the key that the test's gateway sends otherwise. */
const noKey = { "x-svc-key-id": undefined, "x-svc-key": undefined }
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

  it.each(["/t1/videos", "/openai/v1/videos"])(
    "a video that is being fetched ends, and not as if it were whole: %s",
    async (path) => {
      let hungUp = 0
      gateway().vendor.script(async (call) => {
        if (!call.path.includes("/content")) {
          call.head(200, { "content-type": "application/json" })
          return call.end(JSON.stringify({ id: "video_7", object: "video", status: "completed" }))
        }
        call.head(200, { "content-type": "video/mp4" })
        while (await call.write("more ")) await call.wait(10)
        hungUp++
      })
      const key = await mint()
      const bearer = { authorization: `Bearer ${key.id}~${key.headers["x-svc-key"]}` }
      const headers = path.startsWith("/t1/") ? key.headers : { ...noKey, ...bearer }
      const made = await gateway().call(
        "POST",
        "/t1/videos",
        { model: "film", prompt: "a weir", seconds: 4 },
        key.headers,
      )
      const { id } = Schema.decodeUnknownSync(Schema.Struct({ id: Schema.String }))(await made.json())
      const content = () => gateway().call("GET", `${path}/${id}/content`, undefined, headers)
      let reply = await content()
      await eventually(async () => {
        if (reply.status !== 200) reply = await content()
        return reply.status === 200
      })
      const reader = reply.body?.getReader()
      expect((await reader?.read())?.done).toBe(false)
      await revoke(key.id)
      const readOn = async () => {
        while (!(await reader?.read())?.done);
      }
      await expect(readOn()).rejects.toThrow()
      await eventually(() => hungUp === 1)
    },
  )

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
