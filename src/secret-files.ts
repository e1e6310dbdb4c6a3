/**
 * Secrets that operators give as files: the variable `NAME_FILE` names a file that has the value of `NAME`, as container
 * platforms mount secrets. Whitespace around the value is removed.
 */
import { readFileSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { Effect, Redacted, type Scope } from "effect"
import { runEvery } from "./background.ts"

/** The variable that names the file of a variable. */
export const fileVariable = (name: string): string => `${name}_FILE`

/** The secret in a file; undefined if it cannot be read or is empty. */
export const secretInFile = (path: string): string | undefined => {
  try {
    return readFileSync(path, "utf8").trim() || undefined
  } catch {
    return undefined
  }
}

/** The secret of a variable: its value, or else what the file of `NAME_FILE` has. */
export const secretInVariable = (name: string): string | undefined => {
  const file = process.env[fileVariable(name)]
  return process.env[name] || (file === undefined ? undefined : secretInFile(file))
}

/**
 * What a secret variable has now, for whom asks seldom: if it is given as a file, the file is read each time. A file that
 * cannot be read, or that is empty, changes nothing: it is being replaced.
 *
 * @param value what it had when the configuration was read
 */
export const currentSecret = (name: string, value: Redacted.Redacted): (() => Redacted.Redacted) => {
  const file = process.env[fileVariable(name)]
  if (file === undefined) return () => value
  let known = value
  return () => {
    const found = secretInFile(file)
    if (found !== undefined) known = Redacted.make(found)
    return known
  }
}

/**
 * Tells of each change of files, until the scope closes: what they have then, in the same order. A file that cannot be
 * read, or that is empty, changes nothing: it is being replaced.
 *
 * @param before what they had when they were read first
 */
export const watchFiles = (
  paths: ReadonlyArray<string>,
  before: ReadonlyArray<string | undefined>,
  changed: (texts: ReadonlyArray<string>) => Effect.Effect<void>,
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.suspend(() => {
    let known = before
    const look = Effect.gen(function* () {
      const texts = yield* Effect.promise(() => Promise.all(paths.map(readOrNothing)))
      if (!texts.every((text) => text !== "") || texts.every((text, at) => text === known[at])) return
      known = texts
      yield* changed(texts)
    })
    return runEvery(lookEvery, `Watching ${paths.join()}`, look)
  })

/**
 * What a secret variable has now: if it is given as a file, it is taken up anew whenever the file changes.
 *
 * @param value what it had when the configuration was read
 */
export const followVariable = Effect.fnUntraced(function* (name: string, value: string | undefined) {
  let current = value
  const file = process.env[fileVariable(name)]
  if (file !== undefined) {
    yield* watchFiles([file], [value], ([text]) =>
      Effect.andThen(
        Effect.sync(() => {
          current = text
        }),
        Effect.logInfo(`${fileVariable(name)} has changed and is in force`),
      ),
    )
  }
  return () => current
})

const readOrNothing = async (path: string): Promise<string> => {
  try {
    return (await readFile(path, "utf8")).trim()
  } catch {
    return ""
  }
}

/** How often files are read again. */
const lookEvery = "2 seconds"
