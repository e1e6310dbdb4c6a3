/**
 * The process that creates the embedded database's files. The directory appears when it is complete: one that was left
 * half made would not start again.
 */
import { renameSync, rmSync } from "node:fs"
import { PGlite } from "@electric-sql/pglite"
import { startParameters } from "./embedded-parameters.ts"

const [, , dataDir] = process.argv
if (dataDir === undefined) throw new Error("The directory is missing")
const unfinished = `${dataDir}.new`
rmSync(unfinished, { recursive: true, force: true })
const db = await PGlite.create({ dataDir: unfinished, startParams: startParameters })
await db.close()
renameSync(unfinished, dataDir)
