/** Locks and directories: held by the operating system, and refused at once if unavailable. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Effect, Layer } from "effect"
import { afterAll, describe, expect, it } from "vitest"
import { DirectoryUnusable, makeDirectory } from "../../../src/files/directory.ts"
import { tryFileLock } from "../../../src/files/file-lock.ts"
import { layerDatabase } from "../../../src/store/database.ts"
import { layerTestConfig } from "../../../src/testing/stores.ts"
import { copyTemplate } from "../../support/template.ts"

const dir = mkdtempSync(join(tmpdir(), "weir-lock-"))
afterAll(() => rmSync(dir, { recursive: true, force: true }))

const node = fileURLToPath(new URL("../../../node_modules/.bin/node", import.meta.url))
const source = fileURLToPath(new URL("../../../src/files/file-lock.ts", import.meta.url))

/** Another process that holds a lock. */
const holder = async (path: string) => {
  const child = spawn(node, [
    "--input-type=module",
    "--eval",
    `import { tryFileLock } from ${JSON.stringify(source)}
     globalThis.lock = tryFileLock(${JSON.stringify(path)})
     console.log("held")
     setInterval(() => {}, 1000)`,
  ])
  await once(child.stdout, "data")
  return child
}

describe("a file lock", () => {
  it("has one owner, in one process and between processes", async () => {
    const path = join(dir, "own.lock")
    const lock = tryFileLock(path)
    expect(lock).toBeDefined()
    expect(tryFileLock(path)).toBeUndefined()
    lock?.release()
    const child = await holder(path)
    expect(tryFileLock(path)).toBeUndefined()
    child.kill("SIGTERM")
    await once(child, "exit")
    const again = tryFileLock(path)
    expect(again).toBeDefined()
    again?.release()
  })

  it("of a killed process is free at once", async () => {
    const path = join(dir, "killed.lock")
    const child = await holder(path)
    child.kill("SIGKILL")
    await once(child, "exit")
    const lock = tryFileLock(path)
    expect(lock).toBeDefined()
    lock?.release()
  })
})

describe("the embedded database's directory", () => {
  const open = (dataDir: string) =>
    Effect.scoped(Layer.build(layerDatabase.pipe(Layer.provide(layerTestConfig({ dataDir })))))

  it("is refused while another process has it, and free when that was killed; a pid beside it means nothing", async () => {
    const dataDir = join(dir, "data")
    copyTemplate(dataDir)
    // An earlier version wrote its pid; this process's pid represents one that was reused.
    writeFileSync(join(dataDir, "postgres.pid"), String(process.pid))
    const child = await holder(join(dataDir, "postgres.lock"))
    await expect(Effect.runPromise(open(dataDir))).rejects.toMatchObject({
      _tag: "StoreUnavailable",
      cause: { message: expect.stringMatching(/in use by another process.*SVC_DATA_DIR/) },
    })
    child.kill("SIGKILL")
    await once(child, "exit")
    await Effect.runPromise(open(dataDir))
  })
})

describe("a directory", () => {
  it("is created with its parents, and may exist", () => {
    const path = join(dir, "a/b/c")
    makeDirectory(path)
    makeDirectory(path)
    expect(existsSync(path)).toBe(true)
  })

  it.each(["/proc/weir/data", "/dev/null/weir", `${process.execPath}/weir`])(
    "that cannot be is refused: %s",
    (path) => {
      expect(() => makeDirectory(path)).toThrow(DirectoryUnusable)
    },
  )
})
