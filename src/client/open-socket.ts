/** Opens a WebSocket at the gateway: in Node with headers, in browsers with a subprotocol that carries the token. */
import { credentialHeaders } from "./credentials.ts"
import { reasonOf, WeirUnreachable } from "./errors.ts"
import { type CallOptions, rootOf, type WeirOptions } from "./options.ts"
import { abortable } from "./pause.ts"
import type { MakeSocket, SocketEvent, SocketLike } from "./socket-like.ts"

/** Node takes headers beside the protocols. */
const globalSocket: MakeSocket = (url, protocols, headers) => {
  if (typeof WebSocket === "undefined")
    throw new TypeError("this runtime has no WebSocket, so that the option webSocket must bring one")
  if (Object.keys(headers).length === 0) return new WebSocket(url, [...protocols])
  try {
    return Reflect.construct(WebSocket, [url, { protocols: [...protocols], headers }])
  } catch {
    const instead = "use an application's token, or the option webSocket"
    throw new TypeError(`the WebSocket of this runtime takes no headers, which carry a key: ${instead}`)
  }
}

export interface Opening {
  /** Path plus query. */
  readonly target: string
  /** The subprotocol that the gateway chooses. */
  readonly protocol: string
  /** The text before a token in a subprotocol. */
  readonly tokenPrefix: string
  /** The model or route that errors name. */
  readonly subject: string
}

/** Opens a socket, which its caller closes. @param listen gets the socket before any message can come */
export const openSocket = async (
  options: Pick<WeirOptions, "baseUrl" | "credentials" | "webSocket">,
  { target, protocol, tokenPrefix, subject }: Opening,
  listen: (socket: SocketLike) => void,
  { signal }: CallOptions = {},
): Promise<SocketLike> => {
  signal?.throwIfAborted()
  const unreachable = (cause: unknown) =>
    new WeirUnreachable({
      message: `The socket at ${options.baseUrl} could not be opened${reasonOf(cause)}`,
      subject,
      brokeOff: false,
      cause,
    })
  const { baseUrl, credentials, webSocket = globalSocket } = options
  const outgoing = { method: "GET", target, body: new Uint8Array(0) }
  let socket: SocketLike
  try {
    const { "x-svc-app-token": token, ...headers } = await abortable(credentialHeaders(credentials, outgoing), signal)
    const protocols = token === undefined ? [protocol] : [protocol, `${tokenPrefix}${token}`]
    socket = webSocket(`${rootOf(baseUrl).replace(/^http/, "ws")}${target}`, protocols, headers)
  } catch (cause) {
    signal?.throwIfAborted()
    throw unreachable(cause)
  }
  listen(socket)
  const aborted = () => socket.close(1000)
  try {
    await new Promise<void>((resolve, reject) => {
      socket.addEventListener("open", () => resolve())
      socket.addEventListener("error", (event) => reject(unreachable(event)))
      socket.addEventListener("close", (event) => reject(unreachable(event)))
      signal?.addEventListener("abort", aborted, { once: true })
    })
  } catch (error) {
    socket.close(1000)
    throw signal?.aborted === true ? signal.reason : error
  } finally {
    signal?.removeEventListener("abort", aborted)
  }
  return socket
}

/** The socket has ended. Its exchanges are not repeated, because they may have been billed. */
export const ended = ({ code = 1006, reason = "" }: SocketEvent, subject: string): WeirUnreachable =>
  new WeirUnreachable({
    message: `The socket ended (${code}${reason === "" ? "" : `, ${reason}`}). It does not reconnect: open another`,
    subject,
    brokeOff: true,
  })
