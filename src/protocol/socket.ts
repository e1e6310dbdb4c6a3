/** Messages of `GET /t1/socket`: many exchanges over one WebSocket. Each message is one JSON object in a text frame. */
import { Schema } from "effect"
import { ErrorBody } from "./error.ts"
import { type EventName, eventData } from "./event.ts"

/** The id of an exchange on its socket, which its client chose. An id can be used again when its exchange has ended. */
export const StreamId = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(64))

/** The number of bytes of messages that the client takes from now on, beside those that it has allowed before. */
const Room = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000_000 }))

const StartMessage = Schema.Struct({
  id: StreamId,
  /** The body of `POST /t1/exchange`, which checks it; streamed unless it says otherwise. */
  exchange: Schema.Record(Schema.String, Schema.Json),
  /** The window of the exchange: if present, the exchange sends no more bytes than the client has allowed. */
  room: Schema.optionalKey(Room),
})
const RoomMessage = Schema.Struct({ id: StreamId, room: Room })
/** Ends an exchange as if its client had left: what it has used is billed. */
const CancelMessage = Schema.Struct({ id: StreamId, cancel: Schema.Literal(true) })
/** The body of `POST /t1/heartbeat`. */
const HeartbeatMessage = Schema.Struct({ id: StreamId, heartbeat: Schema.Record(Schema.String, Schema.Json) })

export const ClientMessage = Schema.Union([StartMessage, RoomMessage, CancelMessage, HeartbeatMessage]).annotate({
  identifier: "SocketClientMessage",
})
export type ClientMessage = typeof ClientMessage.Type

const eventMessage = <Name extends EventName>(event: Name) =>
  Schema.Struct({ id: StreamId, event: Schema.Literal(event), data: eventData[event] })

/** A reply that is not streamed: of an exchange that asked for it, of a repeated request id, or of a heartbeat. */
const ReplyMessage = Schema.Struct({
  id: StreamId,
  /** The status as over HTTP: 200, 202 while the first call of a request id runs, or that of an error whose call was billed. */
  status: Schema.Int,
  headers: Schema.Record(Schema.String, Schema.String),
  body: Schema.Json,
})
/** The exchange that was cancelled has ended, and is settled. */
const CancelledMessage = Schema.Struct({ id: StreamId, cancelled: Schema.Literal(true) })
/** An error of a message that belongs to no exchange. */
const RefusedMessage = Schema.Struct({ event: Schema.Literal("t.err"), data: ErrorBody })

export const ServerMessage = Schema.Union([
  eventMessage("t.open"),
  eventMessage("t.delta"),
  eventMessage("t.usage"),
  eventMessage("t.warn"),
  eventMessage("t.close"),
  eventMessage("t.err"),
  ReplyMessage,
  CancelledMessage,
  RefusedMessage,
]).annotate({ identifier: "SocketServerMessage" })
export type ServerMessage = typeof ServerMessage.Type

export { socketProtocol } from "./labels.ts"
