/** The thread that encodes the files of a window: it takes seconds, and streams must not wait. */
import { parentPort, workerData } from "node:worker_threads"
import { type FromEncoder, isToEncoder, isWindowPlan } from "./encoder-protocol.ts"
import { WindowFiles, type WrittenFile } from "./window-files.ts"

if (!isWindowPlan(workerData)) throw new Error("the thread was started without a window")
const window = new WindowFiles(workerData)
let files: Iterator<WrittenFile> | undefined

parentPort?.on("message", (message: unknown) => {
  if (!isToEncoder(message)) return
  if ("rows" in message) {
    window.add(message.rows)
    parentPort?.postMessage({} satisfies FromEncoder)
    return
  }
  files ??= window.finish()
  const { value: file, done } = files.next()
  if (done === true) {
    files = undefined
    parentPort?.postMessage({} satisfies FromEncoder)
  } else parentPort?.postMessage({ file } satisfies FromEncoder, [file.bytes.buffer])
})
