import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { it } from "@effect/vitest"
import { Effect } from "effect"
import { describe, expect } from "vitest"
import { startEmbedded } from "../../src/store/embedded.ts"

const withFolder = <A, E, R>(use: (folder: string) => Effect.Effect<A, E, R>) =>
  Effect.acquireUseRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "weir-embedded-"))),
    use,
    (folder) => Effect.sync(() => rmSync(folder, { recursive: true })),
  )

describe("the embedded database's directory", () => {
  it.live("is created whole, also after a first start that was killed while it was made", () =>
    withFolder((folder) =>
      Effect.gen(function* () {
        const dataDir = join(folder, "postgres")
        mkdirSync(`${dataDir}.new`)
        writeFileSync(join(`${dataDir}.new`, "PG_VERSION"), "half made")
        const { port } = yield* Effect.scoped(startEmbedded(dataDir))
        expect(port).toBeGreaterThan(0)
        expect(existsSync(join(dataDir, "PG_VERSION"))).toBe(true)
        expect(existsSync(`${dataDir}.new`)).toBe(false)
        yield* Effect.scoped(startEmbedded(dataDir))
      }),
    ),
  )

  it.live("is not touched if something else is there", () =>
    withFolder((folder) =>
      Effect.gen(function* () {
        const dataDir = join(folder, "postgres")
        mkdirSync(dataDir)
        writeFileSync(join(dataDir, "letter.txt"), "mine")
        const error = yield* Effect.flip(Effect.scoped(startEmbedded(dataDir)))
        expect(error._tag).toBe("StoreUnavailable")
        expect(existsSync(join(dataDir, "letter.txt"))).toBe(true)
      }),
    ),
  )
})
