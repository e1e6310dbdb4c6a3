/** Messages between the tokenizer and its worker thread. */
// Only a part of Effect is imported, because each thread would load all of it.
import * as Predicate from "effect/Predicate"

export interface CountRequest {
  readonly id: number
  readonly text: string
}

export interface CountReply {
  readonly id: number
  readonly tokens: number
}

export const isCountRequest = (message: unknown): message is CountRequest =>
  Predicate.hasProperty(message, "id") && Predicate.hasProperty(message, "text") && typeof message.text === "string"

export const isCountReply = (message: unknown): message is CountReply =>
  Predicate.hasProperty(message, "id") && Predicate.hasProperty(message, "tokens") && typeof message.tokens === "number"
