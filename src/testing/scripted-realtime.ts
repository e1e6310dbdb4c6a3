/**
 * A scripted vendor with OpenAI's Realtime API: a real WebSocket server on loopback. A script is a function of a session:
 * it waits for what the client sends, and sends events.
 */
import { createServer, type IncomingMessage } from "node:http"
import type { Socket } from "node:net"
import { Effect, type Scope } from "effect"
import { type WebSocket, WebSocketServer } from "ws"
import { portOf } from "./port.ts"

/** An event of either side. */
export interface RealtimeEvent {
  readonly type?: string
  readonly [key: string]: unknown
}

export interface RealtimeVendorSession {
  readonly path: string
  readonly headers: IncomingMessage["headers"]
  /** The events that have come from the gateway, in order. */
  readonly received: ReadonlyArray<RealtimeEvent>
  readonly send: (event: RealtimeEvent | string) => void
  /** The next event that was not taken yet; undefined if the socket has closed. @param type skips others */
  readonly next: (type?: string) => Promise<RealtimeEvent | undefined>
  readonly close: (code?: number) => void
  /** Breaks the connection. */
  readonly reset: () => void
  /** The code with which the gateway closed; undefined while it is open. */
  readonly closedWith: () => number | undefined
}

export type RealtimeScript = (session: RealtimeVendorSession) => Promise<void> | void

export interface RealtimeVendor {
  /** The base URL for a catalogue. */
  readonly url: string
  readonly sessions: ReadonlyArray<RealtimeVendorSession>
  readonly script: (script: RealtimeScript) => void
  /** Answers upgrades with this status instead; undefined accepts them. */
  readonly refuse: (status: number | undefined, body?: string) => void
}

/** Starts a vendor; it stops when the scope closes. */
export const startRealtimeVendor = (script: RealtimeScript): Effect.Effect<RealtimeVendor, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.callback<RealtimeVendor & { readonly stop: () => void }>((resume) => {
      let current = script
      let refusal: { readonly status: number; readonly body: string } | undefined
      const sessions: Array<RealtimeVendorSession> = []
      const server = createServer((_, response) => response.writeHead(404).end())
      const accept = acceptRealtime((session) => {
        sessions.push(session)
        return current(session)
      })
      server.on("upgrade", (request, socket: Socket, head) => {
        if (refusal === undefined) return accept(request, socket, head)
        const { status, body } = refusal
        const length = Buffer.byteLength(body)
        socket.end(`HTTP/1.1 ${status} Refused\r\ncontent-length: ${length}\r\nconnection: close\r\n\r\n${body}`)
      })
      const open = new Set<Socket>()
      server.on("connection", (socket) => {
        open.add(socket)
        socket.once("close", () => open.delete(socket))
      })
      server.listen(0, "127.0.0.1", () =>
        resume(
          Effect.succeed({
            url: `http://127.0.0.1:${portOf(server)}`,
            sessions,
            script: (next) => {
              current = next
            },
            refuse: (status, body = "{}") => {
              refusal = status === undefined ? undefined : { status, body }
            },
            stop: () => {
              for (const socket of open) socket.destroy()
              server.close()
            },
          }),
        ),
      )
    }),
    (vendor) => Effect.sync(() => vendor.stop()),
  )

/** A listener for upgrades that runs a script for each session. */
export const acceptRealtime = (
  script: RealtimeScript,
): ((request: IncomingMessage, socket: Socket, head: Buffer) => void) => {
  const sockets = new WebSocketServer({ noServer: true })
  return (request, socket, head) =>
    sockets.handleUpgrade(request, socket, head, (ws) => void Promise.resolve(script(sessionOf(request, ws))))
}

const sessionOf = (request: IncomingMessage, ws: WebSocket): RealtimeVendorSession => {
  const received: Array<RealtimeEvent> = []
  let taken = 0
  let code: number | undefined
  let wake: (() => void) | undefined
  ws.on("message", (data: Buffer) => {
    received.push(JSON.parse(data.toString("utf8")))
    wake?.()
  })
  ws.on("close", (closedWith) => {
    code = closedWith
    wake?.()
  })
  ws.on("error", () => {})
  return {
    path: request.url ?? "",
    headers: request.headers,
    received,
    send: (event) => ws.send(typeof event === "string" ? event : JSON.stringify(event)),
    next: async (type) => {
      while (true) {
        while (taken < received.length) {
          const event = received[taken++]
          if (type === undefined || event?.type === type) return event
        }
        if (code !== undefined) return undefined
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
    },
    close: (closeCode = 1000) => ws.close(closeCode),
    reset: () => ws.terminate(),
    closedWith: () => code,
  }
}

export interface Spoken {
  readonly words: ReadonlyArray<string>
  /** Bytes of sound in each part. */
  readonly audioBytes?: number
  readonly parts?: number
  readonly usage?: object
}

/** A response of a realtime vendor, from `response.created` to `response.done`. */
export const responseEvents = (
  id: string,
  { words, audioBytes = 0, parts = 0, usage }: Spoken,
): ReadonlyArray<RealtimeEvent> => [
  {
    type: "response.created",
    event_id: `event_${id}_0`,
    response: { id, object: "realtime.response", status: "in_progress" },
  },
  ...words.map((delta, at) => ({
    type: "response.output_audio_transcript.delta",
    event_id: `event_${id}_w${at}`,
    response_id: id,
    delta,
  })),
  ...Array.from({ length: parts }, (_, at) => ({
    type: "response.output_audio.delta",
    event_id: `event_${id}_a${at}`,
    response_id: id,
    delta: Buffer.alloc(audioBytes, at).toString("base64"),
  })),
  {
    type: "response.done",
    event_id: `event_${id}_1`,
    response: { id, object: "realtime.response", status: "completed", output: [], usage: usage ?? null },
  },
]

/** The usage that vendors report of a response. */
export const realtimeUsage = (inText: number, inAudio: number, outText: number, outAudio: number, cached = 0) => ({
  total_tokens: inText + inAudio + outText + outAudio,
  input_tokens: inText + inAudio,
  output_tokens: outText + outAudio,
  input_token_details: {
    text_tokens: inText,
    audio_tokens: inAudio,
    cached_tokens: cached,
    cached_tokens_details: { text_tokens: cached, audio_tokens: 0 },
  },
  output_token_details: { text_tokens: outText, audio_tokens: outAudio },
})

/** Answers each `response.create`. */
export const answeringRealtime =
  (spoken: Spoken): RealtimeScript =>
  async (session) => {
    session.send({
      type: "session.created",
      event_id: "event_0",
      session: { type: "realtime", id: "sess_1", model: "vendor-realtime" },
    })
    for (let at = 0; (await session.next("response.create")) !== undefined; at++) {
      for (const event of responseEvents(`resp_${at}`, spoken)) session.send(event)
    }
  }
