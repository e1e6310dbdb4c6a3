/** The client over a scripted `fetch`: retries, misuse, errors and their stacks. */
import { describe, expect, it, vi } from "vitest"
import { connect, isWeirError, type WeirError, WeirMisused, type WeirOptions } from "../../../src/client/index.ts"

const ask = { model: "main", thread: [{ role: "user", blocks: [{ t: "text", v: "Hello" }] }] } as const
const usage = { inTokens: 1, outTokens: 1 }
const reply = {
  requestId: "req_1",
  model: "main",
  stop: "end",
  blocks: [
    { t: "reasoning", v: "hm" },
    { t: "text", v: "Hello " },
    { t: "text", v: "river" },
  ],
  usage,
}
const answered = () => Response.json(reply)
const streamedReply = () =>
  new Response(
    `${[
      `id: 0\nevent: t.open\ndata: {"requestId":"req_1","model":"main","protocol":"twp/1"}`,
      `id: 1\nevent: t.delta\ndata: {"i":0,"t":"text","v":"Hello"}`,
      `id: 2\r\nevent: t.close\r\ndata: {"stop":"end","usage":{}}\r\n`,
    ].join("\n\n")}\n`,
  )
const refusal = (code: string, status: number) => () =>
  Response.json({ error: { code, message: "No", requestId: "req_7" } }, { status })
const refusedConnection = (): Response => {
  throw new TypeError("fetch failed", { cause: new Error("connect ECONNREFUSED 127.0.0.1:9") })
}

/** A client whose gateway answers with the replies in order; the last one repeats. */
const weirOf = (replies: ReadonlyArray<() => Response>, more: Partial<WeirOptions> = {}) => {
  const calls: Array<string> = []
  const fetch = async (url: string | URL | Request, init: RequestInit = {}) => {
    init.signal?.throwIfAborted()
    calls.push(`${init.method} ${new URL(String(url)).pathname}`)
    return (replies[Math.min(calls.length, replies.length) - 1] ?? answered)()
  }
  const weir = connect({
    baseUrl: "http://weir.test",
    credentials: { keyId: "k", key: "s" },
    retry: { firstMs: 1, unreachableMs: 200 },
    fetch,
    ...more,
  })
  return { weir, calls }
}

const failureOf = async (promise: Promise<unknown>): Promise<WeirError> => {
  try {
    await promise
  } catch (error) {
    if (isWeirError(error)) return error
    throw error
  }
  throw new Error("the promise was to reject")
}

describe("an unreachable gateway", () => {
  it("is tried again until it is there", async () => {
    const replies = [...Array.from({ length: 7 }, () => refusedConnection), answered]
    // Its pauses are short; a machine that is busy may take long for them.
    const { weir, calls } = weirOf(replies, { retry: { firstMs: 1, unreachableMs: 60_000 } })
    expect((await weir.exchange(ask)).text).toBe("Hello river")
    expect(calls).toHaveLength(8)
  })

  it("is tried for thirty seconds if nothing else is said, with pauses of at most two", async () => {
    vi.useFakeTimers()
    try {
      const { weir, calls } = weirOf([refusedConnection], { retry: {} })
      const failure = failureOf(weir.exchange(ask))
      await vi.advanceTimersByTimeAsync(29_000)
      expect(calls.length).toBeGreaterThan(14)
      let isOver = false
      void failure.then(() => (isOver = true))
      await Promise.resolve()
      expect(isOver).toBe(false)
      await vi.advanceTimersByTimeAsync(1_100)
      expect(await failure).toMatchObject({ code: "unreachable", advice: "retry" })
    } finally {
      vi.useRealTimers()
    }
  })

  it("is given up when the signal says so, within a pause too, with the signal's reason", async () => {
    const { weir } = weirOf([refusedConnection], { retry: { firstMs: 60_000, longestMs: 60_000 } })
    const leave = new AbortController()
    const failure = weir.exchange(ask, { signal: leave.signal })
    setTimeout(() => leave.abort(new Error("changed my mind")), 20)
    await expect(failure).rejects.toThrow("changed my mind")
  })

  it("is tried once where nothing is to be retried, or the call must not be repeated", async () => {
    const none = weirOf([refusedConnection], { retry: { times: 0 } })
    expect(await failureOf(none.weir.budgets())).toMatchObject({ _tag: "WeirUnreachable", brokeOff: false })
    expect(none.calls).toHaveLength(1)
  })
})

describe("a timeout", () => {
  it.each([["upstream_ttfb_timeout"], ["upstream_total_timeout"]])("%s is retried once", async (code) => {
    const { weir, calls } = weirOf([refusal(code, 504)])
    expect(await failureOf(weir.exchange(ask))).toMatchObject({ code })
    expect(calls).toHaveLength(2)
  })

  it("other failures of a vendor are retried as often as was asked for", async () => {
    const { weir, calls } = weirOf([refusal("upstream_error", 502)])
    await failureOf(weir.exchange(ask))
    expect(calls).toHaveLength(5)
  })
})

describe("a base URL", () => {
  it.each([["127.0.0.1:8080"], ["weir.example.com"], [""], ["ftp://weir.test"], ["/t1"], ["http://weir.test/?a=1"]])(
    "%j is refused with a sentence",
    (baseUrl) => {
      const made = () => connect({ baseUrl, credentials: { keyId: "k", key: "s" } })
      expect(made).toThrow(WeirMisused)
      expect(made).toThrow(`baseUrl is not a URL such as https://weir.example.com: ${JSON.stringify(baseUrl)}`)
    },
  )

  it("may have a path and a slash at its end", async () => {
    const { weir, calls } = weirOf([answered], { baseUrl: "http://weir.test/gateway/" })
    await weir.exchange(ask)
    expect(calls).toEqual(["POST /gateway/t1/exchange"])
  })
})

describe("a closed session", () => {
  const opened = () => Response.json({ sessionId: "ses", configStale: false })
  const config = () => Response.json({ configVersion: "1", models: [] })

  it("rejects every method, opens no other session, and can be closed again", async () => {
    const { weir, calls } = weirOf([opened, config, answered, () => new Response(null, { status: 204 })])
    const session = weir.session()
    await session.exchange(ask)
    await Promise.all([session.close(), session.close()])
    await session.close()
    const made = calls.length
    expect(calls.filter((call) => call.startsWith("DELETE"))).toHaveLength(1)
    const stream = async () => {
      for await (const _ of session.stream(ask)) break
    }
    for (const call of [() => session.exchange(ask), () => session.id(), () => session.config(), stream])
      expect(await failureOf(call())).toMatchObject({ code: "session_closed", message: "The session is closed" })
    expect(calls).toHaveLength(made)
  })

  it("an exchange that ran when it was closed opens no other one", async () => {
    const { weir } = weirOf([opened, config, refusal("session_archived", 410)])
    const session = weir.session()
    await session.id()
    const running = failureOf(session.exchange(ask))
    const closed = session.close()
    expect(await running).toMatchObject({ code: "session_closed" })
    await closed
  })
})

describe("a stream", () => {
  it("is iterated once: a second loop fails with a sentence", async () => {
    const { weir } = weirOf([streamedReply])
    const pieces = weir.text(ask)
    let text = ""
    for await (const piece of pieces) text += piece
    expect(text).toBe("Hello")
    const again = async () => {
      for await (const _ of pieces) break
    }
    expect(await failureOf(again())).toMatchObject({ code: "stream_consumed", advice: "fix_request" })
  })
})

describe("a request id that a node holds which has died", () => {
  const held = () =>
    Response.json(
      { error: { code: "idempotency_conflict", message: "Held", requestId: "req_7" } },
      { status: 409, headers: { "retry-after": "1" } },
    )
  const mine = { ...ask, meta: { requestId: "mine" } }

  it("is asked for again until its lease has ended", async () => {
    vi.useFakeTimers()
    try {
      const { weir, calls } = weirOf([...Array.from({ length: 60 }, () => held), answered])
      const answer = weir.exchange(mine)
      await vi.advanceTimersByTimeAsync(60_000)
      expect((await answer).text).toBe("Hello river")
      expect(calls).toHaveLength(61)
    } finally {
      vi.useRealTimers()
    }
  })

  it("is still running at the end of the client's patience", async () => {
    const { weir } = weirOf([held], { retry: { inProgressMs: 1 } })
    expect(await failureOf(weir.exchange(mine))).toMatchObject({ code: "still_running", requestId: "mine" })
  })

  it("is refused at once if its reply cannot be replayed", async () => {
    const { weir, calls } = weirOf([refusal("idempotency_conflict", 409)])
    expect(await failureOf(weir.exchange(mine))).toMatchObject({ code: "idempotency_conflict", advice: "fix_request" })
    expect(calls).toHaveLength(1)
  })
})

describe("an error", () => {
  const failures: ReadonlyArray<readonly [string, () => Response, object]> = [
    [
      "WeirRefused",
      refusal("model_not_authorized", 403),
      { code: "model_not_authorized", advice: "ask_permission", requestId: "req_7", message: "No (model main)" },
    ],
    ["WeirUnreachable", refusedConnection, { code: "unreachable", advice: "retry" }],
    ["WeirUnreadable", () => new Response("<html>"), { code: "unreadable", advice: "contact_operator" }],
    [
      "WeirStillRunning",
      () => Response.json({ requestId: "mine", retryAfterMs: 50 }, { status: 202, headers: { "retry-after": "1" } }),
      { code: "still_running", advice: "retry", requestId: "mine" },
    ],
  ]

  it.each(failures)(
    "%s has code, advice, subject, and a stack that leads to the caller",
    async (name, make, members) => {
      const { weir } = weirOf([make], { retry: { times: 0, inProgressMs: 1 } })
      const functionOfTheCaller = async () => {
        await Promise.resolve()
        await weir.exchange(ask)
      }
      const failure = await failureOf(functionOfTheCaller())
      expect(failure).toMatchObject({ _tag: name, ...members })
      expect(failure.message).toContain("(model main)")
      expect(failure.stack?.split("\n")[0]).toBe(`${name}: ${failure.message}`)
      expect(failure.stack).toContain("functionOfTheCaller")
      expect(failure.stack).not.toContain("src/client/")
    },
  )

  it.each([
    [503, "retry", 5],
    [409, "fix_request", 1],
  ])(
    "with a code that only a newer gateway knows has the advice of its status, %i: %s",
    async (status, advice, made) => {
      const { weir, calls } = weirOf([refusal("of_tomorrow", status)])
      expect(await failureOf(weir.exchange(ask))).toMatchObject({ code: "of_tomorrow", advice })
      expect(calls).toHaveLength(made)
    },
  )

  it("of a stream leads to the call that began it", async () => {
    const { weir } = weirOf([
      () => new Response(`event: t.err\ndata: {"code":"upstream_error","message":"Broken","requestId":"req_8"}\n\n`),
    ])
    const readerOfTheCaller = async () => {
      for await (const _ of weir.stream(ask));
    }
    const failure = await failureOf(readerOfTheCaller())
    expect(failure).toMatchObject({ code: "upstream_error", requestId: "req_8", status: 502 })
    expect(failure.stack).toContain("readerOfTheCaller")
  })

  it("of a call without a model names its route, and a lost connection its reason", async () => {
    const { weir } = weirOf([refusedConnection], { retry: { times: 0 } })
    expect((await failureOf(weir.budgets())).message).toBe(
      "The gateway at http://weir.test cannot be reached: connect ECONNREFUSED 127.0.0.1:9 (GET /t1/budgets)",
    )
  })
})

describe("the reply of an exchange", () => {
  it("has its text, which is no part of its JSON", async () => {
    const { weir } = weirOf([answered])
    const whole = await weir.exchange(ask)
    expect(whole.text).toBe("Hello river")
    expect(JSON.parse(JSON.stringify(whole))).toEqual(reply)
  })
})

describe("a socket", () => {
  it("cannot be opened without a WebSocket, which the error says", async () => {
    vi.stubGlobal("WebSocket", undefined)
    try {
      const { weir } = weirOf([])
      expect((await failureOf(weir.socket())).message).toBe(
        "The socket at http://weir.test could not be opened: this runtime has no WebSocket, so that the option webSocket must bring one (/t1/socket)",
      )
    } finally {
      vi.unstubAllGlobals()
    }
  })

  it("that has ended does not reconnect, which the error says", async () => {
    const listeners = new Map<string, Array<(event: { readonly code?: number }) => void>>()
    const emit = (type: string, event: { readonly code?: number } = {}) =>
      listeners.get(type)?.forEach((listen) => {
        listen(event)
      })
    const { weir } = weirOf([], {
      webSocket: () => ({
        send: () => {},
        close: () => {},
        addEventListener: (type, listen) => void listeners.set(type, [...(listeners.get(type) ?? []), listen]),
      }),
    })
    const opening = weir.socket()
    await vi.waitFor(() => expect(listeners.has("open")).toBe(true))
    emit("open")
    const socket = await opening
    const running = failureOf(socket.exchange(ask))
    emit("close", { code: 1006 })
    const sentence = "It does not reconnect: open another"
    expect((await running).message).toContain(sentence)
    expect((await failureOf(socket.exchange(ask))).message).toContain(sentence)
    await socket.close()
  })
})
