/** Vendors that speak HTTP/2: many exchanges share a connection, and are isolated from each other. */
import { createSecureServer, type Http2SecureServer, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2"
import { setTimeout as sleep } from "node:timers/promises"
import { rootCertificates, setDefaultCACertificates } from "node:tls"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { hello, newTestIds, openaiBody, openaiFrames, readEvents, testCatalogue } from "../../src/testing/index.ts"
import { portOf } from "../../src/testing/port.ts"
import { certificate, privateKey } from "../support/certificate.ts"
import { eventually, holdsOf, replyOf, useGateway } from "../support/gateway.ts"

const answer = { words: ["one ", "two ", "three"], inTokens: 1000, outTokens: 200 }

type Answering = (stream: ServerHttp2Stream) => void | Promise<void>

const sessions: Array<ServerHttp2Session> = []
let aborted = 0
let answering: Answering
let server: Http2SecureServer
let port = 0
beforeAll(
  () =>
    new Promise<void>((resolve) => {
      setDefaultCACertificates([...rootCertificates, certificate])
      server = createSecureServer({ cert: certificate, key: privateKey })
      server.on("session", (session) => sessions.push(session))
      server.on("stream", (stream: ServerHttp2Stream) => {
        stream.on("error", () => {})
        stream.on("aborted", () => aborted++)
        stream.once("end", () => answering(stream)).resume()
      })
      server.listen(0, "127.0.0.1", () => {
        port = portOf(server)
        resolve()
      })
    }),
)
afterAll(() => {
  for (const session of sessions) session.destroy()
  server.close()
})

const ids = newTestIds()
const gateway = useGateway(() => ({
  ids,
  catalogue: (urls) => testCatalogue({ ...urls, vendor: `https://localhost:${port}` }, ids),
}))

const whole: Answering = (stream) => {
  stream.respond({ ":status": 200, "content-type": "application/json" })
  stream.end(openaiBody(answer))
}
const paced: Answering = async (stream) => {
  stream.respond({ ":status": 200, "content-type": "text/event-stream" })
  for (const frame of openaiFrames(answer)) {
    if (stream.destroyed) return
    stream.write(frame)
    await sleep(30)
  }
  stream.end()
}
const ask = (stream: boolean, signal?: AbortSignal) =>
  gateway().exchange({ ...hello, stream }, signal === undefined ? {} : { signal })

describe("a vendor over HTTP/2", () => {
  it("answers whole", async () => {
    answering = whole
    expect((await replyOf(await ask(false))).usage).toMatchObject({ outTokens: 200 })
  })

  it("forty streams share two connections at most, and each is whole", async () => {
    answering = paced
    const known = sessions.length
    const replies = await Promise.all(Array.from({ length: 40 }, async () => readEvents(await ask(true))))
    for (const events of replies) {
      expect(events.at(-1)?.event).toBe("t.close")
      const text = events.map(({ event, data }) => (event === "t.delta" && "v" in data ? data.v : ""))
      expect(text.join("")).toBe(answer.words.join(""))
    }
    expect(sessions.length - known).toBeLessThanOrEqual(2)
  })

  it("a client that leaves resets its own stream, and no other", async () => {
    answering = paced
    aborted = 0
    const leaving = new AbortController()
    const others = Array.from({ length: 3 }, async () => readEvents(await ask(true)))
    const reader = (await ask(true, leaving.signal)).body?.getReader()
    await reader?.read()
    leaving.abort()
    for (const events of await Promise.all(others)) expect(events.at(-1)?.event).toBe("t.close")
    expect(aborted).toBe(1)
  })

  it("a connection that dies in mid-stream ends its streams with an error, and every hold is closed", async () => {
    answering = async (stream) => {
      stream.respond({ ":status": 200, "content-type": "text/event-stream" })
      for (const frame of openaiFrames(answer).slice(0, 3)) stream.write(frame)
      await sleep(100)
      stream.session?.destroy()
    }
    const replies = await Promise.all(Array.from({ length: 5 }, async () => readEvents(await ask(true))))
    for (const events of replies)
      expect(events.at(-1)).toMatchObject({ event: "t.err", data: { code: "upstream_disconnected" } })
    await eventually(async () => (await holdsOf(gateway())).every(({ state }) => state !== "held"))
    answering = whole
    expect((await ask(false)).status).toBe(200)
  })

  it("a vendor that sends GOAWAY gets a new connection: nothing is lost", async () => {
    answering = (stream) => {
      whole(stream)
      stream.session?.goaway()
    }
    for (let at = 0; at < 5; at++) expect((await ask(false)).status).toBe(200)
  })
})
