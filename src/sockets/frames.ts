/**
 * Frames of WebSocket messages to a client. Pure. Source: RFC 6455 section 5.2.
 *
 * Our own, because many messages are then one buffer and one write: the library writes each of them in two parts.
 */

/** A whole text message, in one frame; servers do not mask. */
const finalText = 0x81

/** The most bytes before a payload, without a mask. */
const longestHead = 10

/** The frames of messages, one message a line; each line ends with a line feed, which is not sent. */
export const framesOf = (lines: string): Buffer => {
  const end = lines.indexOf("\n")
  if (end === lines.length - 1) return frameOf(lines.slice(0, end))
  const messages: Array<string> = []
  for (let from = 0; from < lines.length; ) {
    const to = lines.indexOf("\n", from)
    messages.push(lines.slice(from, to))
    from = to + 1
  }
  const frames = Buffer.allocUnsafe(Buffer.byteLength(lines) + messages.length * longestHead)
  let at = 0
  for (const message of messages) at = writeFrame(frames, at, message)
  return frames.subarray(0, at)
}

/** The frame of one message. @param message bytes are UTF-8 */
export const frameOf = (message: string | Uint8Array): Buffer => {
  const bytes = Buffer.byteLength(message)
  const frame = Buffer.allocUnsafe(headBytes(bytes) + bytes)
  const payloadAt = writeHead(frame, 0, bytes)
  if (typeof message === "string") frame.write(message, payloadAt)
  else frame.set(message, payloadAt)
  return frame
}

const writeFrame = (frames: Buffer, at: number, message: string): number => {
  const bytes = Buffer.byteLength(message)
  const payloadAt = writeHead(frames, at, bytes)
  return payloadAt + frames.write(message, payloadAt)
}

const headBytes = (bytes: number): number => {
  if (bytes < 126) return 2
  return bytes < 65_536 ? 4 : longestHead
}

/** @returns where the payload begins */
const writeHead = (frame: Buffer, at: number, bytes: number): number => {
  frame[at] = finalText
  if (bytes < 126) {
    frame[at + 1] = bytes
    return at + 2
  }
  if (bytes < 65_536) {
    frame[at + 1] = 126
    return frame.writeUInt16BE(bytes, at + 2)
  }
  frame[at + 1] = 127
  return frame.writeUIntBE(bytes, frame.writeUInt16BE(0, at + 2), 6)
}
