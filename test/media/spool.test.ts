/** Files of calls: in memory while they are small, otherwise on the disk without a name; bounded, and gone with the call. */
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Exit, Layer, Scope } from "effect"
import { afterAll, describe, expect, it } from "vitest"
import { WeirConfig } from "../../src/config.ts"
import { bytesOfBody, chunksOfBody } from "../../src/media/media-file.ts"
import { Spool } from "../../src/media/spool.ts"

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
  for await (const chunk of chunks) all.push(chunk)
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
