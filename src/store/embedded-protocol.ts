/**
 * Messages between the embedded database's worker thread and the thread that started it. No import of Effect: the worker
 * starts in half the time.
 */

export interface EmbeddedWorkerData {
  /** Directory of the data; in memory if absent. */
  readonly dataDir?: string
}

export interface ListeningMessage {
  /** Host and port. */
  readonly listening: string
  readonly password: string
}

export const isStopMessage = (message: unknown): message is { readonly stop: true } => isObject(message, "stop")

export const isListeningMessage = (message: unknown): message is ListeningMessage => isObject(message, "listening")

const isObject = (message: unknown, member: string): boolean =>
  typeof message === "object" && message !== null && member in message
