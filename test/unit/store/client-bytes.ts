/** The messages of a client of PostgreSQL, byte by byte. */

export const int = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}

/** The first message of a connection: a length, a code, and no type. */
export const first = (code: number, rest = ""): Buffer =>
  Buffer.concat([int(8 + rest.length), int(code), Buffer.from(rest)])

export const startup = first(196608, "user\0postgres\0\0")

/** Every other. @param type a letter */
export const message = (type: string, body: string | Uint8Array = ""): Buffer =>
  Buffer.concat([Buffer.from(type), int(4 + body.length), Buffer.from(body)])
