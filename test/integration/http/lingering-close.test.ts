/** Clients that send all of a long body before they read, as most do that wait for each step (Python's http.client). */
import { connect, type Socket } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { describe, expect, it } from "vitest"
import { eventually, useGateway } from "../../support/gateway.ts"

const gateway = useGateway({ config: { bodyMaxBytes: 1024 * 1024 } })
const part = Buffer.alloc(64 * 1024, "x")

/** A connection whose reply is not read before somebody asks for it. */
const open = async (head: ReadonlyArray<string>) => {
  const { hostname, port } = new URL(gateway().baseUrl)
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
  socket.on("error", () => {})
  socket.write([...head, "", ""].join("\r\n"))
  return socket
}

const post = (path: string, key: string, ...headers: ReadonlyArray<string>) =>
  open([`POST ${path} HTTP/1.1`, "host: weir", `x-svc-key-id: ${gateway().keyId}`, `x-svc-key: ${key}`, ...headers])

/** Whether it could be sent to its end. */
const sendAll = async (socket: Socket, bytes: number): Promise<boolean> => {
  for (let sent = 0; sent < bytes; sent += part.length) {
    if (socket.destroyed) return false
    const error = await new Promise<Error | null | undefined>((resolve) => {
      socket.once("close", () => resolve(new Error("closed")))
      socket.write(part.subarray(0, Math.min(part.length, bytes - sent)), resolve)
    })
    socket.removeAllListeners("close")
    if (error instanceof Error) return false
  }
  return true
}

const replyOf = async (socket: Socket): Promise<string> => {
  const chunks: Array<Buffer> = []
  // The side that sends stays open.
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

describe("a client that reads when it has sent all", () => {
  const bytes = 20 * 1024 * 1024
  const json = "content-type: application/json"

  it.each([
    ["/t1/exchange", json],
    ["/openai/v1/chat/completions", json],
    ["/t1/transcriptions", "content-type: multipart/form-data; boundary=b"],
  ])("gets its refusal of %s", async (path, type) => {
    const socket = await post(path, "wrong", type, `content-length: ${bytes}`)
    expect(await sendAll(socket, bytes)).toBe(true)
    const reply = await replyOf(socket)
    expect(reply).toMatch(/^HTTP\/1.1 401 /)
    expect(reply).toMatch(/^connection: close/im)
    expect(reply).toContain("app_key_invalid")
    // The whole body has arrived: no more is waited for.
    await eventually(() => isReset(socket), 3000)
  })

  it.each([
    ["by its length", `content-length: ${bytes}`],
    ["while it comes", "transfer-encoding: chunked"],
  ])("is told that its body is too large, known %s", async (_, length) => {
    const socket = await post("/t1/exchange", gateway().key, json, length)
    if (length.startsWith("transfer")) socket.write(`${bytes.toString(16)}\r\n`)
    expect(await sendAll(socket, bytes)).toBe(true)
    if (length.startsWith("transfer")) socket.write("\r\n0\r\n\r\n")
    const reply = await replyOf(socket)
    expect(reply).toMatch(/^HTTP\/1.1 413 /)
    expect(reply).toContain("payload_too_large")
  })

  it("is closed five seconds after it stopped sending", { timeout: 30_000 }, async () => {
    const socket = await post("/t1/exchange", "wrong", json, `content-length: ${bytes}`)
    await sendAll(socket, bytes / 4)
    expect(await replyOf(socket)).toMatch(/^HTTP\/1.1 401 /)
    await sleep(5500)
    await eventually(() => isReset(socket), 4000)
  })
})

/** Whether the other side is gone: a byte that is sent to it comes back as an error. */
const isReset = (socket: Socket): Promise<boolean> =>
  new Promise((resolve) => {
    if (socket.destroyed) return resolve(true)
    socket.write("x", (error) => resolve(error != null))
  })
