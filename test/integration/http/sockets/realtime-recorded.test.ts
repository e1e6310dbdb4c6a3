/**
 * Recorded realtime sessions, played by a vendor of ours in their order: the client gets the same events, and each response
 * is one record with its counts. Google's recordings are of another API, which no target of this route has.
 */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import type { RealtimeScript } from "../../../../src/testing/scripted-realtime.ts"
import { startRealtimeGateway } from "../../../support/realtime-gateway.ts"
import { type SocketMessages, socketsOf } from "../../../support/recorded/recordings.ts"

const recordings = ["openai", "azure", "xai"].flatMap((profile) =>
  socketsOf(`realtime-${profile}`).map(([name, messages]) => ({ profile, name, messages })),
)

/** Plays the vendor's part. */
const playing =
  (messages: SocketMessages): RealtimeScript =>
  async (session) => {
    for (const { direction, data } of messages) {
      if (direction === "sent") await session.next()
      else session.send(data)
    }
  }

interface Reported {
  readonly input_tokens?: number
  readonly output_tokens?: number
  readonly input_token_details?: { readonly audio_tokens?: number; readonly cached_tokens?: number }
  readonly output_token_details?: { readonly audio_tokens?: number }
}

/** The recorded sessions ask for transcripts. OpenAI and Azure bill them by seconds; for xAI they are part of the price. */
const pricesOf = (profile: string) => (profile === "xai" ? {} : { dims: 'audio_seconds: "300"' })

/** The data of a recording on a response: in the response, or beside it. */
const reportedOf = (data: { readonly [key: string]: unknown }): Reported => {
  const response = data["response"] as { readonly usage?: Reported }
  return response.usage?.input_tokens === undefined ? (data["usage"] as Reported) : response.usage
}

describe("recorded realtime sessions", () => {
  it.skipIf(recordings.length > 0)("are not on this machine", () => {})

  for (const { profile, name, messages } of recordings) {
    it.live(`${profile} ${name}`, () =>
      Effect.scoped(
        Effect.flatMap(
          startRealtimeGateway(playing(messages), { profile, ...pricesOf(profile) }),
          ({ open, vendor, records, held }) =>
            Effect.promise(async () => {
              const socket = await open()
              let received = 0
              for (const { direction, data } of messages) {
                if (direction === "sent") socket.send(data)
                else {
                  const at = received++
                  await socket.until(() => socket.messages.length > at)
                  // An event of ours in its place ends the test here: the vendor would wait for the next one for ever.
                  expect(socket.messages[at]).toEqual(data)
                }
              }
              socket.ws.close()
              await socket.closed
              const sent = messages.filter(({ direction }) => direction === "sent").map(({ data }) => data)
              const expected = messages.filter(({ direction }) => direction === "received").map(({ data }) => data)
              expect(socket.messages).toEqual(expected)
              await expect.poll(() => vendor.sessions[0]?.received.length).toBe(sent.length)
              expect(vendor.sessions[0]?.received).toEqual(sent)

              const done = expected.filter((data) => data["type"] === "response.done").map(reportedOf)
              await expect.poll(async () => (await records()).length).toBe(done.length)
              const rows = await records()
              const told = rows.map((row) => ({
                in: Number(row.in_tokens) + Number(row.cache_read_tokens),
                cached: Number(row.cache_read_tokens),
                out: Number(row.out_tokens),
                audioIn: (row.dims["audio_in"] ?? 0) + (row.dims["cache_read_audio"] ?? 0),
                audioOut: row.dims["audio_out"] ?? 0,
                estimated: row.estimated_reason,
              }))
              const counts = done.map((usage) => ({
                in: usage.input_tokens,
                cached: usage.input_token_details?.cached_tokens ?? 0,
                out: usage.output_tokens,
                audioIn: usage.input_token_details?.audio_tokens ?? 0,
                audioOut: usage.output_token_details?.audio_tokens ?? 0,
                estimated: null,
              }))
              const byOut = (a: { readonly out?: number | undefined }, b: { readonly out?: number | undefined }) =>
                (a.out ?? 0) - (b.out ?? 0)
              expect([...told].sort(byOut)).toEqual([...counts].sort(byOut))
              expect(new Set(rows.map((row) => row.session_id)).size).toBe(done.length === 0 ? 0 : 1)
              await expect.poll(held).toBe(0n)
            }),
        ),
      ),
    )
  }
})
