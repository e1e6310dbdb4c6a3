/** Processes of tool servers that crash, hang, or write what they may not; and their ends. */
import { spawn } from "node:child_process"
import { existsSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { Effect, Logger, References } from "effect"
import { describe, expect, it } from "vitest"
import { isObject, type JsonObject, objectAt } from "../../../../src/dialects/parse/json.ts"
import { makeProcesses } from "../../../../src/tool-servers/processes/processes.ts"
import { callTool, fixture, isRunning, openProcesses } from "../../../support/tools/processes.ts"

/** The members of a tool's result. */
const membersOf = (received: { readonly value: unknown }): JsonObject =>
  isObject(received.value) ? received.value : {}

const pidOf = async (processes: Parameters<typeof callTool>[0]): Promise<number> =>
  Number(membersOf(await callTool(processes, "state").received.done)["pid"])

describe("a process that crashes", () => {
  it("breaks the calls in flight, which are not repeated, and is replaced", async () => {
    const { processes } = await openProcesses([fixture()])
    const before = await pidOf(processes)
    const slow = callTool(processes, "slow", { ms: 5000 }).received
    const crash = callTool(processes, "crash").received
    expect((await crash.done).events).toEqual(["connected", "broken"])
    expect((await slow.done).error).toMatchObject({ reason: "ended", message: "it has ended with code 3" })
    const after = await callTool(processes, "state").received.done
    expect(membersOf(after)).toMatchObject({ seen: ["server/discover", "tools/call"] })
    expect(membersOf(after)["pid"]).not.toBe(before)
    expect(processes.stateOf("fixture")?.failures).toBe(1)
  })

  it("has its last words read", async () => {
    const { processes } = await openProcesses([fixture()])
    const { received } = callTool(processes, "last")
    expect((await received.done).value).toBe("last")
  })

  it("is started again after pauses that grow, in which calls break at once", async () => {
    const limits = { firstPauseMs: 100, maxWaitedPauseMs: 250 }
    const { processes } = await openProcesses([fixture("exits")], { limits })
    const times: Array<number> = []
    for (let attempt = 0; attempt < 3; attempt++) {
      const begin = Date.now()
      await callTool(processes, "echo").received.done
      times.push(Date.now() - begin)
    }
    expect(processes.stateOf("fixture")?.failures).toBe(3)
    expect(times[1]).toBeGreaterThanOrEqual(100)
    expect(times[2]).toBeGreaterThanOrEqual(200)
    expect(callTool(processes, "echo").received.events).toEqual(["broken"])
    expect(processes.stateOf("fixture")?.failures).toBe(3)
  })
})

describe("a process that writes without end", () => {
  it.each([
    ["notifications", { method: "notifications/message", params: { level: "info", data: "x" } }],
    ["changes of its lists", { method: "notifications/tools/list_changed" }],
    ["progress of no call", { method: "notifications/progress", params: { progressToken: "none", progress: 1 } }],
    ["requests", { id: 1, method: "roots/list" }],
    ["pings", { id: 1, method: "ping" }],
    ["responses to nothing", { id: 99_999, result: {} }],
  ])("%s is ended", async (_, message) => {
    const { processes } = await openProcesses([fixture("sessions")])
    const { error } = await callTool(processes, "pour", { message }).received.done
    expect(error).toMatchObject({ reason: "message", message: "it writes too many messages that belong to no call" })
  })

  it("and does not read the answers is ended before they fill the memory", async () => {
    const limits = { maxUnasked: Number.POSITIVE_INFINITY }
    const { processes } = await openProcesses([fixture("sessions")], { limits, maxMessageBytes: 100_000 })
    const { error } = await callTool(processes, "pour", { message: { id: 1, method: "ping" } }).received.done
    expect(error).toMatchObject({ reason: "message", message: "it does not read the answers to its requests" })
  })
})

describe("output", () => {
  it("that is no message is skipped and counted", async () => {
    const { processes } = await openProcesses([fixture()])
    const { received } = callTool(processes, "garbage", { lines: 99 })
    expect((await received.done).value).toBe("after")
    expect(processes.stateOf("fixture")?.skippedLines).toBe(99)
  })

  it("that has a hundred such lines in a row ends the process", async () => {
    const { processes } = await openProcesses([fixture()])
    const { received } = callTool(processes, "garbage", { lines: 100 })
    expect((await received.done).error).toMatchObject({ message: "its output has no messages" })
  })

  it.each(["twice", "unknown"])("with answers that no call has asked for is dropped: %s", async (tool) => {
    const { processes } = await openProcesses([fixture()])
    const { received } = callTool(processes, tool)
    expect((await received.done).messages).toHaveLength(1)
    expect((await callTool(processes, "echo").received.done).messages).toHaveLength(1)
    expect(processes.stateOf("fixture")?.failures).toBe(0)
  })

  it.each([
    ["big", { bytes: 1024 * 1024 }],
    ["big", { bytes: 15 * 1024 * 1024 }],
    ["complex", {}],
  ])("with a reply that is too large breaks its call alone: %s %j", async (tool, args) => {
    const { processes } = await openProcesses([fixture()])
    const slow = callTool(processes, "slow", { ms: 500 }).received
    const { received } = callTool(processes, tool, args)
    expect((await received.done).error).toMatchObject({ message: "its reply is too large, or too complex" })
    expect((await slow.done).events.at(-1)).toBe("ended")
    expect(processes.stateOf("fixture")?.failures).toBe(0)
  })

  it.each([
    ["endless", {}],
    ["big", { bytes: 100 * 1024 * 1024 }],
  ])("with a line of a hundred megabytes ends the process, in little memory: %s", async (tool, args) => {
    const { processes } = await openProcesses([fixture()])
    const pid = await pidOf(processes)
    const before = process.memoryUsage().rss
    const { received } = callTool(processes, tool, args)
    expect((await received.done).error).toMatchObject({ message: "a line of its output has no end" })
    expect(process.memoryUsage().rss - before).toBeLessThan(80 * 2 ** 20)
    await expect.poll(() => isRunning(pid)).toBe(false)
  })

  it("for errors is logged at debug, with a bound", async () => {
    const lines: Array<string> = []
    const logger = Logger.make<unknown, void>(({ message, logLevel }) => {
      lines.push(`${logLevel} ${JSON.stringify(message)}`)
    })
    await Effect.gen(function* () {
      const limits = { maxLoggedLines: 10 }
      const processes = yield* makeProcesses({ servers: [fixture()], maxMessageBytes: 1024, limits })
      const noisy = callTool(processes, "noise", { lines: 20_000 }).received
      yield* Effect.promise(() => noisy.done)
      expect(noisy.value).toBe("quiet")
    }).pipe(
      Effect.scoped,
      Effect.provide(Logger.layer([logger])),
      Effect.provideService(References.MinimumLogLevel, "Debug"),
      Effect.runPromise,
    )
    expect(lines).toHaveLength(10)
    expect(lines[0]).toBe('Debug ["Error output of a tool server",{"server":"fixture","line":"noise 0"}]')
  })
})

describe("a process", () => {
  it("has no variables of the gateway, and a folder of its own", async () => {
    process.env["SVC_SECRET_FOR_TEST"] = "secret"
    const { processes, close } = await openProcesses([fixture("stateless", { environment: { OWN: "1" } })])
    const value = membersOf(await callTool(processes, "environment").received.done)
    delete process.env["SVC_SECRET_FOR_TEST"]
    const variables = objectAt(value, "variables") ?? {}
    expect(Object.keys(variables).sort()).toEqual(["HOME", "LANG", "OWN", "PATH"])
    expect(variables["HOME"]).toBe(value["cwd"])
    await close()
    expect(existsSync(String(value["cwd"]))).toBe(false)
  })

  it.each([fixture(), fixture("sessions")])(
    "that hangs is ended after a call was cancelled, others are not: %j",
    async (server) => {
      const { processes } = await openProcesses([server], { limits: { silentMs: 400 } })
      const pid = await pidOf(processes)
      callTool(processes, "never").call.abort()
      await new Promise((resolve) => setTimeout(resolve, 600))
      expect(await pidOf(processes)).toBe(pid)
      const { call } = callTool(processes, "hang")
      call.abort()
      expect(await pidOf(processes).catch(() => 0)).not.toBe(pid)
      expect(processes.stateOf("fixture")?.failures).toBe(1)
    },
  )

  it("ends when it is idle, with its children, and is started again", async () => {
    const { processes } = await openProcesses([fixture()], { limits: { idleMs: 100 } })
    const { child, pid } = membersOf(await callTool(processes, "grandchild").received.done)
    await expect.poll(() => processes.stateOf("fixture")?.processes).toBe(0)
    await expect.poll(() => isRunning(Number(pid)) || isRunning(Number(child))).toBe(false)
    expect(processes.stateOf("fixture")?.failures).toBe(0)
    expect(await pidOf(processes)).not.toBe(Number(pid))
  })

  it("that ignores its input's end and SIGTERM is killed with the scope", async () => {
    const { processes, close } = await openProcesses([fixture("stateless", {}, "", "--stubborn")], {
      limits: { closeMs: 100, killMs: 300 },
    })
    const { child, pid } = membersOf(await callTool(processes, "grandchild").received.done)
    const slow = callTool(processes, "never").received
    const begin = Date.now()
    await close()
    expect(Date.now() - begin).toBeLessThan(3000)
    expect(isRunning(Number(pid)) || isRunning(Number(child))).toBe(false)
    expect(slow.error).toMatchObject({ reason: "closed" })
    expect(callTool(processes, "echo").received.error).toMatchObject({ reason: "closed" })
  })

  it.skipIf(process.platform !== "linux").each([
    ["itself", "memory", "bytes of memory"],
    ["in a child of one of its threads", "threads", "bytes of memory"],
    ["in many children", "forks", "too many processes"],
  ])("that takes more than it may is ended: %s", async (_, tool, message) => {
    const server = fixture("stateless", { memoryBytes: 200 * 2 ** 20 })
    const { processes } = await openProcesses([server], { limits: { memoryCheckMs: 50 } })
    const { received } = callTool(processes, tool)
    expect((await received.done).error).toMatchObject({ message: expect.stringContaining(message) })
    expect((await callTool(processes, "echo").received.done).events.at(-1)).toBe("ended")
  })

  it.each([
    ["", "SIGKILL"],
    ["--stubborn", "SIGKILL"],
    ["--stubborn", "SIGTERM"],
  ] as const)("ends when the gateway is killed: %s %s", async (option, signal) => {
    const script = fileURLToPath(new URL("../../../support/tools/gateway-of-processes.ts", import.meta.url))
    const { program, arguments: args } = fixture("stateless", {}, "", option)
    const gateway = spawn(process.execPath, [script, program, ...(args ?? [])], {
      stdio: ["ignore", "pipe", "inherit"],
    })
    const pid = await new Promise<number>((resolve) =>
      gateway.stdout.once("data", (data) => resolve(Number(`${data}`))),
    )
    expect(isRunning(pid)).toBe(true)
    gateway.kill(signal)
    await expect.poll(() => isRunning(pid)).toBe(false)
  })
})
