/** `@weir-gateway/client` against a whole gateway: answers, streams, retries, aborts, sessions. */
import { createServer } from "node:http"
import { setTimeout as sleep } from "node:timers/promises"
import { Effect, Stream } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { makeClient } from "../../../src/client/effect/index.ts"
import {
  connect,
  type WeirOptions,
  WeirRefused,
  WeirStillRunning,
  WeirUnreachable,
  WeirUnreadable,
} from "../../../src/client/index.ts"
import { answering, newTestIds, openaiChunk, openaiFrame, testCatalogue } from "../../../src/testing/index.ts"
import { portOf } from "../../../src/testing/port.ts"
import { eventually, holdsOf, useGateway } from "../../support/gateway.ts"

const answer = { words: ["Hello", " ", "river"], inTokens: 1000, outTokens: 200 }
const ask = { model: "main", thread: [{ role: "user", blocks: [{ t: "text", v: "Hello, river" }] }] } as const

const ids = newTestIds()
const gateway = useGateway({
  ids,
  script: answering(answer),
  catalogue: (urls) => testCatalogue(urls, ids).replace("perMinute: 100000", "perMinute: 100000, concurrency: 3"),
})
const weir = (more: Partial<WeirOptions> = {}) =>
  connect({
    baseUrl: gateway().baseUrl,
    credentials: { keyId: gateway().keyId, key: gateway().key },
    retry: { firstMs: 5, longestMs: 100 },
    ...more,
  })
const failureOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  )

const collect = async <A>(items: AsyncIterable<A>): Promise<ReadonlyArray<A>> => {
  const all: Array<A> = []
  for await (const item of items) all.push(item)
  return all
}
const hungUp = () => gateway().vendor.calls.at(-1)?.hungUpAt !== undefined

describe("an exchange", () => {
  it("is answered whole, under an id that the client made", async () => {
    const reply = await weir({ client: { name: "tests", version: "1" } }).exchange(ask)
    expect(reply.blocks).toMatchObject([{ t: "text", v: "Hello river" }])
    expect(reply.clientRequestId).toMatch(/^[0-9A-HJKMNP-TV-Z]{26}$/)
  })

  it("of several replies, the text is the first one's", async () => {
    gateway().vendor.script(async (call) => {
      call.head()
      for (const index of [0, 1]) {
        const choice = { index, delta: { content: `reply ${index}` }, finish_reason: "stop" }
        await call.write(openaiFrame({ object: "chat.completion.chunk", choices: [choice] }))
      }
      call.end(openaiFrame({ choices: [], usage: { prompt_tokens: 5, completion_tokens: 4 } }) + openaiFrame("[DONE]"))
    })
    expect((await collect(weir().text({ ...ask, params: { n: 2 } }))).join("")).toBe("reply 0")
    gateway().vendor.script(answering(answer))
  })

  it("is signed where asked for, body, path and all", async () => {
    const signing = weir({ credentials: { keyId: gateway().keyId, key: gateway().key, sign: true } })
    expect((await signing.exchange(ask)).stop).toBe("end")
    expect((await signing.handshake()).protocol).toBe("twp/1")
    const wrong = weir({ credentials: { keyId: gateway().keyId, key: "wrong", sign: true } })
    expect(await failureOf(wrong.exchange(ask))).toMatchObject({ _tag: "WeirRefused", advice: "log_in", status: 401 })
  })

  it("an end user's token opens it, fetched anew for each call", async () => {
    const { token } = await weir().mintAppToken({ endUserId: "ada" })
    let fetched = 0
    const tokenFor = async () => {
      fetched++
      return token
    }
    const user = weir({ credentials: { appToken: tokenFor } })
    await user.exchange(ask)
    await user.exchange(ask)
    expect(fetched).toBe(2)
  })

  it("a refusal is typed: code, status, request id, detail, advice", async () => {
    const error = await failureOf(weir().exchange({ ...ask, model: "nothing" }))
    expect(error).toBeInstanceOf(WeirRefused)
    expect(error).toBeInstanceOf(Error)
    expect(error).toMatchObject({ code: "model_not_authorized", status: 403, advice: "ask_permission" })
    expect(error).toHaveProperty("requestId", expect.stringMatching(/^req_/))
  })

  it("is tried again while the vendor fails, and billed once", async () => {
    let calls = 0
    gateway().vendor.script((call) => {
      if (++calls < 3) {
        call.head(500, {})
        return call.end("")
      }
      return answering(answer)(call)
    })
    const before = (await holdsOf(gateway())).filter(({ state }) => state === "settled").length
    expect((await weir().exchange(ask)).stop).toBe("end")
    gateway().vendor.script(answering(answer))
    expect(calls).toBe(3)
    expect((await holdsOf(gateway())).filter(({ state }) => state === "settled").length).toBe(before + 1)
  })

  it("is not tried again where that makes no sense, nor more often than it may", async () => {
    let calls = 0
    gateway().vendor.script((call) => {
      calls++
      call.head(500, {})
      call.end("")
    })
    expect(await failureOf(weir({ retry: { times: 2, firstMs: 1 } }).exchange(ask))).toMatchObject({
      code: "upstream_error",
    })
    expect(calls).toBe(3)
    gateway().vendor.script((call) => {
      calls++
      call.head(400, {})
      call.end("")
    })
    expect(await failureOf(weir().exchange(ask))).toMatchObject({ code: "upstream_error", isFinal: true })
    expect(calls).toBe(4)
    gateway().vendor.script(answering(answer))
  })

  it("waits for the first call with its id, and has the same answer", async () => {
    gateway().vendor.script(async (call) => {
      await sleep(300)
      return answering(answer)(call)
    })
    const meta = { requestId: `first-${ids.org}` }
    const calls = gateway().vendor.calls.length
    const first = weir().exchange({ ...ask, meta })
    await eventually(() => gateway().vendor.calls.length > calls)
    const impatient = await failureOf(weir({ retry: { inProgressMs: 1 } }).exchange({ ...ask, meta }))
    expect(impatient).toBeInstanceOf(WeirStillRunning)
    expect(await weir().exchange({ ...ask, meta })).toEqual(await first)
    expect(gateway().vendor.calls.length).toBe(calls + 1)
    gateway().vendor.script(answering(answer))
  })

  it("ends at the gateway when its signal says so, with the signal's reason", async () => {
    gateway().vendor.script(() => {})
    const controller = new AbortController()
    const calls = gateway().vendor.calls.length
    const failure = failureOf(weir().exchange(ask, { signal: controller.signal }))
    await eventually(() => gateway().vendor.calls.length > calls)
    controller.abort(new Error("changed my mind"))
    expect(await failure).toHaveProperty("message", "changed my mind")
    await eventually(hungUp)
    gateway().vendor.script(answering(answer))
    expect(await failureOf(weir().exchange(ask, { signal: AbortSignal.abort(new Error("before")) }))).toHaveProperty(
      "message",
      "before",
    )
  })
})

describe("a stream", () => {
  it("is an async iterable of events, and its text alone", async () => {
    const events = []
    for await (const { event } of weir().stream(ask)) events.push(event)
    expect(events[0]).toBe("t.open")
    expect(events.at(-1)).toBe("t.close")
    expect((await collect(weir().text(ask))).join("")).toBe("Hello river")
  })

  it("is an Effect stream", async () => {
    const client = makeClient({
      baseUrl: gateway().baseUrl,
      credentials: { keyId: gateway().keyId, key: gateway().key },
    })
    const events = await Effect.runPromise(Stream.runCollect(client.stream(ask)))
    expect(events.filter(({ event }) => event === "t.close")).toHaveLength(1)
  })

  it("leaving the loop, or the signal, ends it at the vendor", async () => {
    for (const leave of ["break", "signal"] as const) {
      gateway().vendor.script(async (call) => {
        call.head()
        while (await call.write(openaiChunk("endless "))) await sleep(5)
      })
      const controller = new AbortController()
      const read = async () => {
        let seen = 0
        for await (const { event } of weir().stream(ask, { signal: controller.signal })) {
          if (event !== "t.delta" || ++seen < 3) continue
          if (leave === "break") return
          controller.abort(new Error("enough"))
        }
      }
      const failure = await failureOf(read())
      expect(failure === undefined ? "" : String(failure)).toContain(leave === "break" ? "" : "enough")
      await eventually(hungUp)
    }
    gateway().vendor.script(answering(answer))
  })

  it("an error inside it is the same typed failure", async () => {
    gateway().vendor.script(async (call) => {
      call.head()
      await call.write(openaiChunk("half"))
      call.reset()
    })
    const failure = await failureOf(collect(weir().stream(ask)))
    expect(failure).toMatchObject({ _tag: "WeirRefused", code: "upstream_disconnected", status: 502 })
    gateway().vendor.script(answering(answer))
  })
})

describe("what does not speak twp/1", () => {
  const bodies: Record<string, string> = {
    "/page": "<html>",
    "/half": `id: 0\nevent: t.open\ndata: {"requestId":"req_1","model":"main","protocol":"twp/1"}\n\n`,
    "/odd": `id: 0\nevent: t.open\ndata: {"requestId":1}\n\n`,
  }
  const server = createServer((request, response) => {
    const place = Object.keys(bodies).find((path) => request.url?.startsWith(path))
    if (place === undefined)
      return request.url?.startsWith("/silent") ? response.writeHead(200).write(":\n\n") : request.socket.destroy()
    response.end(bodies[place])
  })
  beforeAll(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve)))
  afterAll(() => {
    server.closeAllConnections()
    server.close()
  })
  const at = (path: string, more: Partial<WeirOptions> = {}) => {
    const port = portOf(server)
    return weir({ baseUrl: `http://127.0.0.1:${port}${path}`, ...more })
  }

  it("is distinguished: a page, an invalid event, a stream without an end, silence, no server", async () => {
    expect(await failureOf(at("/page").exchange(ask))).toBeInstanceOf(WeirUnreadable)
    expect(await failureOf(collect(at("/odd").stream(ask)))).toBeInstanceOf(WeirUnreadable)
    const half = await failureOf(collect(at("/half").stream(ask)))
    expect(half).toMatchObject({ _tag: "WeirUnreachable", brokeOff: true })
    const silent = await failureOf(collect(at("/silent", { silenceMs: 50 }).stream(ask)))
    expect(silent).toMatchObject({ _tag: "WeirUnreachable", brokeOff: true })
    const nobody = await failureOf(at("/nobody", { retry: { firstMs: 5, unreachableMs: 50 } }).exchange(ask))
    expect(nobody).toBeInstanceOf(WeirUnreachable)
  })
})

describe("a gateway that restarts", () => {
  it("is waited for, and the call is answered", async () => {
    const forwarding = () =>
      createServer((request, response) => {
        const chunks: Array<Buffer> = []
        request.on("data", (chunk) => chunks.push(chunk))
        request.on("end", () => {
          void gateway()
            .call(request.method ?? "", request.url ?? "", Buffer.concat(chunks).toString())
            .then(async (answered) => response.writeHead(answered.status).end(await answered.text()))
        })
      })
    const first = forwarding()
    await new Promise<void>((resolve) => first.listen(0, "127.0.0.1", resolve))
    const port = portOf(first)
    const client = weir({ baseUrl: `http://127.0.0.1:${port}`, retry: { firstMs: 20 } })
    expect((await client.exchange(ask)).text).toBe("Hello river")
    first.closeAllConnections()
    await new Promise((resolve) => first.close(resolve))
    const meanwhile = client.exchange(ask)
    await sleep(700)
    const second = forwarding()
    await new Promise<void>((resolve) => second.listen(port, "127.0.0.1", resolve))
    expect((await meanwhile).text).toBe("Hello river")
    second.closeAllConnections()
    second.close()
  })
})

describe("a session", () => {
  it("opens at its first use, stays active, delivers the configuration, and ends when it is closed", async () => {
    const told: Array<string> = []
    const session = weir().session({ heartbeatMs: 20, onConfig: ({ configVersion }) => void told.push(configVersion) })
    expect((await session.exchange(ask)).stop).toBe("end")
    const id = await session.id()
    expect(told).toHaveLength(1)
    expect((await session.config())?.models.map(({ handle }) => handle)).toContain("main")
    const [{ seen } = { seen: undefined }] = await Effect.runPromise(
      gateway().sql<{ seen: string }>`select last_seen_at::text as seen from sessions where id = ${id}`,
    )
    expect(seen).toBeDefined()
    await session.close()
    const after = await failureOf(weir().exchange({ ...ask, meta: { sessionId: id } }))
    expect(after).toMatchObject({ code: "session_archived", advice: "new_session" })
  })

  it("an archived session is replaced at the next exchange, and its heartbeats stop", async () => {
    const session = weir().session({ heartbeatMs: 15 })
    const first = await session.id()
    await gateway().call("DELETE", `/t1/sessions/${first}`)
    await sleep(60)
    expect((await session.exchange(ask)).stop).toBe("end")
    const second = await session.id()
    expect(second).not.toBe(first)
    await gateway().call("DELETE", `/t1/sessions/${second}`)
    expect((await collect(session.text(ask))).join("")).toBe("Hello river")
    expect(await session.id()).not.toBe(second)
    await session.close()
  })

  it("a listener that throws ends neither the session nor its heartbeats", async () => {
    let told = 0
    const session = weir().session({
      heartbeatMs: 15,
      onConfig: () => {
        throw new Error("a listener's own")
      },
      onTrouble: () => {
        told++
        throw new Error("another's")
      },
    })
    const id = await session.id()
    await gateway().call("DELETE", `/t1/sessions/${id}`)
    await eventually(() => told > 0)
    expect(await session.id()).not.toBe(id)
    await session.close()
  })

  it("a changed configuration is fetched with the next heartbeat", async () => {
    const told: Array<ReadonlyArray<string>> = []
    const session = weir().session({
      heartbeatMs: 20,
      onConfig: ({ models }) => void told.push(models.map(({ handle }) => handle)),
    })
    await session.id()
    const urls = { vendor: gateway().vendor.url, second: gateway().second.url }
    await Effect.runPromise(
      gateway().catalogue.apply(testCatalogue(urls, ids).replace("models: [main, claude,", "models: [main,")),
    )
    await eventually(() => told.length > 1)
    expect(told[0]).toContain("claude")
    expect(told.at(-1)).not.toContain("claude")
    await session.close()
  })
})
