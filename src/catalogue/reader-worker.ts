/** The thread that reads large catalogues: parsing and checking one takes seconds, and streams must not wait. */
import { parentPort } from "node:worker_threads"
import { Result } from "effect"
import { slicesOf } from "./declared.ts"
import { partsOf } from "./patch.ts"
import { type FromReader, isToReader } from "./reader-protocol.ts"
import { type Reading, readStored, readText } from "./reading.ts"

/** Entries of one message: taking one takes about a millisecond. */
const partSize = 200

let messages: Iterator<FromReader> | undefined

const send = (message: FromReader) => parentPort?.postMessage(message)

const sendNext = () => {
  const next = messages?.next()
  if (next !== undefined && next.done !== true) send(next.value)
}

function* messagesOf({ news, declared, ...reading }: Reading): Generator<FromReader> {
  for (const part of partsOf(news, partSize)) yield { kind: "news", part }
  for (const part of slicesOf(declared, partSize)) yield { kind: "declared", part }
  yield { kind: "read", reading }
}

parentPort?.on("message", (message: unknown) => {
  if (!isToReader(message)) return
  if (message.kind === "next") return sendNext()
  try {
    const read =
      message.kind === "text"
        ? readText(message.input, message.known, message.options)
        : Result.succeed(readStored(message.input, message.known))
    if (Result.isFailure(read)) return send({ kind: "refused", issues: read.failure })
    messages = messagesOf(read.success)
    sendNext()
  } catch (cause) {
    send({ kind: "failed", cause: String(cause) })
  }
})
