/**
 * Frames of WebSocket messages to a client. Pure. Source: RFC 6455 section 5.2.
 *
 * Our own, because many frames are then one string and one write: the library writes each of them in two parts. A frame is
 * text with a character for each byte (latin1), so that frames can be put together like the events of any other stream.
 */

/** A whole text message, in one frame; servers do not mask. */
const finalText = "\x81"

/** The heads of frames of fewer than 126 bytes. */
const shortHeads = Array.from({ length: 126 }, (_, bytes) => finalText + String.fromCharCode(bytes))

const headOf = (bytes: number): string => shortHeads[bytes] ?? longHeadOf(bytes)

const longHeadOf = (bytes: number): string => {
  if (bytes < 65_536) return `${finalText}\x7e${String.fromCharCode(bytes >> 8, bytes & 0xff)}`
  const size = Buffer.alloc(8)
  size.writeUIntBE(bytes, 2, 6)
  return `${finalText}\x7f${size.toString("latin1")}`
}

const ascii = /^[\0-\x7f]*$/

/** Whether a text has a byte for each character. */
export const isAscii = (text: string): boolean => ascii.test(text)

/** The frame of one message. */
export const frameOf = (message: string): string => {
  if (isAscii(message)) return headOf(message.length) + message
  const bytes = Buffer.from(message)
  return headOf(bytes.length) + bytes.toString("latin1")
}

/** The frame of a message of three parts, of which only the one in between may be other than ASCII. */
export const frameAround = (before: string, between: string, after: string): string =>
  isAscii(between)
    ? headOf(before.length + between.length + after.length) + before + between + after
    : frameOf(before + between + after)

/** The frame of a message that is UTF-8 already. */
export const frameOfBytes = (message: Uint8Array): Buffer => {
  const head = headOf(message.length)
  const frame = Buffer.allocUnsafe(head.length + message.length)
  frame.write(head, "latin1")
  frame.set(message, head.length)
  return frame
}

const finalBinary = 0x82

/** The frame of a message of bytes. */
export const binaryFrameOf = (message: Uint8Array): Buffer => {
  const frame = frameOfBytes(message)
  frame[0] = finalBinary
  return frame
}

/** A frame in a text of many. */
export interface Frame {
  readonly text: string
  /** The size of its message. */
  readonly bytes: number
}

/** Splits frames that were put together. */
export const framesIn = (frames: string): ReadonlyArray<Frame> => {
  const found: Array<Frame> = []
  for (let from = 0; from < frames.length; ) {
    const [head, bytes] = readHead(frames, from)
    const to = from + head + bytes
    found.push({ text: frames.slice(from, to), bytes })
    from = to
  }
  return found
}

/** The length of the head, and the length of the message after it. */
const readHead = (frames: string, at: number): readonly [head: number, bytes: number] => {
  const size = frames.charCodeAt(at + 1)
  if (size < 126) return [2, size]
  const width = size === 126 ? 2 : 8
  let bytes = 0
  for (let byte = 0; byte < width; byte++) bytes = bytes * 256 + frames.charCodeAt(at + 2 + byte)
  return [2 + width, bytes]
}
