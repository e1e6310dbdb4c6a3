/** `@weir-gateway/client/effect`: the client as effects and streams, for programs with Effect. */
export * from "../index.ts"
export { makeClient, WeirClient, type WeirClientShape } from "./client.ts"
export { makeSession, type SessionShape } from "./session.ts"
export { type ExchangeSocketShape, makeExchangeSocket, makeRealtime, type RealtimeShape } from "./sockets.ts"
export { textOf } from "./streams.ts"
