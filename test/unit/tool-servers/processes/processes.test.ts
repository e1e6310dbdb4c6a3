/** Calls to tool servers that run as local processes, with real processes. */
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { objectAt } from "../../../../src/dialects/parse/json.ts"
import type { ServerNotification } from "../../../../src/tool-servers/processes/options.ts"
import { clientWith, processUrlOf } from "../../../../src/tool-servers/processes/processes.ts"
import { callTool, fixture, isRunning, openProcesses, Received, send } from "../../../support/tools/processes.ts"

const versions = [
  ["a stateless server", fixture("stateless"), "2026-07-28", "fixture"],
  ["a server of 2025-11-25", fixture("sessions", {}, "2025-11-25"), "2025-11-25", "older"],
  ["a server of 2025-06-18", fixture("sessions", {}, "2025-06-18"), "2025-06-18", "older"],
  ["a server of 2025-03-26", fixture("sessions", {}, "2025-03-26"), "2025-03-26", "older"],
  ["a server of 2024-11-05", fixture("sessions", {}, "2024-11-05"), "2024-11-05", "older"],
  ["a server that does not answer unknown methods", fixture("silent"), "2025-06-18", "older"],
  ["a server that answers late", fixture("late"), "2026-07-28", "fixture"],
] as const

describe("the protocol version", () => {
  it.each(versions)("is negotiated with %s", async (_name, server, version, name) => {
    const { processes } = await openProcesses([server], { limits: { discoverMs: 200 } })
    expect(processes.versionOf("fixture")).toBeUndefined()
    const session = await Effect.runPromise(processes.ready("fixture"))
    expect(session).toMatchObject({ version, serverInfo: { name }, capabilities: { tools: {} } })
    expect(processes.versionOf("fixture")).toBe(version)
    const { received } = callTool(processes, "state")
    expect((await received.done).value).toMatchObject({
      seen: expect.arrayContaining(session.isStateless ? ["tools/call"] : ["notifications/initialized", "tools/call"]),
    })
  })

  it("is not sought again with `server/discover` after a first process had none", async () => {
    const { processes } = await openProcesses([fixture("sessions")], { limits: { idleMs: 50, discoverMs: 200 } })
    await callTool(processes, "echo").received.done
    await expect.poll(() => processes.stateOf("fixture")?.processes).toBe(0)
    const { received } = callTool(processes, "state")
    expect((await received.done).value).toMatchObject({
      seen: ["initialize", "notifications/initialized", "tools/call"],
    })
  })

  it.each([
    ["its versions are newer", fixture("newer"), "no protocol version", 20_000],
    ["its version is unknown", fixture("sessions", {}, "1999-01-01"), "no protocol version", 20_000],
    ["it does not answer", fixture("hangs"), "in time", 600],
    ["it ends", fixture("exits"), "ended with code 1", 20_000],
    ["its program does not exist", { id: "fixture", program: "no-such-program" }, "could not be started", 20_000],
  ])("breaks calls before they are connected if %s", async (_name, server, message, startMs) => {
    const { processes } = await openProcesses([server], { limits: { startMs, discoverMs: 100 } })
    const ready = Effect.runPromise(Effect.flip(processes.ready("fixture")))
    const { received } = callTool(processes, "echo")
    expect((await ready).message).toContain(message)
    expect((await received.done).events).toEqual(["broken"])
    expect(received.error).toMatchObject({ message: expect.stringContaining(message) })
  })

  it("is in each request to a stateless server, and what a request has of its own stays", async () => {
    const { processes } = await openProcesses([fixture()])
    const { received } = callTool(
      processes,
      "echo",
      {},
      { meta: { "io.modelcontextprotocol/clientInfo": { name: "own" } } },
    )
    const { line } = JSON.parse(JSON.stringify((await received.done).value))
    expect(JSON.parse(line).params._meta).toEqual({
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": { name: "own" },
      "io.modelcontextprotocol/clientCapabilities": {},
    })
  })

  it("is answered to a client's own `initialize` without the process", async () => {
    const { processes } = await openProcesses([fixture("sessions")])
    const { received } = send(processes, { jsonrpc: "2.0", id: 5, method: "initialize", params: {} })
    expect((await received.done).messages).toMatchObject([{ id: 5, result: { protocolVersion: "2025-06-18" } }])
    const state = callTool(processes, "state").received
    expect((await state.done).value).toMatchObject({
      seen: ["server/discover", "initialize", "notifications/initialized", "tools/call"],
    })
  })
})

describe("a call", () => {
  it("is a stream of events with the client's own id", async () => {
    const { processes } = await openProcesses([fixture()])
    const { received } = callTool(processes, "echo", {}, { id: "client-1" })
    await received.done
    expect(received.events).toEqual(["connected", "head", "bytes", "ended"])
    expect(received.status).toBe(200)
    expect(received.messages).toMatchObject([{ id: "client-1" }])
  })

  it("and its reply keep every digit", async () => {
    const { processes } = await openProcesses([fixture()])
    const body = `{"jsonrpc":"2.0","id":9007199254740993,\n"method":"tools/call","params":{"name":"echo","arguments":{"n":1.10,"big":12345678901234567890}}}`
    const echoed = send(processes, body).received
    const { line } = JSON.parse(JSON.stringify((await echoed.done).value))
    expect(line).toContain('"arguments":{"n":1.10,"big":12345678901234567890}')
    expect(echoed.text).toContain('"id":9007199254740993')
    const exact = callTool(processes, "exact", {}, { id: 4 }).received
    expect((await exact.done).text).toBe(
      'data: {"jsonrpc":"2.0","id":4,"result":{"n":12345678901234567890,"m":1.10}}\n\n',
    )
  })

  it("without parameters, or with an error as its answer, is forwarded too", async () => {
    const { processes } = await openProcesses([fixture()])
    for (const params of ["", ',"params":null', ',"params":{"_meta":null}']) {
      const { received } = send(processes, `{"jsonrpc":"2.0","id":"a"${params},"method":"prompts/list"}`)
      expect((await received.done).messages).toEqual([
        { jsonrpc: "2.0", id: "a", error: { code: -32601, message: "Method not found" } },
      ])
    }
  })

  it("is one of a client of vendors, whose other calls go elsewhere", async () => {
    const { processes } = await openProcesses([fixture()])
    const others: Array<string> = []
    const none = { pause: () => {}, resume: () => {}, leave: () => {}, abort: () => {} }
    const client = clientWith(
      {
        start: ({ baseUrl }) => {
          others.push(baseUrl)
          return none
        },
      },
      processes,
    )
    const received = new Received()
    const request = { path: "", headers: {}, body: Buffer.from('{"id":1,"method":"tools/list"}') }
    client.start({ ...request, baseUrl: "http://127.0.0.1:1" }, received)
    client.start({ ...request, baseUrl: processUrlOf("fixture") }, received)
    expect((await received.done).messages).toMatchObject([{ id: 1 }])
    expect(others).toEqual(["http://127.0.0.1:1"])
  })

  it("gets its own progress under its own token, beside calls with the same id and token", async () => {
    const { processes } = await openProcesses([fixture()])
    const calls = [1, 2, 3].map(
      () => callTool(processes, "progress", {}, { id: 1, meta: { progressToken: "t" } }).received,
    )
    for (const received of calls) {
      expect((await received.done).messages).toMatchObject([
        { method: "notifications/progress", params: { progressToken: "t", progress: 1 } },
        { method: "notifications/progress", params: { progressToken: "t", progress: 2 } },
        { id: 1, result: {} },
      ])
    }
    expect(processes.stateOf("fixture")).toMatchObject({ processes: 1, calls: 0, waiting: 0 })
  })

  it("of `subscriptions/listen` gets its notifications under its own id", async () => {
    const { processes } = await openProcesses([fixture()])
    const { received } = send(processes, { jsonrpc: "2.0", id: "sub", method: "subscriptions/listen", params: {} })
    const meta = { "io.modelcontextprotocol/subscriptionId": "sub" }
    expect((await received.done).messages).toMatchObject([
      { method: "notifications/subscriptions/acknowledged", params: { _meta: meta } },
      { id: "sub", result: { _meta: meta } },
    ])
  })

  it.each([
    ["stateless", ["a", undefined]],
    ["sessions", [undefined]],
  ])("gets a server's cancellation, unless it is of a request of the server: %s", async (mode, ids) => {
    const { processes } = await openProcesses([fixture(mode)])
    const { received } = callTool(processes, "recall", {}, { id: "a" })
    const found = (await received.done).messages.map((each) => objectAt(each, "params")?.["requestId"])
    expect(found).toEqual(ids)
  })

  it("is cancelled in the process when its caller aborts it", async () => {
    const { processes } = await openProcesses([fixture()])
    await Effect.runPromise(processes.ready("fixture"))
    const { call, received } = callTool(processes, "never")
    await expect.poll(() => received.events).toEqual(["connected"])
    call.abort()
    call.abort()
    const { value } = await callTool(processes, "state").received.done
    expect(value).toMatchObject({ cancelled: [2] })
    expect(received.events).toEqual(["connected"])
  })

  it("waits for room, in order, and leaves the queue when it is aborted", async () => {
    const { processes } = await openProcesses([fixture()], { limits: { maxCalls: 2, maxWaiting: 3 } })
    const calls = Array.from({ length: 3 }, (_, id) => callTool(processes, "slow", { ms: 100 }, { id }))
    const refused = callTool(processes, "echo").received
    expect(refused.error).toMatchObject({ reason: "busy" })
    calls[1]?.call.abort()
    await calls[2]?.received.done
    expect(calls.map(({ received }) => received.events.at(-1))).toEqual(["ended", undefined, "ended"])
  })

  it("of a slow reader delays no other, and its notifications are bounded", async () => {
    const { processes } = await openProcesses([fixture()])
    const slow = callTool(processes, "flood", {}, { id: 1, meta: { progressToken: 1 } })
    slow.call.pause()
    const quick = callTool(processes, "echo").received
    await quick.done
    expect(slow.received.events).toEqual(["connected"])
    slow.call.resume()
    await slow.received.done
    expect(slow.received.messages.length).toBeLessThan(1200)
    expect(slow.received.messages.at(-1)).toMatchObject({ id: 1, result: {} })
  })

  it("to a server that is not declared breaks, as one with a body that is no message", async () => {
    const { processes } = await openProcesses([fixture()])
    expect(send(processes, {}, "other").received.error).toMatchObject({ reason: "unknown" })
    for (const body of ["", "[]", "{}", '{"id":1,"result":{}}'])
      expect(send(processes, body).received.error).toMatchObject({ reason: "message" })
  })

  it("shares the processes of a pool, of which a second one starts when the first is busy", async () => {
    const { processes } = await openProcesses([fixture("stateless", { processes: 2 })])
    await callTool(processes, "echo").received.done
    expect(processes.stateOf("fixture")?.processes).toBe(1)
    const busy = Array.from({ length: 4 }, () => callTool(processes, "slow", { ms: 500 }).received)
    await expect.poll(() => processes.stateOf("fixture")?.pids.length).toBe(2)
    await Promise.all(busy.map(({ done }) => done))
    await expect
      .poll(async () => {
        const two = [callTool(processes, "echo").received, callTool(processes, "echo").received]
        await Promise.all(two.map(({ done }) => done))
        return new Set(two.map(({ value }) => JSON.parse(JSON.stringify(value)).pid)).size
      })
      .toBe(2)
  })
})

describe("messages without a call", () => {
  it("are given to a callback, and requests are answered", async () => {
    const notifications: Array<ServerNotification> = []
    const { processes } = await openProcesses([fixture("sessions")], {
      onNotification: (server, notification) => {
        expect(server).toBe("fixture")
        notifications.push(notification)
      },
      answer: (_server, { method, params }) => Effect.succeed({ result: { method, params } }),
    })
    await callTool(processes, "changed").received.done
    expect(notifications).toMatchObject([{ method: "notifications/tools/list_changed" }])
    const { value } = await callTool(processes, "ask").received.done
    expect(value).toMatchObject(
      expect.arrayContaining([
        { jsonrpc: "2.0", id: "s-1", result: { method: "sampling/createMessage", params: { maxTokens: 1 } } },
        { jsonrpc: "2.0", id: 7, result: {} },
      ]),
    )
    const batch = callTool(processes, "batch").received
    expect((await batch.done).value).toBe("two")
    expect(notifications.at(-1)?.method).toBe("notifications/message")
  })

  it("which ask for something are refused by default", async () => {
    const { processes } = await openProcesses([fixture("sessions")])
    const { value } = await callTool(processes, "ask").received.done
    expect(value).toMatchObject(
      expect.arrayContaining([{ jsonrpc: "2.0", id: "s-1", error: { code: -32601, message: "Method not found" } }]),
    )
  })

  it("of a client reach the process, except for those that the pool writes", async () => {
    const { processes } = await openProcesses([fixture("sessions")])
    await Effect.runPromise(processes.ready("fixture"))
    for (const method of ["notifications/initialized", "notifications/cancelled", "notifications/roots/list_changed"]) {
      const { received } = send(processes, { jsonrpc: "2.0", method })
      expect([received.status, ...received.events]).toEqual([202, "connected", "head", "ended"])
    }
    const { value } = await callTool(processes, "state").received.done
    expect(value).toMatchObject({
      seen: [
        "server/discover",
        "initialize",
        "notifications/initialized",
        "notifications/roots/list_changed",
        "tools/call",
      ],
    })
  })
})

describe("declarations", () => {
  it("that change end the processes of a server when their calls have ended", async () => {
    const { processes } = await openProcesses([fixture()])
    const slow = callTool(processes, "slow", { ms: 300 }).received
    await expect.poll(() => slow.events).toEqual(["connected"])
    const [pid = 0] = processes.stateOf("fixture")?.pids ?? []
    processes.declare([fixture("sessions"), fixture("stateless", { id: "second" })])
    const { received } = callTool(processes, "echo")
    await received.done
    expect(processes.versionOf("fixture")).toBe("2025-06-18")
    expect((await slow.done).events.at(-1)).toBe("ended")
    await expect.poll(() => isRunning(pid)).toBe(false)
    processes.declare([])
    expect(callTool(processes, "echo").received.error).toMatchObject({ reason: "unknown" })
  })

  it("that do not change leave the processes", async () => {
    const { processes } = await openProcesses([fixture()])
    await callTool(processes, "echo").received.done
    const before = processes.stateOf("fixture")?.pids
    processes.declare([fixture()])
    expect(processes.stateOf("fixture")?.pids).toEqual(before)
  })
})
