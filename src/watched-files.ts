/**
 * Files that a process follows: a catalogue, secrets, certificates. They are compared by content, for any way of replacement:
 * written, renamed, by a link of a folder as a ConfigMap does it, by a mount, or on a file system that sends no events.
 */
import { readFile } from "node:fs/promises"
import { Data, Effect, type Scope } from "effect"
import { runEvery } from "./background.ts"
import { fileVariable } from "./secret-files.ts"
import { NodeProblems } from "./telemetry/node-problems.ts"

/** The text of a file cannot be used; it is tried again when the file changes. */
export class FileRefused extends Data.TaggedError("FileRefused")<{ readonly message: string }> {}

interface Watch<E, R> {
  readonly paths: ReadonlyArray<string>
  /** Their texts when they were read first. */
  readonly before: ReadonlyArray<string | undefined>
  /** Loads their present texts, in the same order. After another error than {@link FileRefused} it is tried again. */
  readonly take: (texts: ReadonlyArray<string>) => Effect.Effect<void, E | FileRefused, R>
}

/**
 * Loads each change of files, until the scope closes: once two reads in a row find the same, since a file that is written in
 * place may be read in the middle, and half a catalogue can be a catalogue too. A change that cannot be used, and a file that
 * is missing or empty for longer than its replacement takes, are a log line and a problem of the node, once a change; what
 * the files had before stays in force.
 */
export const watchFiles = <E, R>({
  paths,
  before,
  take,
}: Watch<E, R>): Effect.Effect<void, never, NodeProblems | R | Scope.Scope> =>
  Effect.gen(function* () {
    const problems = yield* NodeProblems
    const what = paths.join(", ")
    let known = before.map((text) => text?.trim())
    let seen = known
    let isRefused = false
    let looksWithout = 0
    const refuse = (problem: string) =>
      Effect.andThen(problems.begin(what, problem), Effect.logError(`${problem}\nWhat was in force before stays`))
    const look = Effect.gen(function* () {
      const texts = yield* Effect.promise(() => Promise.all(paths.map(readOrNothing)))
      const isWritten = isSame(texts, seen)
      seen = texts.map((text) => text.trim())
      const missing = paths.filter((_, at) => texts[at]?.trim() === "")
      looksWithout = missing.length === 0 ? 0 : looksWithout + 1
      if (looksWithout === looksOfReplacement) yield* refuse(`${missing.join(", ")} is missing or empty`)
      if (missing.length > 0) return
      const isKnown = isSame(texts, known)
      if (isKnown ? isRefused : !isWritten) return
      if (!isKnown) {
        isRefused = yield* Effect.as(take(texts), false).pipe(
          Effect.catchIf(
            (error): error is FileRefused => error instanceof FileRefused,
            ({ message }) => Effect.as(refuse(message), true),
          ),
        )
        known = texts.map((text) => text.trim())
      }
      if (!isRefused) yield* problems.end(what)
    })
    yield* runEvery(lookEvery, `Watching ${what}`, look)
  })

/**
 * Follows the value of a secret variable: if it is given as a file, it is read again whenever the file changes.
 *
 * @param value its value when the configuration was read
 */
export const followVariable = Effect.fnUntraced(function* (name: string, value: string | undefined) {
  let current = value
  const file = process.env[fileVariable(name)]
  if (file !== undefined) {
    const take = ([text = ""]: ReadonlyArray<string>) =>
      Effect.andThen(
        Effect.sync(() => {
          current = text.trim()
        }),
        Effect.logInfo(`${fileVariable(name)} has changed and is in force`),
      )
    yield* watchFiles({ paths: [file], before: [value], take })
  }
  return () => current
})

const isSame = (texts: ReadonlyArray<string>, before: ReadonlyArray<string | undefined>): boolean =>
  texts.every((text, at) => text.trim() === before[at])

const readOrNothing = async (path: string): Promise<string> => {
  try {
    return await readFile(path, "utf8")
  } catch {
    return ""
  }
}

/** The interval at which files are read. */
const lookEvery = "2 seconds"
/** The number of reads in a row after which a file that is missing or empty is not being replaced. */
const looksOfReplacement = 3
