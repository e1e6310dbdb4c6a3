/** Threads for work that takes long: streams must not wait for it. */
import { extname } from "node:path"
import { Worker } from "node:worker_threads"

export interface ThreadOptions<Message> {
  /** The data that the thread starts with. */
  readonly workerData?: unknown
  /** Whether a message is one of the thread's; others are ignored. */
  readonly isMessage: (message: unknown) => message is Message
  readonly onMessage: (message: Message) => void
  /** The thread has failed or ended; it takes nothing any more. After a failure it is called again for the end. */
  readonly onEnd: (cause: unknown) => void
}

/**
 * Starts a thread, which does not keep the process alive.
 * @param meta `import.meta` of the module beside whose file the thread's is, before and after compilation
 * @param name of the thread's file, without its extension
 */
export const startThread = <Message>(
  meta: ImportMeta,
  name: string,
  { workerData, isMessage, onMessage, onEnd }: ThreadOptions<Message>,
): Worker => {
  const worker = new Worker(new URL(`./${name}${extname(meta.filename)}`, meta.url), { workerData })
  worker.unref()
  worker.on("message", (message: unknown) => {
    if (isMessage(message)) onMessage(message)
  })
  worker.on("error", onEnd)
  worker.on("exit", (code) => onEnd(new Error(`the thread ${name} has ended with code ${code}`)))
  return worker
}
