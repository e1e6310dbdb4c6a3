/**
 * `@weir-gateway/client`: twp/1 for Node, browsers and edge runtimes, as promises and async iterables. The same as effects
 * and streams is `@weir-gateway/client/effect`.
 */

export { type ErrorCode, errorCodes } from "../protocol/error-codes.ts"
export type { ExchangeRequest, ExchangeResponse } from "../protocol/exchange.ts"
export { type Advice, adviceFor } from "./advice.ts"
export type { Ask } from "./calls.ts"
export { connect, type Exchanging, type OpenRealtime, type OpenSession, type OpenSocket, type Weir } from "./connect.ts"
export type { Credentials, Token } from "./credentials.ts"
export {
  isWeirError,
  type WeirError,
  WeirMisused,
  WeirRefused,
  WeirStillRunning,
  WeirUnreachable,
  WeirUnreadable,
} from "./errors.ts"
export type { StreamedEvent } from "./exchange-stream.ts"
export type { CallOptions, RetryOptions, WeirOptions } from "./options.ts"
export type { RealtimeEvent } from "./realtime.ts"
export type { Reply } from "./reply.ts"
export type { SessionOptions } from "./session.ts"
export type { MakeSocket, SocketLike } from "./socket-like.ts"
