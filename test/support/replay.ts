/** Runs decoders over bytes, and merges their events. */

import type { ChatDialect, VendorEvent, VendorUsage } from "../../src/dialects/chat-dialect.ts"
import { UsageMeter } from "../../src/kinds/chat/usage-meter.ts"
import type { Stop } from "../../src/protocol/exchange.ts"

export interface Folded {
  readonly blocks: ReturnType<UsageMeter["blocks"]>
  readonly stop: Stop | undefined
  readonly usage: VendorUsage | undefined
  readonly done: boolean
  readonly faults: ReadonlyArray<string>
}

export const fold = (events: ReadonlyArray<VendorEvent>): Folded => {
  const meter = new UsageMeter({ keepsBlocks: true })
  for (const event of events) meter.add(event)
  return {
    blocks: meter.blocks(),
    stop: meter.stop,
    usage: meter.usage,
    done: meter.done,
    faults: events.flatMap((event) => (event.kind === "fault" ? [event.fault.code] : [])),
  }
}

/** Decodes a streamed reply given in pieces. */
export const decodePieces = (dialect: ChatDialect, pieces: ReadonlyArray<Uint8Array>): ReadonlyArray<VendorEvent> => {
  const decoder = dialect.decoder()
  return [...pieces.flatMap((piece) => decoder.push(piece)), ...decoder.end()].map(withoutSpelling)
}

/** Decodes with the full parser only: byte by byte, no frame can be recognised early. */
export const decodeBytes = (dialect: ChatDialect, bytes: Uint8Array): ReadonlyArray<VendorEvent> =>
  decodePieces(
    dialect,
    [...bytes].map((byte) => Uint8Array.of(byte)),
  )

/** Escapes may differ, but they must give the same text, on one line. */
const withoutSpelling = (event: VendorEvent): VendorEvent => {
  if (event.kind !== "delta" || event.json === undefined) return event
  const { json, ...plain } = event
  if (event.delta.t !== "text" || JSON.parse(json) !== event.delta.v || /[\r\n]/.test(json)) {
    throw new Error(`${json} does not spell ${JSON.stringify(event.delta)}`)
  }
  return plain
}

export const decodeText = (dialect: ChatDialect, text: string): ReadonlyArray<VendorEvent> =>
  decodePieces(dialect, [Buffer.from(text)])

/** Cuts bytes at the given places, each a share of the whole. */
export const cutAt = (bytes: Uint8Array, shares: ReadonlyArray<number>): ReadonlyArray<Uint8Array> => {
  const places = [...new Set(shares.map((share) => Math.floor(share * bytes.length)))].sort((a, b) => a - b)
  return [0, ...places].map((from, at) => bytes.subarray(from, places[at] ?? bytes.length))
}
