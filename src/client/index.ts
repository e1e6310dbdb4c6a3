/**
 * `weir/client`: twp/1 for Node, browsers and edge runtimes, as promises and async iterables or as effects and streams.
 */
export { type ErrorCode, errorCodes } from "../protocol/error.ts"
export type { ExchangeRequest, ExchangeResponse } from "../protocol/exchange.ts"
export { type Advice, adviceFor } from "./advice.ts"
export { type Ask, makeClient, WeirClient, type WeirClientShape } from "./client.ts"
export {
  type CallOptions,
  connect,
  type Exchanging,
  type OpenRealtime,
  type OpenSession,
  type OpenSocket,
  textOf,
  type Weir,
} from "./connect.ts"
export type { Credentials, Token } from "./credentials.ts"
export { type WeirError, WeirRefused, WeirStillRunning, WeirUnreachable, WeirUnreadable } from "./errors.ts"
export { type ExchangeSocketShape, makeExchangeSocket } from "./exchange-socket.ts"
export type { StreamedEvent } from "./exchange-stream.ts"
export { makeRealtime, type RealtimeEvent, type RealtimeShape } from "./realtime.ts"
export { makeSession, type Session, type SessionOptions } from "./session.ts"
export type { MakeSocket, SocketLike } from "./socket-like.ts"
export type { RetryOptions, WeirOptions } from "./transport.ts"
