/** Messages between the embedded database's worker thread and the thread that started it. */
import { Predicate } from "effect"

export interface EmbeddedWorkerData {
  /** Directory of the data; in memory if absent. */
  readonly dataDir?: string
}

export const isStopMessage = (message: unknown): message is { readonly stop: true } =>
  Predicate.hasProperty(message, "stop")

export const isListeningMessage = (message: unknown): message is { readonly listening: string } =>
  Predicate.hasProperty(message, "listening")
