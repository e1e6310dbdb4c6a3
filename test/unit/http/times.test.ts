/** Limits of time and number that hold for connections of HTTP/2 as for those of HTTP/1.1. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import type { IncomingMessage, ServerResponse } from "node:http"
import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { Effect, Exit, Scope } from "effect"
import { afterAll, afterEach, describe, expect, it } from "vitest"
import { keepPlace, limitConnections } from "../../../src/http/connection-limit.ts"
import { beforeRequest, type ConnectionTimes, eventsOf, likeHttp1, makeListener } from "../../../src/http/listener.ts"
import { NodeProblems } from "../../../src/telemetry/node-problems.ts"
import { portOf } from "../../../src/testing/port.ts"
import { authority, issued } from "../../support/certificate.ts"

const dir = mkdtempSync(join(tmpdir(), "weir-times-"))
afterAll(() => rmSync(dir, { recursive: true, force: true }))
const tls = { cert: join(dir, "cert.pem"), key: join(dir, "key.pem") }
writeFileSync(tls.cert, issued.server.cert)
writeFileSync(tls.key, issued.server.key)

const ends: Array<() => unknown> = []
afterEach(async () => {
  for (const end of ends.splice(0)) await end()
})

type Listen = (request: IncomingMessage, response: ServerResponse) => void

const serve = async (times: ConnectionTimes, listen: Listen, most?: number): Promise<() => ClientHttp2Session> => {
  const scope = Scope.makeUnsafe()
  const node = await Effect.runPromise(
    Scope.provide(Effect.provide(makeListener(tls, times), NodeProblems.layer), scope),
  )
  eventsOf(node).on("request", listen)
  beforeRequest(node, limitConnections(node, most).request)
  beforeRequest(node, likeHttp1)
  await new Promise<void>((resolve) => node.listen(0, "127.0.0.1", resolve))
  ends.push(
    () => node.close(),
    () => Effect.runPromise(Scope.close(scope, Exit.void)),
  )
  return () => {
    const session = connectHttp2(`https://127.0.0.1:${portOf(node)}`, { ca: authority })
    session.on("error", () => {})
    ends.unshift(() => session.destroy())
    return session
  }
}

const closed = (emitter: NodeJS.EventEmitter): Promise<unknown> =>
  new Promise((resolve) => emitter.once("close", resolve))

const isOver = (emitter: NodeJS.EventEmitter) => {
  let over = false
  emitter.once("close", () => {
    over = true
  })
  return () => over
}

const post = (session: ClientHttp2Session) => {
  const stream = session.request({ ":method": "POST", ":path": "/" }, { endStream: false })
  stream.on("error", () => {}).resume()
  stream.write("{")
  return stream
}

describe("a connection of HTTP/2", () => {
  it("ends a request whose body never ends, and goes on with others", async () => {
    const connect = await serve({ idleMs: 60_000, requestMs: 200 }, (request, response) => {
      if (request.method === "GET") response.end("ok")
    })
    const session = connect()
    const streams = Array.from({ length: 20 }, () => post(session))
    await Promise.all(streams.map(closed))
    const other = session.request({ ":path": "/" })
    expect((await other.setEncoding("utf8").toArray()).join("")).toBe("ok")
  })

  it("lets a request go on whose body has ended, however long its answer takes", async () => {
    const connect = await serve({ idleMs: 100, requestMs: 100 }, (request, response) => {
      request.resume().once("end", () => setTimeout(() => response.end("ok"), 600))
    })
    const stream = connect().request({ ":method": "POST", ":path": "/" }, { endStream: false })
    stream.end("{}")
    expect((await stream.setEncoding("utf8").toArray()).join("")).toBe("ok")
  })

  it("ends without a whole head of a request, whatever frames come", async () => {
    const connect = await serve({ idleMs: 300, requestMs: 60_000 }, (_request, response) => response.end("ok"))
    const session = connect()
    const pings = setInterval(() => {
      if (!session.destroyed) session.ping(() => {})
    }, 50)
    await closed(session)
    clearInterval(pings)
  })

  it("that sends requests of nobody gives its place to others; one of a known caller keeps it", async () => {
    const connect = await serve(
      { idleMs: 60_000, requestMs: 60_000 },
      (request, response) => {
        if (request.headers["x-known"] !== undefined) keepPlace(request)
        if (request.method === "GET") response.end("ok")
      },
      4,
    )
    const known = connect()
    const stream = known.request({ ":method": "POST", ":path": "/", "x-known": "1" }, { endStream: false })
    stream.on("error", () => {}).write("{")
    const nobodys = [connect(), connect(), connect()]
    for (const session of nobodys) post(session)
    const gone = nobodys.map(isOver)
    const isKnownOver = isOver(known)
    // A connection may take this time for its request while connections are short.
    await sleep(1200)
    let text = ""
    for (let at = 0; at < 10 && text !== "ok"; at++) {
      const next = connect().request({ ":path": "/" })
      next.on("error", () => {})
      text = (
        await next
          .setEncoding("utf8")
          .toArray()
          .catch(() => [])
      ).join("")
    }
    expect(text).toBe("ok")
    expect(gone.some((over) => over())).toBe(true)
    expect(isKnownOver()).toBe(false)
  })
})
