/** Runs a program of Python beside the tests. SVC_TEST_PYTHON is an interpreter that has the SDKs. */
import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"

export const python = process.env["SVC_TEST_PYTHON"]

/** @param program a file of this folder */
export const runPython = (program: string, env: Readonly<Record<string, string>>) =>
  new Promise<{ readonly code: number | null; readonly out: string; readonly errors: string }>((resolve) => {
    const file = fileURLToPath(new URL(`./${program}`, import.meta.url))
    const child = spawn(python ?? "", [file], { env: { ...process.env, ...env } })
    let out = ""
    let errors = ""
    child.stdout.on("data", (chunk) => {
      out += chunk
    })
    child.stderr.on("data", (chunk) => {
      errors += chunk
    })
    child.on("close", (code) => resolve({ code, out, errors }))
  })
