/** `weir doctor` on the data folder, and the settlements in its journals. */
import { accessSync, constants, existsSync, readdirSync, statfsSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import type { WeirConfig } from "../../config.ts"
import { journalIn } from "../../money/journal/file.ts"
import { usualRoom } from "../../money/journal/journal.ts"
import { readJournal } from "../../money/journal/read-journal.ts"
import { explainError } from "../explain.ts"
import { type Finding, failed, ok, skipped } from "./doctor-finding.ts"

type Folder = Pick<WeirConfig["Service"], "dataDir" | "replyAfter">

export const folderFindings = (settings: Folder): ReadonlyArray<Finding> => [
  checkFolder(settings),
  ...checkJournals(settings),
]

/** The nearest existing directory must be writable, and have room for the files of a journal and their locks. */
const checkFolder = ({ dataDir, replyAfter }: Folder): Finding => {
  const check = "data folder"
  if (dataDir === ":memory:") return skipped(check, "in memory")
  let folder = resolve(dataDir)
  while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder)
  try {
    accessSync(folder, constants.W_OK)
    const { bavail, bsize } = statfsSync(folder)
    const free = Math.floor((bavail * bsize) / 2 ** 20)
    const needed = replyAfter === "journaled" ? (2 * usualRoom) / 2 ** 20 + 1 : 1
    return free < needed
      ? failed(check, `${folder} has ${free} MiB left, and a start of a gateway needs ${needed}; make room there`)
      : ok(check, resolve(dataDir))
  } catch {
    return failed(check, `${folder} cannot be written; set SVC_DATA_DIR to a folder that this user may write`)
  }
}

/** Settlements of running gateways, and of those that have ended. */
const checkJournals = ({ dataDir }: Folder): ReadonlyArray<Finding> => {
  const folder = journalIn(dataDir)
  if (dataDir === ":memory:" || !existsSync(folder)) return []
  const check = "journal"
  try {
    const names = readdirSync(folder).filter((name) => name.endsWith(".journal"))
    const read = names.map((name) => readJournal(join(folder, name)))
    const count = read.reduce((sum, { settlements }) => sum + settlements.length, 0)
    const torn = read.reduce((sum, { torn }) => sum + torn, 0)
    const notes = [
      ...(count === 0 ? [] : [`${count} settlements, which a gateway with this folder gives to the database`]),
      ...(torn === 0 ? [] : [`${torn} of its lines cannot be read`]),
    ]
    return [{ check, result: torn === 0 ? "ok" : "warning", note: notes.join("; ") }]
  } catch (cause) {
    return [failed(check, `${folder} cannot be read: ${explainError(cause) ?? String(cause)}`)]
  }
}
