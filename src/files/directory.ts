/** Creates directories. */
import { mkdirSync } from "node:fs"
import { dirname } from "node:path"
import { Data, Predicate } from "effect"

/** A directory that cannot be created or written to. */
export class DirectoryUnusable extends Data.TaggedError("DirectoryUnusable")<{ readonly message: string }> {}

/**
 * Creates a directory and its parents, readable by this user alone. Throws {@link DirectoryUnusable}.
 * `mkdirSync` with `recursive` never returns for a path such as `/proc/x`, where a directory exists and nothing can be
 * created: Node creates the parent again and again.
 */
export const makeDirectory = (path: string): void => {
  try {
    createWithParents(path)
  } catch (error) {
    throw new DirectoryUnusable({ message: `Cannot create the directory ${path}: ${String(error)}` })
  }
}

const createWithParents = (path: string): void => {
  try {
    create(path)
  } catch (error) {
    if (!hasCode(error, "ENOENT") || dirname(path) === path) throw error
    createWithParents(dirname(path))
    create(path)
  }
}

const create = (path: string): void => {
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    if (!hasCode(error, "EEXIST")) throw error
  }
}

const hasCode = (error: unknown, code: string): boolean => Predicate.hasProperty(error, "code") && error.code === code
