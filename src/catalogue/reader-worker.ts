/** The thread that reads large catalogues: parsing and checking one takes seconds, and streams must not wait. */
import { parentPort } from "node:worker_threads"
import { Result } from "effect"
import type { CatalogueDocument } from "../protocol/catalogue.ts"
import { partsOf } from "./patch.ts"
import { type FromReader, isToReader } from "./reader-protocol.ts"
import { type Reading, readStored, readText } from "./reading.ts"

/** Entries a message: taking one takes about a millisecond. */
const partSize = 200

let parts: Iterator<CatalogueDocument> | undefined
let reading: Omit<Reading, "news"> | undefined

const send = (message: FromReader) => parentPort?.postMessage(message)

const sendNext = () => {
  const next = parts?.next()
  if (next !== undefined && next.done !== true) send({ kind: "part", part: next.value })
  else if (reading !== undefined) send({ kind: "read", reading })
}

const begin = ({ news, ...rest }: Reading) => {
  reading = rest
  parts = partsOf(news, partSize)
  sendNext()
}

parentPort?.on("message", (message: unknown) => {
  if (!isToReader(message)) return
  if (message.kind === "next") return sendNext()
  try {
    const { kind, input, known } = message
    const read = kind === "text" ? readText(input, known) : Result.succeed(readStored(input, known))
    if (Result.isSuccess(read)) begin(read.success)
    else send({ kind: "refused", issues: read.failure })
  } catch (cause) {
    send({ kind: "failed", cause: String(cause) })
  }
})
