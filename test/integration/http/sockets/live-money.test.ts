/** The money of sessions with Google's Live API, where a side leaves, the vendor reports nothing, or the money ends. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { answeringLive, liveUsage, soundMessage, turnMessages } from "../../../../src/testing/live-messages.ts"
import { type LiveScript, type LiveTwinSession, startLiveTwin } from "../../../../src/testing/live-twin.ts"
import { type LiveGateway, livePath, startLiveGateway } from "../../../support/live-gateway.ts"
import type { SocketMessage, TestSocket } from "../../../support/socket-client.ts"

const usage = liveUsage(30, 20, 10, 40)
const spoken = { words: ["Hello", " there"], audioBytes: 4800, parts: 2, usage }

type Options = Parameters<typeof startLiveGateway>[1]

const withGateway = (script: LiveScript, use: (test: LiveGateway) => Promise<void>, options: Options = {}) =>
  Effect.scoped(Effect.flatMap(startLiveGateway(script, options), (test) => Effect.promise(() => use(test))))

const contentOf = (message: SocketMessage) => message["serverContent"] as Record<string, unknown> | undefined
const isEnd = (message: SocketMessage) => contentOf(message)?.["turnComplete"] === true
const isReady = (message: SocketMessage) => message["setupComplete"] !== undefined
const say = (socket: TestSocket, text: string) =>
  socket.send({ clientContent: { turns: [{ role: "user", parts: [{ text }] }], turnComplete: true } })

/** Sends nothing by itself; each step is made by a call. */
const stepping = () => {
  let session: LiveTwinSession | undefined
  const script: LiveScript = (opened) => {
    session = opened
  }
  return {
    script,
    at: async (): Promise<LiveTwinSession> => {
      await expect.poll(() => session).toBeDefined()
      if (session === undefined) throw new Error("no session")
      return session
    },
  }
}

describe("money of a Live session", () => {
  it.live("a turn whose client leaves is settled with the gateway's counts", () => {
    const vendor = stepping()
    return withGateway(vendor.script, async ({ open, records, held }) => {
      const socket = await open()
      await socket.until(isReady)
      say(socket, "Hello")
      const session = await vendor.at()
      await session.next("clientContent")
      session.send(soundMessage(Buffer.alloc(48_000)))
      await socket.until((message) => contentOf(message)?.["modelTurn"] !== undefined)
      socket.ws.terminate()
      await expect.poll(async () => (await records()).length).toBe(1)
      expect((await records())[0]).toMatchObject({
        estimated_reason: "client_disconnected",
        stop: "interrupted",
        dims: { audio_out: 25 },
      })
      await expect.poll(() => session.closedWith()).toBeDefined()
      await expect.poll(held).toBe(0n)
    })
  })

  it.live("a turn whose vendor leaves is settled, and the client gets 1011 without the vendor's reason", () => {
    const vendor = stepping()
    return withGateway(vendor.script, async ({ open, records, held }) => {
      const socket = await open()
      await socket.until(isReady)
      say(socket, "Hello")
      const session = await vendor.at()
      await session.next("clientContent")
      session.send(soundMessage(Buffer.alloc(48_000)))
      session.close(1011, "Internal error of project 12345")
      expect(await socket.closed).toEqual({ code: 1011, reason: "The upstream closed the connection" })
      await expect
        .poll(async () => (await records()).map((row) => row.estimated_reason))
        .toEqual(["upstream_disconnected"])
      await expect.poll(held).toBe(0n)
    })
  })

  it.live("a turn without usage is counted, once nothing more comes of it", () => {
    const { usage: _, ...silent } = spoken
    return withGateway(answeringLive(silent), async ({ open, records, held }) => {
      const socket = await open()
      await socket.until(isReady)
      say(socket, "Hello")
      await socket.until(isEnd)
      await expect.poll(async () => (await records()).length, { timeout: 15_000 }).toBe(1)
      expect((await records())[0]).toMatchObject({
        estimated_reason: "upstream_usage_missing",
        stop: "end",
        dims: { audio_out: 5 },
      })
      socket.ws.close()
      await expect.poll(held).toBe(0n)
    })
  })

  it.live("usage that comes after the turn settles it, and comes once", () => {
    const vendor = stepping()
    const { usage: _, ...silent } = spoken
    return withGateway(vendor.script, async ({ open, records }) => {
      const socket = await open()
      await socket.until(isReady)
      say(socket, "Hello")
      const session = await vendor.at()
      await session.next("clientContent")
      for (const message of turnMessages(silent)) session.send(message)
      session.send({ usageMetadata: usage })
      session.send({ usageMetadata: usage, sessionResumptionUpdate: { resumable: false } })
      await socket.until((message) => message["sessionResumptionUpdate"] !== undefined)
      await expect.poll(async () => (await records()).map((row) => row.estimated_reason)).toEqual([null])
      for (const message of turnMessages({ ...silent, usage: liveUsage(80, 20, 10, 40) })) session.send(message)
      await expect.poll(async () => (await records()).map((row) => Number(row.in_tokens))).toEqual([50, 100])
      socket.ws.close()
    })
  })

  it.live("reports of the same prompt grow: the last one is billed", () => {
    const vendor = stepping()
    return withGateway(vendor.script, async ({ open, records }) => {
      const socket = await open()
      await socket.until(isReady)
      const session = await vendor.at()
      say(socket, "Hello")
      await session.next("clientContent")
      for (const out of [5, 10]) {
        session.send({ ...soundMessage(Buffer.alloc(480)), usageMetadata: liveUsage(30, 0, 0, out) })
      }
      session.send({ serverContent: { turnComplete: true }, usageMetadata: liveUsage(30, 0, 0, 15) })
      await expect.poll(async () => (await records()).map((row) => Number(row.out_tokens))).toEqual([15])
      socket.ws.close()
    })
  })

  it.live("the session ends with 1008 when no hold can be made for the next turn", () =>
    withGateway(
      answeringLive({ ...spoken, usage: liveUsage(3000, 0, 0, 8000) }),
      async ({ open, records, held }) => {
        const socket = await open()
        await socket.until(isReady)
        say(socket, "Hello")
        await socket.until(isEnd)
        await expect.poll(async () => (await records()).length).toBe(1)
        say(socket, "Again")
        expect((await socket.closed).code).toBe(1008)
        await expect.poll(held).toBe(0n)
      },
      { topup: "0.18" },
    ),
  )

  it.live("turns count in the rates: one too many closes with 1011, and the vendor does not get it", () =>
    withGateway(
      answeringLive(spoken),
      async ({ open, twin, records, held }) => {
        const socket = await open()
        await socket.until(isReady)
        say(socket, "Hello")
        await socket.until(isEnd)
        say(socket, "Again")
        const { code, reason } = await socket.closed
        expect(code).toBe(1011)
        expect(reason).toMatch(/rate|limit|requests/i)
        expect(twin.sessions[0]?.received).toHaveLength(1)
        await expect.poll(async () => (await records()).length).toBe(1)
        await expect.poll(held).toBe(0n)
      },
      { plan: "perMinute: 2" },
    ),
  )

  it.live("a session is one of its organisation's sessions at a time", () =>
    withGateway(
      answeringLive(spoken),
      async ({ open }) => {
        const socket = await open()
        await socket.until(isReady)
        const second = await open()
        expect((await second.closed).code).toBe(1011)
        socket.ws.close()
        await socket.closed
        await expect
          .poll(async () => {
            const third = await open()
            return Promise.race([third.until(isReady).then(() => "ready"), third.closed.then(({ code }) => code)])
          })
          .toBe("ready")
      },
      { plan: "perMinute: 1000, concurrency: 1" },
    ),
  )

  it.live("a vendor that refuses a session is followed by the next one; its reason stays here", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const second = yield* startLiveTwin(answeringLive(spoken))
        const vendor = (id: string, url: string) =>
          `  - { id: ${id}, dialect: gemini, baseUrl: "${url}", credential: "env:WEIR_TEST_VENDOR" }`
        const { open, records, twin } = yield* startLiveGateway(answeringLive(spoken), {
          vendors: (url) => `${vendor("google", url)}\n${vendor("other", second.url)}`,
          targets: "{ vendor: google, model: gemini-live-2.5 }, { vendor: other, model: gemini-live-2.5 }",
        })
        yield* Effect.promise(async () => {
          twin.refuse(1008, "API key not valid. Please pass a valid API key.")
          const socket = await open()
          await socket.until(isReady)
          say(socket, "Hello")
          await socket.until(isEnd)
          await expect.poll(async () => (await records()).map((row) => row.vendor)).toEqual(["other"])
          socket.ws.close()
          second.refuse(1008, "Request trace id 123: project 456 has no billing")
          const refused = await open()
          const { code, reason } = await refused.closed
          expect(code).toBe(1011)
          expect(reason).not.toMatch(/key|project/)
        })
      }),
    ),
  )

  it.live("a vendor that does not answer the setup has the time of the first frame", () =>
    withGateway(
      answeringLive(spoken),
      async ({ open, twin, held }) => {
        twin.silence(true)
        const socket = await open()
        expect((await socket.closed).reason).toMatch(/ttfb timeout/)
        await expect.poll(held).toBe(0n)
      },
      { config: { upstreamTimeouts: { connect: undefined, ttfb: 300, idle: undefined, total: undefined } } },
    ),
  )

  it.live("a session whose time is over gets goAway before its end", () =>
    withGateway(
      answeringLive(spoken),
      async ({ open, held }) => {
        const socket = await open()
        await socket.until(isReady)
        expect(await socket.until((message) => message["goAway"] !== undefined)).toEqual({ goAway: { timeLeft: "1s" } })
        expect(await socket.closed).toMatchObject({ code: 1011, reason: expect.stringMatching(/total timeout/) })
        expect(socket.messages.filter((message) => message["goAway"] !== undefined)).toHaveLength(1)
        await expect.poll(held).toBe(0n)
      },
      { config: { upstreamTimeouts: { connect: undefined, ttfb: undefined, idle: undefined, total: 1000 } } },
    ),
  )

  it.live("at a drain the client gets goAway, the turn ends whole, then 1012", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const vendor = stepping()
      const { open, records } = yield* Scope.provide(startLiveGateway(vendor.script), scope)
      const socket = yield* Effect.promise(() => open())
      const session = yield* Effect.promise(async () => {
        await socket.until(isReady)
        say(socket, "Hello")
        const at = await vendor.at()
        await at.next("clientContent")
        at.send(soundMessage(Buffer.alloc(480)))
        await socket.until((message) => contentOf(message) !== undefined)
        return at
      })
      const closed = Effect.runFork(Scope.close(scope, Exit.void))
      yield* Effect.promise(async () => {
        await socket.until((message) => message["goAway"] !== undefined)
        for (const message of turnMessages(spoken)) session.send(message)
        expect((await socket.closed).code).toBe(1012)
        expect(socket.messages.some(isEnd)).toBe(true)
        void records
        void closed
      })
    }),
  )

  it.live("at a drain a call of a tool gets its result, and the turn ends whole", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const vendor = stepping()
      const { open } = yield* Scope.provide(startLiveGateway(vendor.script), scope)
      yield* Effect.promise(async () => {
        const socket = await open()
        await socket.until(isReady)
        say(socket, "Hello")
        const session = await vendor.at()
        await session.next("clientContent")
        session.send({ toolCall: { functionCalls: [{ id: "1", name: "f", args: {} }] }, usageMetadata: usage })
        await socket.until((message) => message["toolCall"] !== undefined)
        const closed = Effect.runPromise(Scope.close(scope, Exit.void))
        await socket.until((message) => message["goAway"] !== undefined)
        socket.send({ toolResponse: { functionResponses: [{ id: "1", name: "f", response: {} }] } })
        await session.next("toolResponse")
        for (const message of turnMessages({ ...spoken, usage: liveUsage(90, 0, 10, 40) })) session.send(message)
        expect((await socket.closed).code).toBe(1012)
        expect(socket.messages.some(isEnd)).toBe(true)
        await closed
      })
    }),
  )
})

describe("a conversation that is resumed", () => {
  const resuming: LiveScript = async (session) => {
    session.send({ sessionResumptionUpdate: { newHandle: "vendors-own-handle", resumable: true } })
    await answeringLive(spoken)(session)
  }
  const handleOf = async (socket: TestSocket) => {
    const message = await socket.until((each) => each["sessionResumptionUpdate"] !== undefined)
    return String((message["sessionResumptionUpdate"] as Record<string, unknown>)["newHandle"])
  }

  it.live("has a name of its caller's own, which another subject cannot use", () =>
    withGateway(resuming, async ({ open, twin, gateway, credential }) => {
      const socket = await open({ model: "models/live", sessionResumption: {} })
      const handle = await handleOf(socket)
      expect(handle).not.toMatch(/vendors/)
      socket.ws.close()
      const again = await open({ model: "models/live", session_resumption: { handle } })
      await again.until(isReady)
      expect(twin.sessions[1]?.setup["session_resumption"]).toEqual({ handle: "vendors-own-handle" })
      again.ws.close()
      const token = await fetch(`${gateway.baseUrl}/gemini/v1alpha/auth_tokens`, {
        method: "POST",
        headers: { "x-goog-api-key": credential, "x-svc-end-user-id": "other" },
        body: "{}",
      }).then((reply) => reply.json() as Promise<{ readonly name: string }>)
      const path = `${livePath.replace("v1beta", "v1alpha")}Constrained?access_token=${token.name}`
      for (const [sent, at] of [
        [handle, path],
        ["vendors-own-handle", undefined],
        [`${handle.slice(0, -4)}AAAA`, undefined],
      ] as const) {
        const other = await open({ model: "models/live", sessionResumption: { handle: sent } }, at)
        expect(await other.closed).toEqual({ code: 1008, reason: "There is no such conversation to resume" })
      }
      expect(twin.sessions).toHaveLength(2)
    }),
  )
})
