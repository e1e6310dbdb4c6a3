/** Long replies of vendors in chunks. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest"
import { chunksOfReply } from "../../../src/batches/vendor/reply-chunks.ts"
import { VendorClient } from "../../../src/upstream/client.ts"

const request = { baseUrl: "http://vendor", path: "/results", headers: {}, body: "" }
const head = { status: 200, headers: {} }

/** A vendor that sends a byte every half minute, and never ends. */
const dripping = VendorClient.of({
  start: (_request, listener) => {
    listener.connected()
    listener.head(head)
    const drip = setInterval(() => listener.bytes(Buffer.from("x")), 30_000)
    const stop = () => clearInterval(drip)
    return { pause: () => {}, resume: () => {}, leave: stop, abort: stop }
  },
})

describe("a long reply", () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it("breaks off where it goes on too slowly to end", async () => {
    let bytes = 0
    const read = async () => {
      for await (const chunk of chunksOfReply(dripping, request)) bytes += chunk.length
    }
    const outcome = read().then(
      () => "ended",
      () => "broken",
    )
    await vi.advanceTimersByTimeAsync(20 * 60_000)
    expect([await Promise.race([outcome, "goes on"]), bytes > 10]).toEqual(["broken", true])
  })
})
