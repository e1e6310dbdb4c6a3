/** Deadlines of calls to Redis, and connections that are dead without having been closed. */
import { createServer, type Socket } from "node:net"
import { Effect, Layer, Redacted } from "effect"
import { expect, it } from "vitest"
import { WeirConfig } from "../../../src/config.ts"
import { Redis } from "../../../src/store/redis.ts"
import { portOf } from "../../../src/testing/port.ts"
import { eventually } from "../../support/gateway.ts"

const redisDeadlineMs = 100

const info = "redis_version:8.0.0\r\nloading:0\r\n"
/** Answers as Redis does, while it is alive. */
const answer = (socket: Socket, isAlive: () => boolean) => {
  socket.on("error", () => {})
  socket.on("data", (bytes) => {
    if (!isAlive()) return
    for (const [, command = ""] of bytes.toString("utf8").matchAll(/\$\d+\r\n(hello|info|evalsha|client)\r\n/gi)) {
      if (/hello/i.test(command)) socket.write("%1\r\n$6\r\nserver\r\n$5\r\nredis\r\n")
      else if (/info/i.test(command)) socket.write(`$${info.length}\r\n${info}\r\n`)
      else socket.write("+OK\r\n")
    }
  })
}

it("fail calls at their deadline, and leave a dead connection for a new one", async () => {
  let connections = 0
  let isDead = false
  const server = createServer((socket) => {
    const own = ++connections
    answer(socket, () => own > 1 || !isDead)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const redisUrl = Redacted.make(`redis://127.0.0.1:${portOf(server)}`)
  const program = Effect.gen(function* () {
    const redis = yield* Redis
    const works = () => Effect.runPromise(Effect.isSuccess(redis.ping))
    expect(yield* Effect.promise(works)).toBe(true)
    isDead = true
    const startedAt = Date.now()
    expect(yield* Effect.promise(works)).toBe(false)
    expect(Date.now() - startedAt).toBeGreaterThanOrEqual(redisDeadlineMs)
    expect(Date.now() - startedAt).toBeLessThan(redisDeadlineMs * 5)
    expect(connections).toBe(1)
    yield* Effect.promise(() => eventually(works))
    expect(connections).toBe(2)
  })
  const config = Layer.effect(
    WeirConfig,
    Effect.map(WeirConfig, (own) => ({ ...own, redisUrl, redisDeadlineMs })),
  ).pipe(Layer.provide(WeirConfig.layer))
  await Effect.runPromise(Effect.scoped(Effect.provide(program, Redis.layer.pipe(Layer.provide(config)))))
  server.close()
})
