/**
 * One migrated embedded database for all tests: created once, then copied. Vitest runs `setup` before the first test.
 * It is kept in the temporary directory under a hash of the migrations and the engine, so that later runs find it.
 */
import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { PGlite } from "@electric-sql/pglite"
import { Effect, Layer } from "effect"
import { layerDatabase } from "../src/store/database.ts"
import { layerTestConfig } from "../src/testing/stores.ts"

const migrations = fileURLToPath(new URL("../migrations/", import.meta.url))
const engine = fileURLToPath(new URL("../node_modules/@electric-sql/pglite/package.json", import.meta.url))

const hashOfInputs = (): string => {
  const hash = createHash("sha256").update(readFileSync(engine))
  for (const file of readdirSync(migrations).sort()) hash.update(file).update(readFileSync(join(migrations, file)))
  return hash.digest("hex").slice(0, 16)
}

/** Vitest has said by then where temporary files are. */
const directory = (): string => join(tmpdir(), `weir-test-template-${hashOfInputs()}`)

/** Its archive (tar), once `setup` has made it. */
export const templateDump = (): string => join(directory(), "dump.tar")

export const setup = async (): Promise<void> => {
  const made = directory()
  if (!existsSync(made)) await create(made)
  process.env["SVC_TEST_EMBEDDED_TEMPLATE"] = templateDump()
}

const create = async (made: string): Promise<void> => {
  const draft = mkdtempSync(join(tmpdir(), "weir-test-template-draft-"))
  const database = layerDatabase.pipe(Layer.provide(layerTestConfig({ dataDir: draft })))
  await Effect.runPromise(Effect.scoped(Layer.build(database)))
  const db = await PGlite.create({ dataDir: join(draft, "postgres") })
  writeFileSync(join(draft, "dump.tar"), Buffer.from(await (await db.dumpDataDir("none")).arrayBuffer()))
  await db.close()
  try {
    renameSync(draft, made)
  } catch {
    // Another run was faster.
    rmSync(draft, { recursive: true, force: true })
  }
}

/** Copies the database into a data directory that has none. */
export const copyTemplate = (dataDir: string): void => {
  const target = join(dataDir, "postgres")
  if (existsSync(target)) return
  mkdirSync(dataDir, { recursive: true })
  // In a third of the time of Node's own.
  execFileSync("cp", ["-R", join(directory(), "postgres"), target])
}
