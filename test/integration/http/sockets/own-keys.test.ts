/** Realtime sessions at a vendor of which the organisation has a key of its own, over TLS. */
import { createServer } from "node:https"
import type { Socket } from "node:net"
import { rootCertificates, setDefaultCACertificates } from "node:tls"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { answeringLive, liveUsage } from "../../../../src/testing/live-messages.ts"
import { acceptLive } from "../../../../src/testing/live-twin.ts"
import { portOf } from "../../../../src/testing/port.ts"
import { acceptRealtime, realtimeUsage, responseEvents } from "../../../../src/testing/scripted-realtime.ts"
import { certificate, privateKey } from "../../../support/certificate.ts"
import { startLiveGateway } from "../../../support/live-gateway.ts"
import { startRealtimeGateway } from "../../../support/realtime-gateway.ts"

/** On an address that is allowed here like a public one. */
const address = "127.0.0.2"
const config = { egressAllow: [address], masterKey: Redacted.make("the master key of these tests") }
const spoken = { words: ["Hello"], audioBytes: 960, parts: 1, usage: realtimeUsage(20, 30, 10, 40, 8) }

/** A vendor that answers each request for a response; the keys with which it was asked. */
const startOwnVendor = async (answer: ReturnType<typeof acceptRealtime>) => {
  setDefaultCACertificates([...rootCertificates, certificate])
  const keys: Array<unknown> = []
  const server = createServer({ cert: certificate, key: privateKey })
  server.on("upgrade", (request, socket: Socket, head) => {
    keys.push(request.headers.authorization ?? request.headers["x-goog-api-key"])
    answer(request, socket, head)
  })
  await new Promise<void>((resolve) => server.listen(0, address, resolve))
  return { keys, baseUrl: `https://upstream.test:${portOf(server)}`, stop: () => server.close() }
}

const openai = acceptRealtime(async (session) => {
  session.send({ type: "session.created", event_id: "event_0", session: { type: "realtime", id: "sess_1" } })
  for (let count = 1; (await session.next("response.create")) !== undefined; count++) {
    for (const event of responseEvents(`resp_${count}`, spoken)) session.send(event)
  }
})
const google = acceptLive(answeringLive({ words: ["Hello"], usage: liveUsage(10, 20, 5, 40) }))

describe("a realtime session with the organisation's own key", () => {
  it.live("reaches the vendor with that key, holds nothing and costs nothing", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const own = yield* Effect.acquireRelease(
          Effect.promise(() => startOwnVendor(openai)),
          ({ stop }) => Effect.sync(stop),
        )
        const platform = () => expect.fail("the platform's key was used")
        const test = yield* startRealtimeGateway(platform, { config, resolveHost: () => Promise.resolve([address]) })
        const { gateway, open, held, records } = test
        yield* Effect.promise(async () => {
          const path = `/v1/admin/orgs/${gateway.orgId}/upstream-keys/voices`
          const key = { key: "sk-own-secret", baseUrl: `${own.baseUrl}/v1` }
          const set = await gateway.call("PUT", path, key, { "x-svc-admin-key": gateway.adminKey })
          expect(set.status).toBe(200)
          const socket = await open()
          await socket.until(({ type }) => type === "session.created")
          expect(own.keys).toEqual(["Bearer sk-own-secret"])
          expect(await held()).toBe(0n)
          socket.send({ type: "response.create" })
          await socket.until(({ type }) => type === "response.done")
          await expect.poll(async () => (await records()).length).toBe(1)
          expect((await records())[0]).toMatchObject({
            cost: "0",
            vendor: "voices",
            estimated_reason: null,
            dims: { audio_in: 30, audio_out: 40 },
          })
          socket.ws.close()
        })
      }),
    ),
  )

  it.live("and so does one with Google's API", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const own = yield* Effect.acquireRelease(
          Effect.promise(() => startOwnVendor(google)),
          ({ stop }) => Effect.sync(stop),
        )
        const platform = () => expect.fail("the platform's key was used")
        const test = yield* startLiveGateway(platform, { config, resolveHost: () => Promise.resolve([address]) })
        const { gateway, open, held, records } = test
        yield* Effect.promise(async () => {
          const path = `/v1/admin/orgs/${gateway.orgId}/upstream-keys/google`
          const key = { key: "own-secret", baseUrl: own.baseUrl }
          const set = await gateway.call("PUT", path, key, { "x-svc-admin-key": gateway.adminKey })
          expect(set.status).toBe(200)
          const socket = await open()
          await socket.until(({ setupComplete }) => setupComplete !== undefined)
          expect(own.keys).toEqual(["own-secret"])
          expect(await held()).toBe(0n)
          socket.send({ clientContent: { turns: [{ parts: [{ text: "Hello" }] }], turnComplete: true } })
          await expect.poll(async () => (await records()).length).toBe(1)
          expect((await records())[0]).toMatchObject({
            cost: "0",
            vendor: "google",
            dims: { audio_in: 20, audio_out: 40 },
          })
          socket.ws.close()
        })
      }),
    ),
  )
})
