/** The meaning of a reply, in whichever API it was written. */
import type { ChatDialect, VendorEvent } from "../../../src/dialects/chat-dialect.ts"
import { UsageMeter } from "../../../src/kinds/chat/usage-meter.ts"
import type { Stop } from "../../../src/protocol/exchange.ts"
import type { Usage } from "../../../src/protocol/usage.ts"
import { isStream, type Recording } from "./recordings.ts"

export const eventsOf = (dialect: ChatDialect, recording: Recording): ReadonlyArray<VendorEvent> =>
  isStream(recording) ? streamed(dialect, recording.response.body) : dialect.decodeBody(recording.response.body)

export const streamed = (dialect: ChatDialect, text: string): ReadonlyArray<VendorEvent> => {
  const decoder = dialect.decoder()
  return [...decoder.push(Buffer.from(text)), ...decoder.end()]
}

export interface Meaning {
  readonly text: string
  readonly reasoning: string
  readonly calls: ReadonlyArray<unknown>
  readonly stop: string | undefined
  readonly input: number
  readonly cached: number
  readonly output: number
}

export const meterOf = (events: ReadonlyArray<VendorEvent>) => {
  const meter = new UsageMeter({ keepsBlocks: true })
  for (const event of events) meter.add(event)
  return meter
}

export const usageIn = (events: ReadonlyArray<VendorEvent>): Usage => {
  const last = events.findLast((event) => event.kind === "usage")
  const { inTokens, outTokens, cacheReadTokens, cacheWriteTokens, dims } =
    last?.kind === "usage"
      ? last.usage
      : { inTokens: 0, outTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, dims: {} }
  const counts = { inTokens, outTokens, cacheReadTokens, cacheWriteTokens, dims }
  return { ...counts, cost: "0", balance: "0", currency: "USD", cacheNetSaving: "0" }
}

export const stopIn = (events: ReadonlyArray<VendorEvent>): Stop | undefined => {
  const stop = events.findLast((event) => event.kind === "stop")
  return stop?.kind === "stop" ? stop.stop : undefined
}

export const meaningOf = (events: ReadonlyArray<VendorEvent>): Meaning => {
  const blocks = meterOf(events).blocks()
  const { inTokens, cacheReadTokens, cacheWriteTokens, outTokens } = usageIn(events)
  const of = (kind: string) =>
    blocks.map((block) => (block.t === kind && "v" in block && !isSealed(block) ? block.v : "")).join("")
  return {
    text: of("text"),
    reasoning: of("reasoning"),
    calls: blocks.flatMap((block) => (block.t === "tool_call" ? [[block.name, block.input]] : [])),
    stop: plainStop(stopIn(events)),
    input: inTokens + cacheReadTokens + cacheWriteTokens,
    cached: cacheReadTokens,
    output: outTokens,
  }
}

const isSealed = (block: object): boolean => "redacted" in block && block.redacted === true

/** The stop that a client can read: most APIs have no name for the others. */
const plainStop = (stop: Stop | undefined) => (stop === undefined ? stop : (unnamedStops[stop] ?? stop))

/** The stops that some APIs cannot express, with the stop that replaces each. */
const unnamedStops: Readonly<Partial<Record<Stop, Stop>>> = {
  stop_sequence: "end",
  tool_call: "end",
  pause: "end",
  malformed_call: "end",
  refusal: "filtered",
}
