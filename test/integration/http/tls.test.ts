/** HTTPS towards clients: HTTP/2 and HTTP/1.1 over real sockets. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectHttp2, constants } from "node:http2"
import { request as httpsRequest } from "node:https"
import { connect as connectPlain } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { connect as connectTls } from "node:tls"
import { Effect } from "effect"
import { afterAll, afterEach, describe, expect, it } from "vitest"
import { writeWholeFile } from "../../../src/files/whole-file.ts"
import { startGateway } from "../../../src/testing/gateway.ts"
import { hello, openaiChunk, openaiFrame, openaiFrames, parseEvents } from "../../../src/testing/index.ts"
import { authority, certificate, issued, privateKey } from "../../support/certificate.ts"
import { eventually, holdsOf, lastUsage, useGateway } from "../../support/gateway.ts"

const dir = mkdtempSync(join(tmpdir(), "weir-tls-"))
afterAll(() => rmSync(dir, { recursive: true, force: true }))
const tls = { cert: join(dir, "cert.pem"), key: join(dir, "key.pem") }
writeWholeFile(tls.cert, issued.server.cert)
writeWholeFile(tls.key, issued.server.key)

const stallMs = 1200
const gateway = useGateway({
  backgroundSpeed: 10,
  config: {
    tls,
    streamStallMs: stallMs,
    streamHeartbeatMs: 60_000,
    authPerMinute: 100_000,
    outputTokenBytes: 100_000_000,
  },
})
const urlOf = ({ baseUrl }: { readonly baseUrl: string }) => baseUrl.replace(/^http:/, "https:")

const sessions: Array<ClientHttp2Session> = []
afterEach(() => {
  for (const session of sessions.splice(0)) session.destroy()
})
const connect = (url = urlOf(gateway()), ca = [authority, certificate]): ClientHttp2Session => {
  const session = connectHttp2(url, { ca })
  session.on("error", () => {})
  sessions.push(session)
  return session
}

interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly text: string
  readonly code: number
}

const keys = () => ({ "x-svc-key-id": gateway().keyId, "x-svc-key": gateway().key, "content-type": "application/json" })

const open = (session: ClientHttp2Session, method: string, path: string, body?: unknown): ClientHttp2Stream => {
  const stream = session.request({ ":method": method, ":path": path, ...keys() }, { endStream: body === undefined })
  if (body !== undefined) stream.end(JSON.stringify(body))
  return stream
}

const read = (stream: ClientHttp2Stream): Promise<Reply> =>
  new Promise((resolve) => {
    let status = 0
    let headers = {}
    let text = ""
    stream.on("response", (head) => {
      status = head[":status"] ?? 0
      headers = head
    })
    stream.setEncoding("utf8").on("data", (piece) => {
      text += piece
    })
    stream.on("error", () => {})
    stream.on("close", () => resolve({ status, headers, text, code: stream.rstCode }))
  })

const call = (method: string, path: string, body?: unknown, session = connect()) =>
  read(open(session, method, path, body))

const streamed = { ...hello, stream: true }

describe("HTTP/2", () => {
  it("carries whole exchanges, streams, searches, heartbeats and other routes", async () => {
    const session = connect()
    const whole = await call("POST", "/t1/exchange", hello, session)
    expect(whole).toMatchObject({ status: 200, code: 0 })
    expect(JSON.parse(whole.text)).toMatchObject({ stop: "end" })
    const stream = await call("POST", "/t1/exchange", streamed, session)
    expect(stream.headers["content-type"]).toBe("text/event-stream")
    expect(parseEvents(stream.text).map(({ event }) => event)).toEqual(
      expect.arrayContaining(["t.open", "t.delta", "t.close"]),
    )
    const id = "0123456789abcdef0123456789abcdef"
    expect((await call("POST", "/t1/heartbeat", { sessionId: id }, session)).status).toBeLessThan(500)
    expect((await call("GET", "/healthz", undefined, session)).text).toBe('{"status":"ok"}')
    expect((await call("GET", "/t1/config", undefined, session)).status).toBe(200)
    expect((await call("GET", "/openapi.json", undefined, session)).status).toBe(200)
    expect((await call("GET", "/login", undefined, session)).headers["content-type"]).toContain("text/html")
    const unknown = await call("GET", "/nowhere", undefined, session)
    expect(JSON.parse(unknown.text).error).toMatchObject({ code: "not_found" })
    const refused = await call("POST", "/t1/exchange", { model: 1 }, session)
    expect([refused.status, JSON.parse(refused.text).error.code]).toEqual([400, "bad_request"])
    expect((await call("POST", "/openai/v1/chat/completions", {}, session)).status).toBe(400)
  })

  it("carries many streams on one connection, each complete", async () => {
    const session = connect()
    const replies = await Promise.all(
      Array.from({ length: 200 }, () => call("POST", "/t1/exchange", streamed, session)),
    )
    for (const { text, code } of replies) {
      expect(code).toBe(0)
      expect(parseEvents(text).at(-1)?.event).toBe("t.close")
    }
    await eventually(async () => (await holdsOf(gateway())).every(({ state }) => state === "settled"))
  })

  it("carries large bodies, and the refusal of one that is too large while it is sent", async () => {
    const withPicture = (chars: number) => ({
      ...hello,
      thread: [{ role: "user", blocks: [{ t: "image", mime: "image/png", data: "A".repeat(chars) }] }],
    })
    expect((await call("POST", "/t1/exchange", withPicture(3_000_000))).status).toBe(200)
    const session = connect()
    const refused = await call("POST", "/t1/exchange", withPicture(33 * 1024 * 1024), session)
    expect(JSON.parse(refused.text).error).toMatchObject({ code: "payload_too_large" })
    expect((await call("POST", "/t1/exchange", hello, session)).status).toBe(200)
  })

  it("a client that resets its stream ends the call at the vendor; its connection and other streams go on", async () => {
    gateway().vendor.script(async (call) => {
      call.head()
      for (let at = 0; at < 60 && (await call.write(openaiChunk(`piece ${at} `))); at++) await call.wait(20)
      call.end(openaiFrame({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }) + openaiFrame("[DONE]"))
    })
    const session = connect()
    const [gone, stays] = [
      open(session, "POST", "/t1/exchange", streamed),
      open(session, "POST", "/t1/exchange", streamed),
    ]
    const rest = read(stays)
    gone.on("error", () => {})
    await new Promise((resolve) => gone.once("data", resolve))
    const before = gateway().vendor.calls.length
    gone.close(constants.NGHTTP2_CANCEL)
    await eventually(() =>
      gateway()
        .vendor.calls.slice(before - 2)
        .some(({ hungUpAt }) => hungUpAt !== undefined),
    )
    expect(parseEvents((await rest).text).at(-1)?.event).toBe("t.close")
    await eventually(async () => (await holdsOf(gateway())).every(({ state }) => state === "settled"))
  })

  it("a connection that breaks ends all its streams", async () => {
    gateway().vendor.script(async (call) => {
      call.head()
      while (await call.write(openaiChunk("more "))) await call.wait(20)
    })
    const session = connect()
    const streams = Array.from({ length: 20 }, () => open(session, "POST", "/t1/exchange", streamed))
    const before = gateway().vendor.calls.length
    for (const stream of streams) stream.on("error", () => {})
    await Promise.all(streams.map((stream) => new Promise((resolve) => stream.once("data", resolve))))
    session.destroy()
    await eventually(() =>
      gateway()
        .vendor.calls.slice(before)
        .every(({ hungUpAt }) => hungUpAt !== undefined),
    )
    await eventually(async () => (await holdsOf(gateway())).every(({ state }) => state === "settled"))
  })

  it("a stream that is not read is ended by its stall, though others of its connection are read", async () => {
    const chunk = openaiChunk("x".repeat(1024)).repeat(64)
    gateway().vendor.script(async (call) => {
      call.head()
      const isFlood = JSON.stringify(call.body).includes("flood")
      for (let at = 0; at < (isFlood ? 100_000 : 150); at++) {
        if (!(await call.write(isFlood ? chunk : openaiChunk("a ")))) return
        if (!isFlood) await call.wait(20)
      }
      call.end(openaiFrame({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }) + openaiFrame("[DONE]"))
    })
    const session = connect()
    const flood = { ...streamed, thread: [{ role: "user", blocks: [{ t: "text", v: "flood" }] }] }
    const unread = open(session, "POST", "/t1/exchange", flood)
    unread.on("error", () => {})
    const closed = new Promise((resolve) => unread.once("close", () => resolve(unread.rstCode)))
    const other = await call("POST", "/t1/exchange", streamed, session)
    expect(parseEvents(other.text).at(-1)?.event).toBe("t.close")
    await eventually(async () => {
      const rows = await Effect.runPromise(
        gateway().sql<{ found: bigint }>`
          select count(*) as found from usage_records
          where org_id = ${gateway().orgId} and estimated_reason = 'stream_backpressure'`,
      )
      return Number(rows[0]?.found) === 1
    })
    // Broken, not ended: nobody takes it for complete.
    expect(await closed).toBe(constants.NGHTTP2_INTERNAL_ERROR)
  })

  it("many slow streams of one connection cost a bounded memory", async () => {
    const chunk = openaiChunk("x".repeat(1024)).repeat(64)
    gateway().vendor.script(async (call) => {
      call.head()
      for (let at = 0; at < 2000 && (await call.write(chunk)); at++);
      call.end()
    })
    const session = connect()
    const before = process.memoryUsage().rss
    const streams = Array.from({ length: 100 }, () => open(session, "POST", "/t1/exchange", streamed))
    for (const stream of streams) stream.on("error", () => {})
    await sleep(stallMs - 200)
    expect(process.memoryUsage().rss - before).toBeLessThan(300 * 1024 * 1024)
    session.destroy()
    await eventually(async () => (await holdsOf(gateway())).every(({ state }) => state === "settled"), 30_000)
  })
})

describe("a hostile client of HTTP/2", () => {
  const attempt = (session: ClientHttp2Session, then: (stream: ClientHttp2Stream) => void): boolean => {
    if (session.closed || session.destroyed) return false
    const stream = session.request({ ":method": "POST", ":path": "/t1/exchange", ...keys() })
    stream.on("error", () => {})
    then(stream)
    return true
  }

  it("that opens and resets streams without end loses its connection; others are served, and nothing stays held", async () => {
    const session = connect()
    let closed = false
    session.once("close", () => {
      closed = true
    })
    for (let at = 0; at < 20_000 && !closed; at++) {
      if (!attempt(session, (stream) => stream.end(JSON.stringify(streamed)).close(constants.NGHTTP2_CANCEL))) break
      if (at % 100 === 0) await sleep(1)
    }
    await eventually(() => closed)
    expect((await call("GET", "/healthz")).status).toBe(200)
    await eventually(async () => (await holdsOf(gateway())).every(({ state }) => state === "settled"), 30_000)
  })

  it("that opens more streams than it may has the rest refused; its bodies that never end cost nothing", async () => {
    const session = connect()
    const streams: Array<ClientHttp2Stream> = []
    for (let at = 0; at < 1000; at++) attempt(session, (stream) => streams.push(stream))
    await sleep(300)
    expect((await call("GET", "/healthz")).status).toBe(200)
    session.destroy()
    await eventually(() => streams.every(({ destroyed }) => destroyed))
  })

  it("that sends headers beyond all measure is refused", async () => {
    const session = connect()
    const reply = await new Promise<number>((resolve) => {
      const stream = session.request({ ":path": "/healthz", ":method": "GET", "x-large": "x".repeat(200_000) })
      stream.on("response", (head) => resolve(head[":status"] ?? 0))
      stream.on("error", () => resolve(-1))
      stream.on("close", () => resolve(stream.rstCode))
      session.on("close", () => resolve(-1))
    })
    expect(reply).not.toBe(200)
    expect((await call("GET", "/healthz")).status).toBe(200)
  })
})

describe("HTTPS", () => {
  const http1 = (path: string, ca = authority) =>
    new Promise<{ status: number; version: string }>((resolve, reject) => {
      const sent = httpsRequest(`${urlOf(gateway())}${path}`, { ca, agent: false }, (response) => {
        const { statusCode = 0, httpVersion } = response
        response.resume().on("end", () => resolve({ status: statusCode, version: httpVersion }))
      })
      sent.on("error", reject).end()
    })

  it("serves HTTP/1.1 on the same port", async () => {
    expect(await http1("/healthz")).toMatchObject({ status: 200, version: "1.1" })
  })

  it("links in replies have its scheme", async () => {
    const reply = await call("POST", "/v1/auth/device/code", { clientName: "laptop" })
    expect(reply.text).toContain("https://127.0.0.1:")
  })

  it("plain HTTP on its port, half a handshake and nonsense get no answer, and harm nobody", async () => {
    const { port } = new URL(urlOf(gateway()))
    for (const bytes of [
      "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n",
      "\u0016\u0003\u0001",
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ]) {
      const socket = connectPlain(Number(port), "127.0.0.1", () => socket.write(bytes))
      const answer = await new Promise<string>((resolve) => {
        socket.on("data", (data) => resolve(data.toString("latin1")))
        socket.on("error", () => resolve(""))
        socket.on("close", () => resolve(""))
        setTimeout(() => resolve(""), 300)
      })
      expect(answer).not.toContain("HTTP/1.1 200")
      socket.destroy()
    }
    expect(await http1("/healthz")).toMatchObject({ status: 200 })
  })

  const presented = () =>
    new Promise<string>((resolve, reject) => {
      const { port } = new URL(urlOf(gateway()))
      const socket = connectTls({ port: Number(port), host: "127.0.0.1", rejectUnauthorized: false }, () => {
        resolve(String(socket.getPeerCertificate().subject.CN))
        socket.destroy()
      })
      socket.on("error", reject)
    })

  it("a replaced certificate is for new connections; open streams go on; a wrong pair changes nothing", async () => {
    gateway().vendor.script(async (call) => {
      call.head()
      for (let at = 0; at < 50 && (await call.write(openaiChunk("a "))); at++) await call.wait(20)
      call.end(openaiFrame({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }) + openaiFrame("[DONE]"))
    })
    const running = open(connect(), "POST", "/t1/exchange", streamed)
    const rest = read(running)
    await new Promise((resolve) => running.once("data", resolve))
    expect(await presented()).toBe("weir test server")
    writeWholeFile(tls.cert, certificate)
    await sleep(300)
    expect(await presented()).toBe("weir test server")
    writeWholeFile(tls.key, privateKey)
    await eventually(async () => (await presented()) === "weir test")
    expect(parseEvents((await rest).text).at(-1)?.event).toBe("t.close")
    writeWholeFile(tls.cert, issued.server.cert)
    writeWholeFile(tls.key, issued.server.key)
    await eventually(async () => (await presented()) === "weir test server")
  })

  it.each([
    ["files that are not there", { cert: "/nowhere", key: "/nowhere" }],
    ["a key of another certificate", { cert: tls.cert, key: join(dir, "other.pem") }],
  ])("%s are an error at the start", async (_, wrong) => {
    writeFileSync(join(dir, "other.pem"), privateKey)
    const failure = await Effect.runPromise(Effect.flip(Effect.scoped(startGateway({ config: { tls: wrong } }))))
    expect(String(failure)).toMatch(/SVC_TLS_CERT .* and SVC_TLS_KEY .* are no certificate and its key in PEM/)
  })
})

describe("a browser by HTTPS", () => {
  it("is told to come by HTTPS only, and has cookies of this host alone", async () => {
    const origin = urlOf(gateway())
    const session = connect()
    const stream = session.request({ ":method": "POST", ":path": "/v1/session/operator", origin, "x-svc-console": "1" })
    stream.end(JSON.stringify({ adminKey: gateway().adminKey }))
    const { status, headers } = await read(stream)
    expect([status, headers["strict-transport-security"]]).toEqual([200, "max-age=31536000"])
    const [cookie = ""] = [headers["set-cookie"]].flat().map(String)
    expect(cookie).toMatch(/^__Host-weir_operator=[^;]+; .*Path=\//)
    expect(cookie).toMatch(/Secure/)
    expect(cookie).not.toMatch(/Domain/i)
    const [sent = ""] = cookie.split(";")
    const withCookie = (value: string) =>
      read(session.request({ ":path": "/v1/admin/orgs", origin, "x-svc-console": "1", cookie: value }))
    expect((await withCookie(sent)).status).toBe(200)
    // A name that a host beside this one could set.
    expect((await withCookie(sent.replace("__Host-", ""))).status).toBe(401)
  })
})

describe("a shutdown", () => {
  it("lets the streams of a connection end, takes no new ones, and closes it", async () => {
    let last = ""
    let closed = false
    await Effect.gen(function* () {
      const stopping = yield* startGateway({ config: { tls } })
      stopping.vendor.script(async (call) => {
        call.head()
        for (let at = 0; at < 40 && (await call.write(openaiChunk("a "))); at++) await call.wait(20)
        call.end(openaiFrames({ words: ["end"], inTokens: 1, outTokens: 1 }).join(""))
      })
      const session = connect(urlOf(stopping))
      session.once("close", () => {
        closed = true
      })
      const stream = session.request({
        ":method": "POST",
        ":path": "/t1/exchange",
        "x-svc-key-id": stopping.keyId,
        "x-svc-key": stopping.key,
        "content-type": "application/json",
      })
      stream.end(JSON.stringify(streamed))
      void read(stream).then(({ text }) => {
        last = parseEvents(text).at(-1)?.event ?? ""
      })
      yield* Effect.promise(() => new Promise((resolve) => stream.once("data", resolve)))
    }).pipe(Effect.scoped, Effect.runPromise)
    await eventually(() => last !== "" && closed)
    expect(last).toBe("t.close")
    expect(await lastUsage(gateway())).toBeDefined()
  }, 30_000)
})
