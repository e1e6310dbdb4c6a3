/** A long reply of a vendor in chunks: no more of it is in memory than its reader has not taken yet. */
import { UpstreamBroken, type UpstreamRequest, type VendorClient } from "../../upstream/client.ts"

/** Bytes that wait for the reader before the socket pauses. */
const mostWaiting = 1024 * 1024
/** The time in which a reply must go on. */
const silenceMs = 60_000
/** The time that its reader waits for it altogether: so long, and as long as its bytes take at the slowest rate. */
const mostWaitMs = 10 * 60_000
const slowestBytesPerMs = 16

/** Throws {@link UpstreamBroken} where the reply breaks off, stalls, goes on too slowly to end, or has an error status. */
export async function* chunksOfReply(
  client: VendorClient["Service"],
  request: UpstreamRequest,
): AsyncGenerator<Uint8Array> {
  let waiting: Array<Uint8Array> = []
  let bytes = 0
  let received = 0
  let waitedMs = 0
  let end: { readonly error?: UpstreamBroken } | undefined
  let wake = () => {}
  const finish = (error?: UpstreamBroken) => {
    end ??= error === undefined ? {} : { error }
    wake()
  }
  const call = client.start(request, {
    connected: () => {},
    head: ({ status }) => {
      if (status !== 200) finish(new UpstreamBroken({ cause: `the status is ${status}` }))
    },
    bytes: (chunk) => {
      waiting.push(chunk)
      bytes += chunk.length
      received += chunk.length
      if (bytes > mostWaiting) call.pause()
      wake()
    },
    ended: () => finish(),
    broken: (error) => finish(error),
  })
  try {
    for (;;) {
      if (end?.error !== undefined) throw end.error
      if (waiting.length === 0) {
        if (end !== undefined) return
        if (waitedMs > mostWaitMs + received / slowestBytesPerMs) {
          finish(new UpstreamBroken({ cause: "the reply goes on too slowly" }))
          continue
        }
        const sinceMs = performance.now()
        await new Promise<void>((resolve) => {
          const silence = setTimeout(() => finish(new UpstreamBroken({ cause: "the reply does not go on" })), silenceMs)
          wake = () => {
            clearTimeout(silence)
            resolve()
          }
          call.resume()
        })
        waitedMs += performance.now() - sinceMs
        continue
      }
      const taken = waiting
      waiting = []
      bytes = 0
      yield* taken
    }
  } finally {
    if (end === undefined || end.error !== undefined) call.abort()
  }
}
