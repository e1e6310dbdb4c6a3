/** Opens a WebSocket at the gateway: in Node with headers, in browsers with a subprotocol that carries the token. */
import { Effect, type Scope } from "effect"
import { credentialHeaders } from "./credentials.ts"
import { WeirUnreachable } from "./errors.ts"
import type { MakeSocket, SocketEvent, SocketLike } from "./socket-like.ts"
import type { WeirOptions } from "./transport.ts"

/** Node takes headers beside the protocols. */
const globalSocket: MakeSocket = (url, protocols, headers) =>
  Object.keys(headers).length === 0
    ? new WebSocket(url, [...protocols])
    : Reflect.construct(WebSocket, [url, { protocols: [...protocols], headers }])

export interface Opening {
  /** Path plus query. */
  readonly target: string
  /** The subprotocol that the gateway chooses. */
  readonly protocol: string
  /** The text before a token in a subprotocol. */
  readonly tokenPrefix: string
}

/** Opens a socket, which is closed with the scope. @param listen gets the socket before any message can come */
export const openSocket = (
  options: WeirOptions,
  { target, protocol, tokenPrefix }: Opening,
  listen: (socket: SocketLike) => void,
): Effect.Effect<SocketLike, WeirUnreachable, Scope.Scope> =>
  Effect.gen(function* () {
    const outgoing = { method: "GET", target, body: new Uint8Array(0) }
    const shown = yield* Effect.mapError(credentialHeaders(options.credentials, outgoing), (cause) =>
      unreachable(cause),
    )
    const { "x-svc-app-token": token, ...headers } = shown
    const protocols = token === undefined ? [protocol] : [protocol, `${tokenPrefix}${token}`]
    const url = `${options.baseUrl.replace(/^http/, "ws").replace(/\/$/, "")}${target}`
    const { webSocket = globalSocket } = options
    const socket = yield* Effect.acquireRelease(
      Effect.try({ try: () => webSocket(url, protocols, headers), catch: unreachable }).pipe(
        Effect.tap((made) => Effect.sync(() => listen(made))),
      ),
      (opened) => Effect.sync(() => opened.close(1000)),
    )
    yield* Effect.callback<void, WeirUnreachable>((resume) => {
      socket.addEventListener("open", () => resume(Effect.void))
      socket.addEventListener("error", (event) => resume(Effect.fail(unreachable(event))))
      socket.addEventListener("close", (event) => resume(Effect.fail(unreachable(event))))
    })
    return socket
  })

const unreachable = (cause: unknown) =>
  new WeirUnreachable({ message: "The socket could not be opened", brokeOff: false, cause })

/** The socket has ended. */
export const ended = ({ code = 1006, reason = "" }: SocketEvent): WeirUnreachable =>
  new WeirUnreachable({ message: `The socket ended (${code}${reason === "" ? "" : `, ${reason}`})`, brokeOff: true })
