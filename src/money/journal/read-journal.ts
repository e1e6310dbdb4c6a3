/** Reads the file of a journal, which may be larger than a text can be. */
import { closeSync, openSync, readSync } from "node:fs"
import { Option, Result } from "effect"
import type { Settlement } from "../settlement.ts"
import { readLine } from "./entry.ts"

interface JournalContent {
  readonly settlements: ReadonlyArray<Settlement>
  /** Lines that are not whole. */
  readonly torn: number
}

export const readJournal = (path: string): JournalContent => {
  const settlements: Array<Settlement> = []
  let torn = 0
  for (const line of linesOf(path)) {
    const read = readLine(line)
    if (Result.isFailure(read)) torn++
    else if (Option.isSome(read.success)) settlements.push(read.success.value)
  }
  return { settlements, torn }
}

const pieceBytes = 2 ** 20
const lineBreak = 0x0a

function* linesOf(path: string): Generator<string> {
  const fd = openSync(path, "r")
  try {
    /** The beginning of a line whose end was not read yet. */
    let begun: Array<Buffer> = []
    for (;;) {
      const piece = Buffer.allocUnsafe(pieceBytes)
      const read = readSync(fd, piece)
      if (read === 0) break
      let from = 0
      for (let end = piece.indexOf(lineBreak); end !== -1 && end < read; end = piece.indexOf(lineBreak, from)) {
        yield Buffer.concat([...begun, piece.subarray(from, end)]).toString()
        begun = []
        from = end + 1
      }
      begun.push(piece.subarray(from, read))
    }
    yield Buffer.concat(begun).toString()
  } finally {
    closeSync(fd)
  }
}
