/** The whole reply of an exchange, with its text. */
import type { ExchangeResponse } from "../protocol/exchange.ts"
import type { StreamedEvent } from "./exchange-stream.ts"
import { hasShape, isRecord } from "./shape.ts"

/** A reply with its text; of several replies, with the first one's. */
export type Reply = ExchangeResponse & {
  /** The text blocks, concatenated. It is no part of the reply's JSON. */
  readonly text: string
}

const hasMembers = hasShape<ExchangeResponse>({ blocks: "array", stop: "string", usage: "object" })

const isBlock = (block: unknown): boolean =>
  isRecord(block) && typeof block["t"] === "string" && (block["t"] !== "text" || typeof block["v"] === "string")

export const isReply = (value: unknown): value is ExchangeResponse => hasMembers(value) && value.blocks.every(isBlock)

export const withText = (reply: ExchangeResponse): Reply => {
  const text = reply.blocks.map((block) => (block.t === "text" ? block.v : "")).join("")
  const whole = { ...reply, text }
  Object.defineProperty(whole, "text", { enumerable: false })
  return whole
}

/** The text of an event: of a text delta of the first reply; undefined for other events. */
export const textOfEvent = ({ event, data }: StreamedEvent): string | undefined =>
  event === "t.delta" && data.t === "text" && data.reply === undefined && typeof data.v === "string"
    ? data.v
    : undefined
