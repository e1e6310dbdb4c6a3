/** The memory and the connections that a vendor call keeps, over real sockets. */
import { createHash } from "node:crypto"
import { createServer, type ServerResponse } from "node:http"
import { Effect, Layer } from "effect"
import { afterAll, beforeAll, expect, it } from "vitest"
import { collectGarbage } from "../../../src/memory.ts"
import { portOf } from "../../../src/testing/port.ts"
import { layerTestConfig } from "../../../src/testing/stores.ts"
import { VendorClient } from "../../../src/upstream/client.ts"
import { Egress } from "../../../src/upstream/egress.ts"

const mebibyte = 2 ** 20
const open: Array<ServerResponse> = []
const received: Array<string> = []
/** Takes a request whole, begins its reply, and never ends it. */
const vendor = createServer((request, response) => {
  const hash = createHash("sha256")
  request.on("data", (chunk: Buffer) => hash.update(chunk))
  request.on("end", () => {
    received.push(`${request.headers["content-length"]} ${hash.digest("hex")}`)
    response.writeHead(200, { "content-type": "text/event-stream" }).write(": begun\n\n")
    open.push(response)
  })
})

beforeAll(() => new Promise<void>((resolve) => vendor.listen(0, "127.0.0.1", resolve)))
afterAll(() => {
  for (const response of open) response.destroy()
  vendor.closeAllConnections()
  vendor.close()
})

const collected = (): number => {
  collectGarbage()
  return process.memoryUsage().arrayBuffers
}

it("the body of a long request is let go when it is sent, not when its reply has ended", async () => {
  const calls = 20
  const text = `${"river ".repeat(mebibyte / 6)}é`
  await Effect.gen(function* () {
    const client = yield* VendorClient
    const before = collected()
    const begun = Array.from({ length: calls }, () =>
      Effect.callback<() => void>((resume) => {
        const call = client.start(
          { baseUrl: `http://127.0.0.1:${portOf(vendor)}`, path: "/", headers: {}, body: text },
          {
            connected: () => {},
            head: () => {},
            bytes: () => resume(Effect.succeed(call.abort.bind(call))),
            ended: () => {},
            broken: (error) => resume(Effect.die(error)),
          },
        )
      }),
    )
    const aborts = yield* Effect.all(begun, { concurrency: "unbounded" })
    expect(collected() - before).toBeLessThan((calls / 4) * mebibyte)
    for (const abort of aborts) abort()
  }).pipe(
    Effect.provide(VendorClient.layer.pipe(Layer.provide(Egress.layer), Layer.provide(layerTestConfig()))),
    Effect.runPromise,
  )
  const hash = createHash("sha256").update(text).digest("hex")
  expect(received).toEqual(Array.from({ length: calls }, () => `${Buffer.byteLength(text)} ${hash}`))
})

it("a reply that was left may end within half a second: its connection is used again, or closed", async () => {
  const connections = new Set<unknown>()
  let closed = 0
  /** Ends its replies at `/ends` a little after their last event, and others never. */
  const slow = createServer((request, response) => {
    if (!connections.has(request.socket)) request.socket.once("close", () => closed++)
    connections.add(request.socket)
    request.resume().on("end", () => {
      response.writeHead(200, { "content-type": "text/event-stream" }).write("data: [DONE]\n\n")
      if (request.url === "/ends") setTimeout(() => response.end(), 100)
    })
  })
  await new Promise<void>((resolve) => slow.listen(0, "127.0.0.1", resolve))
  const leaveAfterFirst = (client: VendorClient["Service"], path: string) =>
    Effect.callback<void>((resume) => {
      const call = client.start(
        { baseUrl: `http://127.0.0.1:${portOf(slow)}`, path, headers: {}, body: "{}" },
        {
          connected: () => {},
          head: () => {},
          bytes: () => {
            call.leave()
            resume(Effect.void)
          },
          ended: () => {},
          broken: (error) => resume(Effect.die(error)),
        },
      )
    })
  await Effect.gen(function* () {
    const client = yield* VendorClient
    yield* leaveAfterFirst(client, "/ends")
    yield* Effect.sleep("300 millis")
    yield* leaveAfterFirst(client, "/ends")
    // Longer than a reply may take to end: the timer of the first must not close what the second uses.
    yield* Effect.sleep("700 millis")
    expect([connections.size, closed]).toEqual([1, 0])
    yield* leaveAfterFirst(client, "/never")
    yield* Effect.promise(() => expect.poll(() => closed).toBe(1))
  }).pipe(
    Effect.provide(VendorClient.layer.pipe(Layer.provide(Egress.layer), Layer.provide(layerTestConfig()))),
    Effect.runPromise,
  )
  slow.closeAllConnections()
  slow.close()
})
