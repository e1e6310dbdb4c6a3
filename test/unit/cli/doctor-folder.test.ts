/** `weir doctor` on the data folder: settlements that wait in its journals, and lines that cannot be read. */
import { spawnSync } from "node:child_process"
import { appendFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { folderFindings } from "../../../src/cli/commands/doctor-folder.ts"
import { openJournal } from "../../../src/money/journal/journal.ts"
import { record } from "../../support/books.ts"

const dataDir = mkdtempSync(join(tmpdir(), "weir-doctor-"))
afterAll(() => rmSync(dataDir, { recursive: true, force: true }))

const findings = (dataDir: string, replyAfter: "settled" | "journaled" = "settled") =>
  folderFindings({ dataDir, replyAfter })

describe("weir doctor", () => {
  it.effect("counts the settlements of the journals in the data folder", () =>
    Effect.gen(function* () {
      const folder = { check: "data folder", result: "ok", note: dataDir }
      expect(findings(dataDir)).toEqual([folder])
      const journals = join(dataDir, "journal")
      const { append } = yield* openJournal(journals, 2 ** 14)
      expect(findings(dataDir)).toEqual([folder, { check: "journal", result: "ok", note: "" }])
      const hold = { orgId: "org", currency: "USD", keyId: "key", day: "2026-11-21", node: "n-1", amount: 1n }
      for (const ref of ["a", "b"]) yield* append({ hold: { ...hold, ref }, atMs: 1, cost: 1n, record })
      const note = "2 settlements, which a gateway with this folder gives to the database"
      expect(findings(dataDir)).toEqual([folder, { check: "journal", result: "ok", note }])
      const name = readdirSync(journals).find((each) => each.endsWith(".journal")) ?? ""
      appendFileSync(join(journals, name), "\nnot a line\n")
      expect(findings(dataDir)[1]).toEqual({
        check: "journal",
        result: "warning",
        note: `${note}; 1 of its lines cannot be read`,
      })
    }).pipe(Effect.scoped),
  )

  it("refuses a disk that has no room for a journal", ({ skip }) => {
    const disk = join(dataDir, "disk")
    mkdirSync(disk)
    // Only root mounts a disk of its own.
    skip(spawnSync("mount", ["-t", "tmpfs", "-o", "size=6m", "tmpfs", disk]).status !== 0)
    try {
      expect(findings(disk)).toMatchObject([{ result: "ok" }])
      const note = `${disk} has 6 MiB left, and a start of a gateway needs 9; make room there`
      expect(findings(disk, "journaled")).toEqual([{ check: "data folder", result: "failed", note }])
    } finally {
      spawnSync("umount", [disk])
    }
  })

  it("says nothing of a folder that is in memory", () => {
    expect(findings(":memory:")).toEqual([{ check: "data folder", result: "skipped", note: "in memory" }])
  })
})
