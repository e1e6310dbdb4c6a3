/**
 * Secrets that operators give as files: the variable `NAME_FILE` names a file that has the value of `NAME`, as container
 * platforms mount secrets. Whitespace around the value is removed.
 */
import { readFileSync } from "node:fs"
import { Redacted } from "effect"

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

/** The secret of a variable: its value, or else the content of the file of `NAME_FILE`. */
export const secretInVariable = (name: string): string | undefined => {
  const file = process.env[fileVariable(name)]
  return process.env[name] || (file === undefined ? undefined : secretInFile(file))
}

/** Reads the text of a file; the last one that could be read if it is being replaced at this moment. */
export const currentText = (path: string): (() => string) => {
  let known = ""
  return () => {
    known = secretInFile(path) ?? known
    return known
  }
}

/** The members of TLS options that are read from files, each time that a connection is made. */
export const currentFiles = (files: Readonly<Record<string, string | undefined>>): PropertyDescriptorMap =>
  Object.fromEntries(
    Object.entries(files).flatMap(([name, path]) =>
      path === undefined ? [] : [[name, { enumerable: true, get: currentText(path) }]],
    ),
  )

/** Whether a variable is given as a file, whose content may change later. */
export const isInFile = (name: string): boolean => process.env[fileVariable(name)] !== undefined

/**
 * Reads the value of a secret variable: if it is given as a file, the file is read each time. A file that cannot be read, or
 * that is empty, changes nothing: it is being replaced.
 *
 * @param value its value when the configuration was read
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
