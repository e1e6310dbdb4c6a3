/**
 * Ids of files, which clients of several APIs write in forms of their own: `file-ID` (OpenAI), `file_ID` (Anthropic),
 * `files/ID` (Gemini, which takes at most 40 small letters and digits).
 */
import { randomBytes } from "node:crypto"

/** In the order in which the database sorts them. */
const letters = "234567abcdefghijklmnopqrstuvwxyz"
const timeLength = 9
const idLength = 26

/** An id that begins with its time: ids sort by it, and a list goes on after one whose file is erased. */
export const newFileId = (nowMs: number): string => {
  const time = Array.from({ length: timeLength }, (_, at) => Math.floor(nowMs / 32 ** (timeLength - 1 - at)) % 32)
  return [...time, ...randomBytes(idLength - timeLength)].map((each) => letters[each % letters.length]).join("")
}

const forms = { openai: "file-", anthropic: "file_", gemini: "files/" } as const
export type FileIdForm = keyof typeof forms

/** The id as an API writes it. */
export const writtenFileId = (form: FileIdForm, id: string): string => forms[form] + id

const written = new RegExp(`^(?:file-|file_|files/)([a-z2-7]{${idLength}})$`)

/** The id of a file, written in the form of any API; undefined if it is none of ours. */
export const readFileId = (text: string): string | undefined => written.exec(text)?.[1]
