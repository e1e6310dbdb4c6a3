/** A client on a bare socket, which reads only when a test asks it to. */
import { connect, type Socket } from "node:net"
import type { TestGateway } from "../../src/testing/gateway.ts"
import { openaiChunk } from "../../src/testing/index.ts"

export const silentClient = ({ baseUrl, keyId, key }: TestGateway, path: string, request: object): Socket => {
  const socket = connect({ port: Number(new URL(baseUrl).port), host: "127.0.0.1" })
  const body = JSON.stringify(request)
  socket.pause()
  socket.write(
    `POST ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx-svc-key-id: ${keyId}\r\nx-svc-key: ${key}\r\n` +
      `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
  return socket
}

/** Frames of a stream: what the kernel keeps for a client that does not read is full after some of these. */
export const oneMegabyte = openaiChunk("x".repeat(1024)).repeat(1024)
