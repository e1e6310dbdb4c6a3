/**
 * Callers without a credential: they are refused at the head of their request. No route waits for their bodies, keeps
 * them, or reads anything in them.
 */
import { readFileSync } from "node:fs"
import { connect, type Socket } from "node:net"
import { OpenApi } from "effect/http-api"
import { describe, expect, it } from "vitest"
import { Api } from "../../../src/protocol/api.ts"
import { eventually, useGateway } from "../../support/gateway.ts"
import { useProcesses } from "../../support/use-processes.ts"

const gateway = useGateway({ config: { authPerMinute: 1_000_000, openDetails: false } })

const documented = (): ReadonlyArray<readonly [method: string, path: string]> => {
  const { paths } = JSON.parse(JSON.stringify(OpenApi.fromApi(Api)))
  return Object.entries<object>(paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => [method.toUpperCase(), path.replaceAll(/\{\w+\}/g, "x")] as const),
  )
}

const gemini = "/gemini/v1beta/models/main:"
const compatible: ReadonlyArray<readonly [method: string, path: string]> = [
  ...[
    "/openai/v1/chat/completions",
    "/openai/v1/completions",
    "/openai/v1/responses",
    "/openai/v1/responses/input_tokens",
    "/openai/v1/embeddings",
    "/openai/v1/moderations",
    "/openai/v1/rerank",
    "/openai/v1/images/generations",
    "/openai/v1/images/edits",
    "/openai/v1/videos",
    "/openai/v1/audio/speech",
    "/openai/v1/audio/transcriptions",
    "/openai/v1/audio/translations",
    "/openai/v1/realtime/client_secrets",
    "/openai/v1/files",
    "/openai/v1/uploads",
    "/openai/v1/uploads/x/parts",
    "/openai/v1/uploads/x/complete",
    "/openai/v1/uploads/x/cancel",
    "/anthropic/v1/files",
    "/gemini/upload/v1beta/files",
    "/anthropic/v1/messages",
    "/anthropic/v1/messages/count_tokens",
    "/cohere/v2/embed",
    "/cohere/v1/embed",
    "/cohere/v2/rerank",
    ...["generateContent", "streamGenerateContent", "countTokens", "predict", "embedContent", "batchEmbedContents"].map(
      (method) => gemini + method,
    ),
  ].map((path) => ["POST", path] as const),
  ...["/openai/v1/models", "/openai/v1/models/x", "/anthropic/v1/models", "/gemini/v1beta/models"].map(
    (path) => ["GET", path] as const,
  ),
  ...["/openai/v1/files", "/anthropic/v1/files", "/gemini/v1beta/files"].flatMap((path) => [
    ["GET", path] as const,
    ["GET", `${path}/x`] as const,
    ["GET", `${path}/x/content`] as const,
    ["DELETE", `${path}/x`] as const,
  ]),
  ["GET", "/openai/v1/videos/x"],
  ["GET", "/openai/v1/videos/x/content"],
  ["DELETE", "/openai/v1/videos/x"],
]

/** Routes by which a caller logs in, or that return nothing about anybody. */
const anonymous: ReadonlySet<string> = new Set([
  "GET /.well-known/jwks.json",
  "POST /v1/auth/otp/request",
  "POST /v1/auth/otp/verify",
  "POST /v1/auth/refresh",
  "POST /v1/auth/logout",
  "POST /v1/auth/device/code",
  "POST /v1/auth/device/token",
  "GET /v1/auth/sso/start",
  "GET /v1/auth/sso/callback",
  "POST /v1/auth/sso/link/confirm",
  "POST /v1/auth/sso/exchange",
  "GET /v1/session",
  "POST /v1/session/operator",
  "DELETE /v1/session",
])

/** Routes whose path or query has a word of a list, or that is required. */
const needsParameters: ReadonlySet<string> = new Set([
  "GET /v1/config-revisions",
  "GET /v1/config/x",
  "PUT /v1/config/x/x",
  "DELETE /v1/config/x/x",
  "GET /v1/admin/tier-times",
  "POST /v1/admin/webhooks/test",
  "POST /v1/admin/webhooks/rotate",
  "POST /v1/admin/webhooks/resend",
  "POST /v1/admin/exports/x/run",
])

/** A body that begins and never ends. */
const begin = (
  method: string,
  path: string,
  head: ReadonlyArray<string> = [],
  first = '1f\r\n{"contents":[{"parts":[{"text":\r\n',
) => {
  const { hostname, port } = new URL(gateway().baseUrl)
  const socket = connect(Number(port), hostname)
  socket.on("error", () => {})
  const length = head.some((line) => line.startsWith("content-length")) ? [] : ["transfer-encoding: chunked"]
  const lines = [
    `${method} ${path} HTTP/1.1`,
    `host: ${hostname}:${port}`,
    "content-type: application/json",
    ...length,
    ...head,
  ]
  socket.write(`${lines.join("\r\n")}\r\n\r\n${first}`)
  return socket
}

const statusOf = (socket: Socket): Promise<number> =>
  new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error("no reply while the body goes on")), 5000)
    socket.setEncoding("latin1").once("data", (text) => {
      clearTimeout(late)
      socket.destroy()
      resolve(Number(String(text).split(" ")[1]))
    })
  })

describe("a caller without a credential", () => {
  it.each([...documented(), ...compatible].filter(([method, path]) => !anonymous.has(`${method} ${path}`)))(
    "is refused before its body has come: %s %s",
    async (method, path) => {
      // A path or a query that its schema refuses is answered first.
      const status = await statusOf(begin(method, path))
      expect(needsParameters.has(`${method} ${path}`) ? 400 : 401).toBe(status)
    },
  )

  it.each([...anonymous].map((route) => route.split(" ")).filter(([method]) => method === "POST"))(
    "may send a small body only: %s %s",
    async (method = "", path = "") => {
      const ours = [`origin: ${gateway().baseUrl}`, "x-svc-console: 1"]
      const chunk = "x".repeat(17 * 1024)
      expect(await statusOf(begin(method, path, ours, `${chunk.length.toString(16)}\r\n${chunk}\r\n`))).toBe(413)
      expect(await statusOf(begin(method, path, [...ours, "content-length: 30000000"], "{"))).toBe(413)
    },
  )

  it.each([
    "/gemini/v1beta/models/:generateContent",
    "/openai/v1/videos//content",
    "/t1/none",
    "/openai/v1/none",
    "/nowhere",
  ])("is told at once that there is no such route: %s", async (path) => {
    expect(await statusOf(begin("POST", path))).toBe(404)
  })

  it("whose request has the form of a signed one is none that is known", async () => {
    const signed = ["x-svc-ts: 1", "x-svc-nonce: 0123456789abcdef", `x-svc-sign: ${"0".repeat(64)}`]
    expect(await statusOf(begin("POST", "/t1/exchange", signed))).toBe(401)
    expect(await statusOf(begin("POST", "/t1/handshake", [...signed, "x-svc-key-id: none", "x-svc-key: x"]))).toBe(401)
  })
})

describe("bodies of 31 MiB on twenty connections without a credential", () => {
  const { serve } = useProcesses()

  it("are not kept", async () => {
    const { ready, child } = await serve()
    const { hostname, port } = new URL(ready.baseUrl)
    const residentKiB = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))?.[1])
    const piece = Buffer.alloc(256 * 1024, "[{},")
    const length = 31 * 1024 * 1024
    const send = (path: string): Promise<void> =>
      new Promise((resolve) => {
        const socket = connect(Number(port), hostname)
        const head = [`POST ${path} HTTP/1.1`, "host: a", "content-type: application/json", `content-length: ${length}`]
        let left = length
        const go = () => {
          while (left > piece.length) {
            left -= piece.length
            if (!socket.write(piece)) return void socket.once("drain", go)
          }
        }
        socket.on("error", () => {})
        socket.resume().once("close", () => resolve())
        socket.write(`${head.join("\r\n")}\r\n\r\n`, go)
      })
    const paths = ["/t1/handshake", "/t1/usage", `${gemini}generateContent`, "/anthropic/v1/messages/count_tokens"]
    // Modules that the first requests load are there before.
    await Promise.all(paths.map(send))
    const before = residentKiB()
    let most = before
    const watch = setInterval(() => {
      most = Math.max(most, residentKiB())
    }, 20)
    await Promise.all(Array.from({ length: 20 }, (_, at) => send(paths[at % paths.length] ?? "")))
    clearInterval(watch)
    expect(most - before).toBeLessThan(20 * 1024)
    await eventually(async () => (await fetch(`${ready.baseUrl}/healthz`)).status === 200)
  }, 120_000)
})
