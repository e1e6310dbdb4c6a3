/**
 * The folder of recorded vendor traffic, if the machine has some: `SVC_TEST_RECORDINGS`, or `fixtures` of a folder beside
 * this project's.
 */
import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const beside = fileURLToPath(new URL("../../../..", import.meta.url))

/** The folder; undefined if there is none, as in a clone that has nothing beside it. */
export const recordedFolder = (): string | undefined => {
  const named = process.env["SVC_TEST_RECORDINGS"]
  const candidates = named === undefined ? readdirSync(beside).map((name) => join(beside, name, "fixtures")) : [named]
  return candidates.find((path) => existsSync(path))
}
