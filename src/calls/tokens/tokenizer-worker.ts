/**
 * The tokenizer's worker thread: loading takes 140 ms and 70 MB, and counting a long text takes time; streams must not
 * wait.
 */
import { parentPort } from "node:worker_threads"
import { countTokens } from "gpt-tokenizer/encoding/o200k_base"
import { type CountReply, type CountRequest, isCountRequest } from "./tokenizer-protocol.ts"

/** Text is counted in slices: the time of a merge grows with the square of a word's length. */
const sliceChars = 128

parentPort?.on("message", (message: unknown) => {
  if (isCountRequest(message)) parentPort?.postMessage(count(message))
})

function count({ id, text }: CountRequest): CountReply {
  let tokens = 0
  for (let at = 0; at < text.length; at += sliceChars) {
    // Control tokens in the text are ordinary text.
    tokens += countTokens(text.slice(at, at + sliceChars), { disallowedSpecial: new Set() })
  }
  return { id, tokens }
}
