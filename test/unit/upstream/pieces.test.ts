/** Bodies that go out in pieces, whose memory is freed when they are sent: to vendors that read as they like. */
import { createHash } from "node:crypto"
import { createServer as createPlainServer, type RequestListener } from "node:http"
import { createServer } from "node:https"
import { Effect, Layer } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { portOf } from "../../../src/testing/port.ts"
import { layerTestConfig } from "../../../src/testing/stores.ts"
import { type UpstreamBroken, VendorClient } from "../../../src/upstream/client.ts"
import { Egress } from "../../../src/upstream/egress.ts"
import { authority, issued } from "../../support/certificate.ts"
import { randomOf } from "../../support/random.ts"

const random = randomOf(11)
const kib = 1024

/** Bodies whose memory is to be freed, by what a vendor says that got them. */
const sent = new Map<string, Uint8Array>()

/**
 * Reads, and pauses between, for some microseconds or milliseconds. Answers when the memory is free: a client that has the
 * reply before it knows that all was written leaves it to the collector.
 */
const takeSlowly: RequestListener = (request, response) => {
  const hash = createHash("sha256")
  let bytes = 0
  request.on("data", (chunk: Buffer) => {
    hash.update(chunk)
    bytes += chunk.length
    if (random() < 0.7) return
    request.pause()
    const goOn = () => request.resume()
    if (random() < 0.5) setImmediate(goOn)
    else setTimeout(goOn, random() * 20)
  })
  request.on("end", () => {
    const told = `${bytes} ${hash.digest("hex")}`
    const answer = () => {
      if ((sent.get(told)?.byteLength ?? 0) > 0) setTimeout(answer, 1)
      else response.end(told)
    }
    answer()
  })
}
/** Answers without reading, and cuts. */
const refuse: RequestListener = (_, response) => {
  response.writeHead(401).end("no", () => response.socket?.destroy())
}

const plain = createPlainServer(takeSlowly)
const secure = createServer(issued.server, takeSlowly)
const refusing = createPlainServer(refuse)
const servers = [plain, secure, refusing]
beforeAll(() =>
  Promise.all(servers.map((each) => new Promise<void>((resolve) => each.listen(0, "127.0.0.1", resolve)))),
)
afterAll(() => {
  for (const server of servers) server.closeAllConnections()
  for (const server of servers) server.close()
})

const network = { key: "test", proxy: undefined, tls: { ca: authority }, problem: undefined }

const send = (client: VendorClient["Service"], baseUrl: string, body: Uint8Array): Effect.Effect<string> =>
  Effect.callback((resume) => {
    const read: Array<Uint8Array> = []
    client.start(
      { baseUrl, path: "/", headers: {}, body, ...(baseUrl.startsWith("https") && { network }) },
      {
        connected: () => {},
        head: () => {},
        bytes: (bytes) => read.push(Buffer.from(bytes)),
        ended: () => resume(Effect.succeed(Buffer.concat(read).toString())),
        broken: ({ cause }: UpstreamBroken) => resume(Effect.succeed(`broken ${String(cause)}`)),
      },
    )
  })

const run = <A>(work: (client: VendorClient["Service"]) => Effect.Effect<A>): Promise<A> =>
  Effect.flatMap(VendorClient, work).pipe(
    Effect.provide(VendorClient.layer.pipe(Layer.provide(Egress.layer), Layer.provide(layerTestConfig()))),
    Effect.runPromise,
  )

/** Bytes that are the whole of their memory, and what a vendor says that got them. */
const bodyOf = (length: number) => {
  const bytes = new Uint8Array(length)
  for (let at = 0; at < length; at++) bytes[at] = random() * 256
  return { bytes, told: `${length} ${createHash("sha256").update(bytes).digest("hex")}` }
}

describe("a body in pieces", () => {
  it.each([
    ["plain", "http", plain],
    ["over TLS", "https", secure],
  ] as const)("arrives as it was, however slowly it is read, %s", { timeout: 60_000 }, async (_, scheme, server) => {
    const sizes = [0, 1, 40, 64, 255, 256, 257, 300, 512, 700, 1025, 3000].map(
      (each) => each * kib + Math.floor(random() * 3),
    )
    await run((client) =>
      Effect.forEach(
        [...sizes, ...sizes, ...sizes],
        (size) =>
          Effect.gen(function* () {
            const { bytes, told } = bodyOf(size)
            // The time when a smaller one has been written is not known.
            const isFreed = size >= 64 * kib
            if (isFreed) sent.set(told, bytes)
            expect(yield* send(client, `${scheme}://127.0.0.1:${portOf(server)}`, bytes)).toBe(told)
            expect(bytes.byteLength).toBe(isFreed ? 0 : size)
          }),
        { concurrency: 12 },
      ),
    )
  })

  it("of a vendor that answers without reading it is left to the collector", async () => {
    await run((client) =>
      Effect.gen(function* () {
        const { bytes } = bodyOf(8 * kib * kib)
        const reply = yield* send(client, `http://127.0.0.1:${portOf(refusing)}`, bytes)
        expect(reply).toMatch(/^no$|^broken/)
        expect(bytes.byteLength).toBe(8 * kib * kib)
      }),
    )
  })
})
