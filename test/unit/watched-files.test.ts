/** Files that a process follows, in virtual time. How deployments replace them is tested with a gateway. */
import { mkdtempSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { NodeProblems } from "../../src/telemetry/node-problems.ts"
import { watchFiles } from "../../src/watched-files.ts"

it.effect("a file that is read while it is written is not taken up in part", () =>
  Effect.gen(function* () {
    const file = join(mkdtempSync(join(tmpdir(), "weir-watched-")), "weir.yaml")
    writeFileSync(file, "before")
    const taken: Array<string> = []
    yield* watchFiles({
      paths: [file],
      before: ["before"],
      take: ([text = ""]) => Effect.sync(() => void taken.push(text)),
    })
    /** A look reads the file, which takes no virtual time. */
    const look = Effect.andThen(
      TestClock.adjust("2 seconds"),
      Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 50))),
    )
    yield* look
    writeFileSync(file, "half")
    yield* look
    writeFileSync(file, "half and whole")
    while (taken.length === 0) yield* look
    yield* look
    expect(taken).toEqual(["half and whole"])
  }).pipe(Effect.provide(NodeProblems.layer)),
)
