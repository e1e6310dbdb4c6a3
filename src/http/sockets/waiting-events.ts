/**
 * Events of sockets that wait for the response before them. They are counted in bytes, for a socket, a key and the process,
 * because their number says little about their memory.
 */
export interface WaitingLimits {
  readonly socketBytes: number
  readonly keyBytes: number
  readonly processBytes: number
}

/** The events of one socket, in their order. */
export interface WaitingEvents {
  /** @returns false if there is no room */
  readonly add: (event: Buffer) => boolean
  readonly next: () => Buffer | undefined
  readonly clear: () => void
}

/** The number of events, of any size, that may wait at one socket. */
export const mostWaiting = 16

export const makeWaitingEvents = (limits: WaitingLimits): ((keyId: string) => WaitingEvents) => {
  let processBytes = 0
  const keys = new Map<string, number>()
  const count = (keyId: string, bytes: number) => {
    processBytes += bytes
    const ofKey = (keys.get(keyId) ?? 0) + bytes
    if (ofKey === 0) keys.delete(keyId)
    else keys.set(keyId, ofKey)
  }
  return (keyId) => {
    const events: Array<Buffer> = []
    let socketBytes = 0
    return {
      add: (event) => {
        const { length } = event
        const hasRoom =
          events.length < mostWaiting &&
          socketBytes + length <= limits.socketBytes &&
          (keys.get(keyId) ?? 0) + length <= limits.keyBytes &&
          processBytes + length <= limits.processBytes
        if (!hasRoom) return false
        events.push(event)
        socketBytes += length
        count(keyId, length)
        return true
      },
      next: () => {
        const event = events.shift()
        if (event === undefined) return undefined
        socketBytes -= event.length
        count(keyId, -event.length)
        return event
      },
      clear: () => {
        events.length = 0
        count(keyId, -socketBytes)
        socketBytes = 0
      },
    }
  }
}
