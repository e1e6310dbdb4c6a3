/** The tunnel that a proxy opens after it has accepted a CONNECT. */
import { connect, type Socket } from "node:net"

/** Connects to a target and joins both sockets. */
export const openTunnel = (socket: Socket, host: string, port: number): void => {
  const upstream = connect(port, host, () => {
    socket.write("HTTP/1.1 200 Connection established\r\n\r\n")
    upstream.pipe(socket).pipe(upstream)
  })
  upstream.on("error", () => socket.destroy())
}
