/** The worker thread of the tokenizer: loading it takes 140 ms and 70 MB, and a text may be long; streams must not wait for either. */
import { parentPort } from "node:worker_threads"
import { countTokens } from "gpt-tokenizer/encoding/o200k_base"
import { type CountReply, type CountRequest, isCountRequest } from "./tokenizer-protocol.ts"

/** A text is counted in slices: the time of a merge grows with the square of a word, and words may be of any length. */
const sliceChars = 128

parentPort?.on("message", (message: unknown) => {
  if (isCountRequest(message)) parentPort?.postMessage(count(message))
})

function count({ id, text }: CountRequest): CountReply {
  let tokens = 0
  for (let at = 0; at < text.length; at += sliceChars) {
    // What looks like a control token is text here.
    tokens += countTokens(text.slice(at, at + sliceChars), { disallowedSpecial: new Set() })
  }
  return { id, tokens }
}
