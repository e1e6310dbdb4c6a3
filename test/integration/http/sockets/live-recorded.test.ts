/**
 * Recorded sessions with Google's Live API, played by a twin in their order: the client gets the same messages, and each turn is
 * one record with its counts.
 */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import type { LiveScript } from "../../../../src/testing/live-twin.ts"
import { startLiveGateway } from "../../../support/live-gateway.ts"
import { type SocketMessages, socketsOf } from "../../../support/recorded/recordings.ts"

const recordings = socketsOf("realtime-google")

/** Plays the vendor's part, after the setup and its answer. */
const playing =
  (messages: SocketMessages): LiveScript =>
  async (session) => {
    for (const { direction, data } of messages.slice(2)) {
      if (direction === "sent") await session.next()
      else session.send(data)
    }
  }

interface Counts {
  readonly promptTokenCount: number
  readonly responseTokenCount: number
  readonly promptTokensDetails?: ReadonlyArray<{ readonly modality: string; readonly tokenCount: number }>
  readonly responseTokensDetails?: ReadonlyArray<{ readonly modality: string; readonly tokenCount: number }>
}

const audioOf = (details: Counts["promptTokensDetails"] = []) =>
  details.filter(({ modality }) => modality === "AUDIO").reduce((sum, { tokenCount }) => sum + tokenCount, 0)

describe("recorded Live sessions", () => {
  it.skipIf(recordings.length > 0)("are not on this machine", () => {})

  for (const [name, messages] of recordings) {
    it.live(name, () =>
      Effect.scoped(
        Effect.flatMap(startLiveGateway(playing(messages)), ({ open, twin, records, held }) =>
          Effect.promise(async () => {
            const [first] = messages
            const setup = first?.data["setup"] as object
            const socket = await open({ ...setup, model: "models/live" })
            let received = 0
            for (const { direction, data } of messages.slice(1)) {
              if (direction === "sent") socket.send(data)
              else {
                const at = received++
                await socket.until(() => socket.messages.length > at)
                expect(socket.messages[at]).toEqual(data)
              }
            }
            const sent = messages.filter(({ direction }) => direction === "sent").map(({ data }) => data)
            await expect.poll(() => twin.sessions[0]?.received).toEqual(sent.slice(1))
            expect(twin.sessions[0]?.setup).toEqual({ ...setup, model: "models/gemini-live-2.5" })
            expect(twin.complaints).toEqual([])
            const reported = messages.flatMap(({ data }) => {
              const usage = data["usageMetadata"] as Counts | undefined
              return usage === undefined ? [] : [usage]
            })
            await expect.poll(async () => (await records()).length).toBe(reported.length)
            const billed = (await records()).map((row) => ({
              in: Number(row.in_tokens) + Number(row.cache_read_tokens),
              out: Number(row.out_tokens),
              audioIn: row.dims["audio_in"] ?? 0,
              audioOut: row.dims["audio_out"] ?? 0,
              estimated: row.estimated_reason,
            }))
            expect(billed).toEqual(
              reported.map((usage) => ({
                in: usage.promptTokenCount,
                out: usage.responseTokenCount,
                audioIn: audioOf(usage.promptTokensDetails),
                audioOut: audioOf(usage.responseTokensDetails),
                estimated: null,
              })),
            )
            socket.ws.close()
            await expect.poll(held).toBe(0n)
          }),
        ),
      ),
    )
  }
})
