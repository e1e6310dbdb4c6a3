/** Messages between the tokenizer and its worker thread. */
import { Predicate } from "effect"

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
