/** A front that adds a credential to each request, for clients that send none. */
import { createServer, request as send } from "node:http"
import type { AddressInfo } from "node:net"

export const startFront = async (target: string, credential: string) => {
  const { hostname, port, pathname } = new URL(target)
  const server = createServer((request, response) => {
    const headers = { ...request.headers, authorization: `Bearer ${credential}` }
    const sent = send({ host: hostname, port, path: pathname, method: request.method, headers }, (reply) => {
      response.writeHead(reply.statusCode ?? 502, reply.headers)
      response.flushHeaders()
      reply.on("error", () => response.destroy())
      reply.pipe(response)
    })
    sent.on("error", () => response.destroy())
    response.on("close", () => sent.destroy())
    request.pipe(sent)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return {
    url: `http://localhost:${(server.address() as AddressInfo).port}/`,
    stop: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}
