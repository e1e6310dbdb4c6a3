/** Files of calls: in memory while they are small, otherwise on the disk without a name; bounded, and gone with the call. */
import { createHash, randomBytes } from "node:crypto"
import { once } from "node:events"
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Exit, Layer, Scope } from "effect"
import { afterAll, describe, expect, it } from "vitest"
import { WeirConfig } from "../../../src/config.ts"
import { bytesOfBody, chunksOfBody } from "../../../src/media/media-file.ts"
import { Spool } from "../../../src/media/spool.ts"
import { fetchWhole, VendorClient } from "../../../src/upstream/client.ts"
import { Egress } from "../../../src/upstream/egress.ts"
import { openFilesIn } from "../../support/open-files.ts"

const dataDir = mkdtempSync(join(tmpdir(), "weir-spool-"))
afterAll(() => rmSync(dataDir, { recursive: true }))

const mebibyte = 1024 * 1024

const withSpool = <A>(run: (spool: Spool["Service"]) => Promise<A>, limits: object = {}): Promise<A> =>
  Effect.runPromise(
    Effect.gen(function* () {
      const config = yield* WeirConfig
      const layer = Spool.layer.pipe(Layer.provide(Layer.succeed(WeirConfig, { ...config, dataDir, ...limits })))
      return yield* Effect.provide(
        Effect.flatMap(Spool, (spool) => Effect.promise(() => run(spool))),
        layer,
      )
    }).pipe(Effect.provide(WeirConfig.layer)),
  )

const open = (spool: Spool["Service"], scope: Scope.Closeable) => Effect.runPromise(Scope.provide(spool.create, scope))
const close = (scope: Scope.Closeable) => Effect.runPromise(Scope.close(scope, Exit.void))
const names = () => (existsSync(join(dataDir, "media")) ? readdirSync(join(dataDir, "media")) : [])
const contentOf = async (chunks: AsyncIterable<Buffer>) => {
  const all: Array<Buffer> = []
  for await (const chunk of chunks) all.push(Buffer.from(chunk))
  return Buffer.concat(all)
}

describe("a file", () => {
  it.each([
    [1000, 0],
    [3 * mebibyte + 17, 3 * mebibyte + 17],
  ])("of %i bytes can be read again and again, and takes %i bytes of the disk", (bytes, onDisk) =>
    withSpool(async (spool) => {
      const scope = Effect.runSync(Scope.make())
      const writer = await open(spool, scope)
      const content = Buffer.from(Array.from({ length: bytes }, (_, at) => (at * 31) % 256))
      for (let at = 0; at < bytes; at += 70_000) {
        writer.add(content.subarray(at, at + 70_000))
        await writer.flush()
      }
      const file = writer.file()
      expect(file.bytes).toBe(bytes)
      expect((await contentOf(file.chunks())).equals(content)).toBe(true)
      expect((await contentOf(file.chunks())).equals(content)).toBe(true)
      expect(spool.used()).toEqual({ files: 1, bytes: onDisk })
      // A kill would leave nothing.
      expect(names()).toEqual([])
      const body = ["<", { base64: file }, ">", file]
      const sent = await contentOf(chunksOfBody(body))
      expect([
        sent.length,
        sent.equals(Buffer.concat([Buffer.from(`<${content.toString("base64")}>`), content])),
      ]).toEqual([bytesOfBody(body), true])
      await close(scope)
      expect(spool.used()).toEqual({ files: 0, bytes: 0 })
    }),
  )

  it("frees the memory of a chunk once it is on the disk, unless the chunk is a part of a buffer", () =>
    withSpool(async (spool) => {
      const scope = Effect.runSync(Scope.make())
      const writer = await open(spool, scope)
      const [small, whole, shared] = [1000, 2 * mebibyte, 4000].map((bytes) => Buffer.allocUnsafeSlow(bytes).fill(7))
      const part = shared?.subarray(0, 2000) ?? Buffer.alloc(0)
      writer.add(small ?? part)
      await writer.flush()
      expect(small?.length, "a small file is in memory").toBe(1000)
      writer.add(whole ?? part)
      writer.add(part)
      await writer.flush()
      expect([small?.length, whole?.length, part.length]).toEqual([0, 0, 2000])
      const content = await contentOf(writer.file().chunks())
      expect(content.equals(Buffer.alloc(1000 + 2 * mebibyte + 2000, 7))).toBe(true)
      await close(scope)
    }))

  it("comes whole to a vendor that reads slowly, although its chunks share three buffers", () =>
    withSpool(async (spool) => {
      const scope = Effect.runSync(Scope.make())
      const writer = await open(spool, scope)
      const content = randomBytes(8 * mebibyte + 5)
      writer.add(Buffer.from(content))
      await writer.flush()
      const file = writer.file()
      const vendor = createServer((request, response) => {
        const hash = createHash("sha256")
        request.on("data", (chunk) => {
          hash.update(chunk)
          request.pause()
          setTimeout(() => request.resume(), 1)
        })
        request.on("end", () => response.end(hash.digest("hex")))
      })
      await once(vendor.listen(0, "127.0.0.1"), "listening")
      const address = vendor.address()
      const port = typeof address === "object" ? address?.port : 0
      const request = { baseUrl: `http://127.0.0.1:${port}`, path: "/", headers: {}, body: ["<", file, "|", file, ">"] }
      const reply = await Effect.runPromise(
        Effect.flatMap(VendorClient, (client) => fetchWhole(client, request, 1024)).pipe(
          Effect.provide(VendorClient.layer.pipe(Layer.provide(Egress.layer), Layer.provide(WeirConfig.layer))),
        ),
      )
      const sent = Buffer.concat([Buffer.from("<"), content, Buffer.from("|"), content, Buffer.from(">")])
      expect(reply.body).toBe(createHash("sha256").update(sent).digest("hex"))
      vendor.closeAllConnections()
      vendor.close()
      await close(scope)
    }))

  it("that is closed while it is opened leaves nothing open", () =>
    withSpool(async (spool) => {
      const scope = Effect.runSync(Scope.make())
      const writer = await open(spool, scope)
      writer.add(Buffer.alloc(2 * mebibyte))
      const written = writer.flush()
      await new Promise(setImmediate)
      await close(scope)
      await written
      expect(openFilesIn(dataDir)).toEqual([])
      expect(spool.used()).toEqual({ files: 0, bytes: 0 })
    }))

  it("beyond the disk's limit is refused, and its room is free again", () =>
    withSpool(
      async (spool) => {
        const scope = Effect.runSync(Scope.make())
        const writer = await open(spool, scope)
        const add = async () => {
          writer.add(Buffer.alloc(2 * mebibyte))
          await writer.flush()
        }
        await add()
        await expect(add()).rejects.toMatchObject({ code: "rate_limited", detail: { scope: "gateway" } })
        await close(scope)
        expect(spool.used()).toEqual({ files: 0, bytes: 0 })
      },
      { mediaDiskBytes: 3 * mebibyte },
    ))

  it("too many is refused", () =>
    withSpool(
      async (spool) => {
        const scope = Effect.runSync(Scope.make())
        await open(spool, scope)
        await expect(open(spool, scope)).rejects.toMatchObject({ code: "rate_limited" })
        await close(scope)
      },
      { mediaMaxFiles: 1 },
    ))
})
