/** What the embedded database's worker and its owner say to each other. */
import { Predicate } from "effect"

export interface EmbeddedWorkerData {
  /** Where the data is kept; in memory when absent. */
  readonly dataDir?: string | undefined
}

export const isStopMessage = (message: unknown): message is { readonly stop: true } =>
  Predicate.hasProperty(message, "stop")

export const isListeningMessage = (message: unknown): message is { readonly listening: string } =>
  Predicate.hasProperty(message, "listening")
