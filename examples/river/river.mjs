// An application of Weir's: asks one question, and prints the answer as it is written.
// WEIR_URL, WEIR_KEY_ID and WEIR_KEY say where and as whom.
import { connect } from "@weir-gateway/client"

/**
 * @param {import("@weir-gateway/client").WeirOptions} options
 * @param {string} question
 * @param {import("@weir-gateway/client").CallOptions} [call]
 */
export async function* answerTo(options, question, call) {
  const weir = connect(options)
  yield* weir.text({ model: "main", thread: [{ role: "user", blocks: [{ t: "text", v: question }] }] }, call)
}

if (process.env.WEIR_URL !== undefined) {
  const { WEIR_URL: baseUrl, WEIR_KEY_ID: keyId = "", WEIR_KEY: key = "" } = process.env
  for await (const piece of answerTo({ baseUrl, credentials: { keyId, key } }, "What is a weir?")) {
    process.stdout.write(piece)
  }
  process.stdout.write("\n")
}
