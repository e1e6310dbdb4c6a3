import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { it } from "@effect/vitest"
import { PGlite } from "@electric-sql/pglite"
import { Effect } from "effect"
import { describe, expect } from "vitest"
import { startEmbedded } from "../../../src/store/embedded.ts"
import { emptyDatabase } from "../../../src/store/embedded-files.ts"
import { startParameters } from "../../../src/store/embedded-parameters.ts"

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

describe("the archive of an empty database", () => {
  /** Everything that the catalogues of a database say. Statistics differ; a file's number is where it lies on the disk. */
  const describeDatabase = async (db: PGlite): Promise<Readonly<Record<string, string>>> => {
    const { rows } = await db.query<{ name: string }>(`
      select relname as name from pg_class
      where relnamespace = 'pg_catalog'::regnamespace and relkind = 'r' and relname !~ '^pg_(statistic|authid|shdepend)'
      order by 1`)
    const tables = rows.map(async ({ name }) => {
      const columns =
        "to_jsonb(t) - '{relfilenode,relpages,reltuples,relallvisible,relallfrozen,relfrozenxid,relminmxid,datfrozenxid,datminmxid}'::text[]"
      const [row] = (
        await db.query<{ text: string }>(`
        select md5(coalesce(string_agg(x::text, '' order by x::text), '')) || ' ' || count(*) as text
        from (select ${columns} as x from ${name} t) s`)
      ).rows
      return [name, row?.text ?? ""] as const
    })
    return Object.fromEntries(await Promise.all(tables))
  }

  it("is the same as one that PostgreSQL creates", async () => {
    const [created, unpacked] = await Promise.all([
      PGlite.create({ startParams: startParameters }),
      PGlite.create({ startParams: startParameters, loadDataDir: emptyDatabase() }),
    ])
    const expected = await describeDatabase(created)
    expect(Object.keys(expected).length).toBeGreaterThan(50)
    expect(await describeDatabase(unpacked)).toEqual(expected)
    await created.exec("create table a_difference ()")
    expect(await describeDatabase(created)).not.toEqual(expected)
    await Promise.all([created.close(), unpacked.close()])
  })
})
