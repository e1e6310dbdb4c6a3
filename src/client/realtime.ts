/** A realtime session (`GET /openai/v1/realtime`): OpenAI's events in both directions, as objects. */
import { WeirUnreadable } from "./errors.ts"
import { Inbox } from "./inbox.ts"
import { ended, openSocket } from "./open-socket.ts"
import { type CallOptions, checkBaseUrl, type WeirOptions } from "./options.ts"
import { isRecord, parseJson } from "./shape.ts"
import type { SocketLike } from "./socket-like.ts"

/** An event of OpenAI's Realtime API. */
export interface RealtimeEvent {
  readonly type: string
  readonly [key: string]: unknown
}

/** A session with a model of the kind `realtime`. */
export interface RealtimeSession {
  readonly send: (event: RealtimeEvent) => void
  /** The next event; undefined when the session has ended. Rejects if it broke off. */
  readonly next: () => Promise<RealtimeEvent | undefined>
  readonly close: () => void
}

/** Opens a session. An event of the type `error` does not end it. */
export const openRealtime = async (
  options: WeirOptions,
  model: string,
  more?: CallOptions,
): Promise<RealtimeSession> => {
  checkBaseUrl(options.baseUrl)
  const subject = `model ${model}`
  const events = new Inbox<RealtimeEvent>()
  const listen = (opened: SocketLike) => {
    opened.addEventListener("message", ({ data }) => {
      const event = typeof data === "string" ? parseJson(data) : undefined
      if (isEvent(event)) events.put(event)
      else
        events.fail(
          new WeirUnreadable({ message: "The gateway sent a message that is no event", subject, status: 101 }),
        )
    })
    opened.addEventListener("close", (event) => {
      if (event.code === 1000) events.end()
      else events.fail(ended(event, subject))
    })
  }
  const target = `/openai/v1/realtime?model=${encodeURIComponent(model)}`
  const opening = { target, protocol: "realtime", tokenPrefix: "openai-insecure-api-key.", subject }
  const socket = await openSocket(options, opening, listen, more)
  return {
    send: (event) => socket.send(JSON.stringify(event)),
    next: () => events.take(),
    close: () => {
      events.end()
      socket.close(1000)
    },
  }
}

const isEvent = (event: unknown): event is RealtimeEvent => isRecord(event) && typeof event["type"] === "string"
