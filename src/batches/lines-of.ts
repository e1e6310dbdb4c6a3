/**
 * The lines of a file of JSON lines, one after the other: no more of the file is in memory than a line and a chunk, and others are
 * served in between, also while all lines are empty.
 */
import { EventLoopBudget } from "../event-loop-budget.ts"

export interface FileLine {
  /** From 1; lines without content count. */
  readonly number: number
  /** Undefined if the line is too long, or no UTF-8. */
  readonly text: string | undefined
  /** The bytes of a long line, if they were asked for; then there is no text. */
  readonly parts?: ReadonlyArray<Uint8Array>
}

const newline = 10
/** The time of a line, as that of so many bytes. */
const lineBytes = 64
const turn = new EventLoopBudget(256 * 1024)
const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf])

/**
 * Lines without content are left out.
 * @param mostBytes of a line
 * @param longBytes from which a line is given as bytes, for others to read
 */
export async function* linesOf(
  chunks: AsyncIterable<Uint8Array>,
  mostBytes: number,
  longBytes = Number.POSITIVE_INFINITY,
): AsyncGenerator<FileLine> {
  let waiting: Array<Buffer> = []
  let length = 0
  let number = 1
  const line = (): FileLine | undefined => {
    const isTooLong = length > mostBytes
    if (!isTooLong && length >= longBytes) {
      const made = { number: number++, text: undefined, parts: waiting }
      waiting = []
      length = 0
      return made
    }
    const bytes = Buffer.concat(waiting)
    waiting = []
    length = 0
    const text = isTooLong ? undefined : textOfLine(bytes)
    const made = { number, text }
    number++
    return text?.trim() === "" ? undefined : made
  }
  const add = (part: Uint8Array) => {
    length += part.length
    // The rest of a line that is too long is not kept.
    if (length <= mostBytes && part.length > 0) waiting.push(Buffer.from(part))
  }
  for await (const chunk of chunks) {
    let from = 0
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, from)) {
      const later = turn.take(end - from + lineBytes)
      if (later !== undefined) await later
      add(chunk.subarray(from, end))
      from = end + 1
      const made = line()
      if (made !== undefined) yield made
    }
    add(chunk.subarray(from))
  }
  if (length > 0) {
    const made = line()
    if (made !== undefined) yield made
  }
}

const withoutMark = (bytes: Buffer): Buffer =>
  bytes.subarray(0, byteOrderMark.length).equals(byteOrderMark) ? bytes.subarray(byteOrderMark.length) : bytes

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

/** The text of a line, without the mark that a file may begin with; undefined if it is no UTF-8. */
export const textOfLine = (bytes: Buffer): string | undefined => {
  try {
    return decoder.decode(withoutMark(bytes))
  } catch {
    return undefined
  }
}
