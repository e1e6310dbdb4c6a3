/** A client that writes the frames of a test, right or wrong. Source: RFC 6455 sections 4.1 and 5.2. */
import { randomBytes } from "node:crypto"
import { connect } from "node:net"

export const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const

export interface FrameOptions {
  readonly isFinal?: boolean
  /** The three reserved bits. */
  readonly reserved?: number
  readonly isMasked?: boolean
}

export const frameOf = (
  opcode: number,
  payload: string | Uint8Array = "",
  { isFinal = true, reserved = 0, isMasked = true }: FrameOptions = {},
): Buffer => {
  const bytes = Buffer.from(payload)
  const isShort = bytes.length < 126
  const isMiddle = bytes.length < 65_536
  const head = Buffer.alloc(isShort ? 2 : isMiddle ? 4 : 10)
  head[0] = (isFinal ? 0x80 : 0) | (reserved << 4) | opcode
  head[1] = (isMasked ? 0x80 : 0) | (isShort ? bytes.length : isMiddle ? 126 : 127)
  if (!isShort && isMiddle) head.writeUInt16BE(bytes.length, 2)
  else if (!isShort) head.writeBigUInt64BE(BigInt(bytes.length), 2)
  if (!isMasked) return Buffer.concat([head, bytes])
  const mask = randomBytes(4)
  return Buffer.concat([head, mask, bytes.map((byte, at) => byte ^ (mask[at % 4] ?? 0))])
}

export const closeOf = (code?: number, reason: string | Buffer = ""): Buffer => {
  if (code === undefined) return frameOf(opcodes.close)
  const body = Buffer.alloc(2)
  body.writeUInt16BE(code)
  return frameOf(opcodes.close, Buffer.concat([body, Buffer.from(reason)]))
}

/** All that a server sent until it closed the connection. */
export interface Heard {
  /** The head of its reply to the handshake. */
  readonly head: string
  readonly texts: ReadonlyArray<string>
  readonly pongs: ReadonlyArray<string>
  /** The code of its closing frame: undefined without one, 1005 for one without a code. */
  readonly closed: number | undefined
}

/** The frames that are sent at once, and those that are sent when so many texts and pongs have come. */
export interface Conversation {
  readonly sent: ReadonlyArray<Buffer>
  /** Bytes of each write; unsplit if absent. */
  readonly inPiecesOf?: number
  readonly next?: { readonly after: number; readonly sent: Buffer }
  /** Whether it keeps the connection open when the gateway asks it to end. */
  readonly staysOpen?: boolean
}

/** Opens a socket, sends, and listens until the server has closed the connection. */
export const converse = (
  url: string,
  headers: Readonly<Record<string, string>>,
  { sent, inPiecesOf, next, staysOpen = false }: Conversation,
): Promise<Heard> =>
  new Promise((resolve, reject) => {
    const { hostname, port, pathname } = new URL(url)
    const socket = connect(Number(port), hostname)
    socket.setNoDelay()
    let read = Buffer.alloc(0)
    let hasNext = next !== undefined
    const upgrade = {
      host: hostname,
      connection: "Upgrade",
      upgrade: "websocket",
      "sec-websocket-key": randomBytes(16).toString("base64"),
      "sec-websocket-version": "13",
      ...headers,
    }
    const lines = Object.entries(upgrade).map(([name, value]) => `${name}: ${value}\r\n`)
    socket.write(`GET ${pathname} HTTP/1.1\r\n${lines.join("")}\r\n`)
    const bytes = Buffer.concat(sent)
    const step = inPiecesOf ?? bytes.length
    for (let at = 0; at < bytes.length; at += step) socket.write(bytes.subarray(at, at + step))
    socket.on("data", (chunk: Buffer) => {
      read = Buffer.concat([read, chunk])
      const { texts, pongs, closed } = hear(read)
      if (closed !== undefined && !staysOpen) socket.end()
      if (next === undefined || !hasNext) return
      if (texts.length + pongs.length < next.after) return
      hasNext = false
      socket.write(next.sent)
    })
    socket.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "ECONNRESET" && error.code !== "EPIPE") reject(error)
    })
    socket.on("close", () => resolve(hear(read)))
  })

const endOfHead = "\r\n\r\n"

const hear = (read: Buffer): Heard => {
  const from = read.indexOf(endOfHead) + endOfHead.length
  const texts: Array<string> = []
  const pongs: Array<string> = []
  let closed: number | undefined
  for (let at = from; from >= endOfHead.length && at + 2 <= read.length; ) {
    const size = (read[at + 1] ?? 0) & 0x7f
    const head = size === 126 ? 4 : size === 127 ? 10 : 2
    if (at + head > read.length) break
    const length = size === 126 ? read.readUInt16BE(at + 2) : size === 127 ? Number(read.readBigUInt64BE(at + 2)) : size
    const payload = read.subarray(at + head, at + head + length)
    if (payload.length < length) break
    const opcode = (read[at] ?? 0) & 0x0f
    if (opcode === opcodes.text) texts.push(payload.toString("utf8"))
    if (opcode === opcodes.pong) pongs.push(payload.toString("latin1"))
    if (opcode === opcodes.close) closed = payload.length < 2 ? 1005 : payload.readUInt16BE(0)
    at += head + length
  }
  return { head: read.toString("latin1", 0, from), texts, pongs, closed }
}
