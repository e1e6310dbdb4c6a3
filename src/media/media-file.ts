/** Files of calls, and the bodies of requests that contain them. No file is in memory as a whole, unless it is small. */

/** A file that came with a call. It can be read until the call ends, any number of times. */
export interface MediaFile {
  readonly bytes: number
  /** The hash of its content, in hexadecimal. */
  readonly sha256: string
  /** Its beginning, up to {@link headBytes}. */
  readonly head: Buffer
  /** Its content from the beginning. A chunk may be overwritten when the third one after it is asked for. */
  readonly chunks: () => AsyncIterable<Buffer>
}

/** A file with its sender's name and type. */
export interface NamedFile {
  readonly file: MediaFile
  readonly mime: string
  readonly name?: string | undefined
}

/** Bytes of a file that are kept in memory to know its format. */
export const headBytes = 64 * 1024

/** A body in parts: text, files as they are, and files in base64. */
export type MediaBody = ReadonlyArray<string | MediaFile | { readonly base64: MediaFile }>

export const bytesOfBody = (body: MediaBody): number => body.reduce((sum, part) => sum + bytesOfPart(part), 0)

const bytesOfPart = (part: MediaBody[number]): number => {
  if (typeof part === "string") return Buffer.byteLength(part)
  return "base64" in part ? Math.ceil(part.base64.bytes / 3) * 4 : part.bytes
}

export async function* chunksOfBody(body: MediaBody): AsyncGenerator<Buffer> {
  for (const part of body) {
    if (typeof part === "string") yield Buffer.from(part)
    else if ("base64" in part) yield* inBase64(part.base64)
    else yield* part.chunks()
  }
}

async function* inBase64(file: MediaFile): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of file.chunks()) {
    const all = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    const whole = all.length - (all.length % 3)
    if (whole > 0) yield Buffer.from(all.toString("base64", 0, whole))
    rest = all.subarray(whole)
  }
  if (rest.length > 0) yield Buffer.from(rest.toString("base64"))
}
