/** Replies, sockets and options that nobody meant to give the client. */
import { afterEach, describe, expect, it, vi } from "vitest"
import { Inbox } from "../../../src/client/inbox.ts"
import { connect, WeirMisused, type WeirOptions } from "../../../src/client/index.ts"
import type { SocketEvent } from "../../../src/client/socket-like.ts"

const ask = { model: "main", thread: [{ role: "user", blocks: [{ t: "text", v: "Hello" }] }] } as const
const reply = { requestId: "req_1", model: "main", stop: "end", blocks: [], usage: { inTokens: 1, outTokens: 1 } }
const json = (body: unknown, status = 200, headers = {}) => Response.json(body, { status, headers })

const weirOf = (answer: (init: RequestInit, url: string) => Response, more: Partial<WeirOptions> = {}) => {
  let calls = 0
  const weir = connect({
    baseUrl: "http://weir.test",
    credentials: { keyId: "k", key: "s" },
    retry: { firstMs: 1, unreachableMs: 100, inProgressMs: 300 },
    silenceMs: 5_000,
    fetch: async (url, init = {}) => {
      calls++
      return answer(init, String(url))
    },
    ...more,
  })
  return { weir, calls: () => calls }
}

const event = (name: string, data: object) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`
const open = event("t.open", { requestId: "r", model: "main", protocol: "twp/1" })
const close = event("t.close", { stop: "end", usage: {} })

/** A stream of these pieces, whose connection stays open if asked for. */
const streamOf = (pieces: ReadonlyArray<string>, stays = false) =>
  new Response(
    new ReadableStream({
      start: (controller) => {
        for (const piece of pieces) controller.enqueue(new TextEncoder().encode(piece))
        if (!stays) controller.close()
      },
    }),
    { headers: { "content-type": "text/event-stream" } },
  )
const namesOf = async (response: Response, more: Partial<WeirOptions> = {}) => {
  const names: Array<string> = []
  for await (const { event } of weirOf(() => response, more).weir.stream(ask)) names.push(event)
  return names
}

const unhandled = vi.fn()
process.on("unhandledRejection", unhandled)
afterEach(() => expect(unhandled).not.toHaveBeenCalled())

describe("a reply", () => {
  it.each([[[null]], [[5]], [[{ t: "text" }]], [[[]]]])("with the blocks %j is unreadable", async (blocks) => {
    const { weir } = weirOf(() => json({ ...reply, blocks }))
    await expect(weir.exchange(ask)).rejects.toMatchObject({ _tag: "WeirUnreadable" })
  })

  it.each([0, -5])("that asks to come back in %d ms is not asked for without a pause", async (retryAfterMs) => {
    const { weir, calls } = weirOf(() => json({ requestId: "r", retryAfterMs }, 202, { "retry-after": "0" }))
    await expect(weir.exchange(ask)).rejects.toMatchObject({ _tag: "WeirStillRunning" })
    expect(calls()).toBeLessThan(10)
  })
})

describe("a stream", () => {
  it("ignores the events of a newer gateway", async () => {
    expect(await namesOf(streamOf([open, event("t.future", { a: 1 }), "event: t.odd\ndata: {\n\n", close]))).toEqual([
      "t.open",
      "t.close",
    ])
  })

  it("ends with its last event, whatever follows, also where the connection stays", async () => {
    const late = event("t.delta", { i: 0, t: "text", v: "late" })
    expect(await namesOf(streamOf([open, close + late, late], true))).toEqual(["t.open", "t.close"])
    expect(await namesOf(streamOf([open, close], true))).toEqual(["t.open", "t.close"])
  })

  it("fails with the status 500 for a code that only an object's prototype has", async () => {
    const failed = event("t.err", { code: "toString", message: "m", requestId: "r" })
    await expect(namesOf(streamOf([open, failed]))).rejects.toMatchObject({ status: 500, advice: "retry" })
  })

  it.each(["text/html", "application/json"])("of the type %s is something else than the gateway's", async (type) => {
    const page = new Response("{}", { headers: { "content-type": type } })
    await expect(namesOf(page)).rejects.toMatchObject({ _tag: "WeirUnreadable", status: 200 })
  })

  it("may be silent for ever if asked for", async () => {
    const slow = new Response(
      new ReadableStream({
        async pull(controller) {
          await new Promise((resolve) => setTimeout(resolve, 30))
          controller.enqueue(new TextEncoder().encode(open + close))
          controller.close()
        },
      }),
    )
    expect(await namesOf(slow, { silenceMs: Number.POSITIVE_INFINITY })).toEqual(["t.open", "t.close"])
  })

  it("refuses an event of endless lines", async () => {
    const lines = `data: ${"x".repeat(1000)}\n`.repeat(1100)
    const endless = streamOf([open, ...Array.from({ length: 12 }, () => lines)])
    await expect(namesOf(endless)).rejects.toMatchObject({ _tag: "WeirUnreadable" })
  })
})

describe("credentials", () => {
  it.each(["ключ", "a\nb", "a\0b"])("%j is refused at once, and not repeated", async (key) => {
    const { weir, calls } = weirOf(() => json(reply), { credentials: { keyId: "k", key } })
    const failure: unknown = await weir.exchange(ask).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(WeirMisused)
    expect(failure).toMatchObject({ code: "credentials_invalid" })
    expect(String(failure)).not.toContain(key)
    expect(calls()).toBe(0)
  })

  it("that never come do not keep an aborted call", async () => {
    const { weir } = weirOf(() => json(reply), { credentials: { bearer: () => new Promise(() => {}) } })
    await expect(weir.exchange(ask, { signal: AbortSignal.timeout(20) })).rejects.toMatchObject({
      name: "TimeoutError",
    })
  })
})

describe("a base URL", () => {
  it.each(["https://weir.test?", "https://weir.test#", " HTTPS://weir.test// ", "https://weir.test/a/.."])(
    "%j leads to the gateway",
    async (baseUrl) => {
      const urls: Array<string> = []
      const answer = (_: RequestInit, url: string) => {
        urls.push(url)
        return json(reply)
      }
      await weirOf(answer, { baseUrl }).weir.exchange(ask)
      expect(urls).toEqual(["https://weir.test/t1/exchange"])
    },
  )

  it("with a password is refused, and the password is not repeated", () => {
    const make = () => weirOf(() => json(reply), { baseUrl: "https://user:secret@weir.test" })
    expect(make).toThrow(WeirMisused)
    expect(make).not.toThrow(/secret/)
  })
})

describe("a session", () => {
  const unreachable = (): Response => {
    throw new TypeError("fetch failed")
  }

  it("is not opened for a call that is aborted, and rejects nobody else", async () => {
    const { weir, calls } = weirOf(unreachable)
    const session = weir.session()
    await expect(session.id({ signal: AbortSignal.abort(new Error("left")) })).rejects.toThrow("left")
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(calls()).toBe(0)
    await session.close()
  })

  it("closes in seconds while its opening is tried again and again", async () => {
    const { weir } = weirOf(unreachable, { retry: {} })
    const session = weir.session()
    const id = session.id()
    const startedAt = Date.now()
    const closed = session.close()
    await expect(id).rejects.toMatchObject({ code: "session_closed" })
    await closed
    expect(Date.now() - startedAt).toBeLessThan(5_000)
  })

  it("may have heartbeats as seldom as its owner likes", async () => {
    const { weir, calls } = weirOf(() => json({ sessionId: "s", configVersion: "1", configStale: false }))
    const session = weir.session({ heartbeatMs: Number.POSITIVE_INFINITY })
    await session.id()
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(calls()).toBeLessThan(4)
    await session.close()
  })
})

/** A socket that opens by itself, and whose server says nothing of its own. */
const fakeSocket = () => {
  const listeners = new Map<string, Array<(event: SocketEvent) => void>>()
  const tell = (type: string, event: SocketEvent = {}) => {
    for (const listen of listeners.get(type) ?? []) listen(event)
  }
  let made = 0
  return {
    tell: (message: object) => tell("message", { data: JSON.stringify(message) }),
    made: () => made,
    webSocket: () => {
      made++
      setTimeout(() => tell("open"), 1)
      return {
        send: () => {},
        close: () => {},
        addEventListener: (type: string, listen: (event: SocketEvent) => void) => {
          listeners.set(type, [...(listeners.get(type) ?? []), listen])
        },
      }
    },
  }
}

describe("a socket", () => {
  it("fails its exchanges when it is closed, also if the server never answers", async () => {
    const { webSocket } = fakeSocket()
    const socket = await weirOf(() => json(reply), { webSocket }).weir.socket()
    const running = socket.exchange(ask)
    const failed = expect(running).rejects.toMatchObject({ _tag: "WeirUnreachable", brokeOff: true })
    await new Promise((resolve) => setTimeout(resolve, 5))
    await socket.close()
    await socket.close()
    await failed
    await expect(socket.exchange(ask)).rejects.toMatchObject({ _tag: "WeirUnreachable" })
  })

  it("ignores the events of a newer gateway, and gives unknown codes their status", async () => {
    const { webSocket, tell } = fakeSocket()
    const socket = await weirOf(() => json(reply), { webSocket }).weir.socket()
    const running = socket.exchange(ask)
    const failed = expect(running).rejects.toMatchObject({ code: "brand_new", status: 500, advice: "retry" })
    await new Promise((resolve) => setTimeout(resolve, 5))
    tell({ id: "1", event: "t.future", data: {} })
    tell({ id: "1", event: "t.err", data: { code: "brand_new", message: "m", requestId: "r" } })
    await failed
  })

  it("is not opened if the signal comes while its token is made", async () => {
    const { webSocket, made } = fakeSocket()
    const appToken = () => new Promise<string>((resolve) => setTimeout(resolve, 30, "t"))
    const { weir } = weirOf(() => json(reply), { webSocket, credentials: { appToken } })
    await expect(weir.socket({ signal: AbortSignal.timeout(5) })).rejects.toMatchObject({ name: "TimeoutError" })
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(made()).toBe(0)
  })
})

it("a realtime session ends its readers when it is closed, also if the server never answers", async () => {
  const { webSocket } = fakeSocket()
  const session = await weirOf(() => json(reply), { webSocket }).weir.realtime("voice")
  const read = async () => {
    for await (const { type } of session) return type
    return "over"
  }
  const readers = Promise.all([read(), read()])
  await new Promise((resolve) => setTimeout(resolve, 5))
  await session.close()
  expect(await readers).toEqual(["over", "over"])
})

it("an inbox wakes each of several readers", async () => {
  const inbox = new Inbox<number>()
  const taken = Promise.all([inbox.take(), inbox.take(), inbox.take()])
  inbox.put(1)
  inbox.put(2)
  inbox.end()
  expect(await taken).toEqual([1, 2, undefined])
})
