/**
 * A strict server of tools: without sessions it refuses headers that differ from the message; with sessions it refuses what is
 * outside one. It counts the calls of each tool that it runs.
 */
import { randomUUID } from "node:crypto"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

export interface ToolMessage {
  readonly method?: string
  readonly id?: string | number
  readonly params?: Record<string, unknown>
  readonly result?: unknown
}

export interface AskedOfServer {
  readonly message: ToolMessage
  readonly headers: IncomingMessage["headers"]
}

/** A tool answers with a result, an error, or by itself. */
export interface Answering {
  /** Its arguments. */
  readonly params: Record<string, unknown>
  /** Everything that the request says. */
  readonly asked: Record<string, unknown>
  readonly meta: Record<string, unknown>
  readonly token: unknown
  /** The id of the request. */
  readonly id: string | number
  readonly send: (message: object) => void
  readonly response: ServerResponse
  /** Asks the client, and waits for its answer. */
  readonly ask: (method: string, params: object) => Promise<ToolMessage>
}

type Tool = (answering: Answering) => unknown

/** Answers with this error instead of a result. */
export class ToolRefusal extends Error {
  readonly code: number
  readonly status: number
  readonly data: object | undefined

  constructor(
    code: number,
    message: string,
    { status = 200, data }: { readonly status?: number; readonly data?: object } = {},
  ) {
    super(message)
    this.code = code
    this.status = status
    this.data = data
  }
}

export interface ToolServerOptions {
  /** `both` speaks each version, as its client begins. */
  readonly isStateless: boolean | "both"
  /** Answers to other methods, by their names. */
  readonly methods?: Readonly<Record<string, (params: Record<string, unknown>) => object>>
  readonly tools: Readonly<Record<string, Tool>>
  /** Members of the definitions of tools. */
  readonly definitions?: Readonly<Record<string, object>>
  readonly resources?: ReadonlyArray<{ readonly uri: string; readonly text: string }>
  readonly prompts?: Readonly<Record<string, string>>
  /** The token that it wants. */
  readonly token?: string
}

const version = "2026-07-28"
const legacy = "2025-06-18"

export const startToolServer = async (options: ToolServerOptions) => {
  const asked: Array<AskedOfServer> = []
  const runs = new Map<string, number>()
  const sessions = new Set<string>()
  const waiting = new Map<string | number, (answer: ToolMessage) => void>()
  const closed: Array<string> = []
  const listening = new Set<ServerResponse>()
  let definitions = { ...options.definitions }

  const listed = () =>
    Object.keys(options.tools)
      .toReversed()
      .map((name) => ({ name, description: `The tool ${name}`, inputSchema: { type: "object" }, ...definitions[name] }))

  const resultOf = (method: string, params: Record<string, unknown>, isStateless: boolean): unknown => {
    const { resources = [], prompts = {}, methods = {} } = options
    const other = methods[method]
    if (other !== undefined) return other(params)
    switch (method) {
      case "server/discover":
        return isStateless
          ? {
              resultType: "complete",
              supportedVersions: [version],
              capabilities: { tools: {}, prompts: {}, resources: {} },
              instructions: "Use me well",
            }
          : undefined
      case "initialize":
        return isStateless
          ? undefined
          : {
              protocolVersion: legacy,
              capabilities: { tools: {}, prompts: {}, resources: {} },
              serverInfo: { name: "twin", version: "1" },
            }
      case "tools/list":
        return { tools: listed() }
      case "resources/list":
        return { resources: resources.map(({ uri }) => ({ uri, name: uri })) }
      case "resources/templates/list":
        return { resourceTemplates: [] }
      case "prompts/list":
        return { prompts: Object.keys(prompts).map((name) => ({ name })) }
      case "prompts/get":
        return { messages: [{ role: "user", content: { type: "text", text: prompts[String(params["name"])] } }] }
      case "resources/read": {
        const found = resources.find(({ uri }) => uri === params["uri"])
        return found && { contents: [{ ...found, mimeType: "text/plain" }] }
      }
    }
    return undefined
  }

  const fail = (response: ServerResponse, status: number, code: number, id?: string | number, more: object = {}) => {
    response.writeHead(status, { "content-type": "application/json" })
    const error = { code, message: "twin: session or request refused", ...more }
    response.end(JSON.stringify({ jsonrpc: "2.0", id: id ?? null, error }))
  }

  const wrongHeaders = ({ headers }: IncomingMessage, { method, params = {} }: ToolMessage): boolean => {
    const meta = params["_meta"] as Record<string, unknown> | undefined
    if (headers["mcp-protocol-version"] !== version || headers["mcp-method"] !== method) return true
    if (meta?.["io.modelcontextprotocol/protocolVersion"] !== version) return true
    if (typeof meta["io.modelcontextprotocol/clientCapabilities"] !== "object") return true
    const name = params["name"] ?? params["uri"]
    return name !== undefined && headers["mcp-name"] !== name
  }

  const answer = async (request: IncomingMessage, response: ServerResponse, message: ToolMessage) => {
    const { method, id, params = {} } = message
    if (options.token !== undefined && request.headers.authorization !== `Bearer ${options.token}`) {
      return fail(response, 401, -32001)
    }
    if (method === undefined) {
      waiting.get(id ?? "")?.(message)
      return void response.writeHead(202).end()
    }
    const isStateless =
      options.isStateless === "both" ? request.headers["mcp-protocol-version"] === version : options.isStateless
    if (isStateless) {
      if (method === "initialize") return fail(response, 400, -32022, id)
      if (wrongHeaders(request, message)) return fail(response, 400, -32020, id)
    } else if (method !== "initialize") {
      const session = request.headers["mcp-session-id"]
      if (session === undefined) return fail(response, 400, -32000)
      if (!sessions.has(String(session))) return fail(response, 404, -32001)
    }
    if (id === undefined) return void response.writeHead(202).end()
    if (method === "subscriptions/listen" && isStateless) {
      response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders()
      listening.add(response)
      response.once("close", () => listening.delete(response))
      return
    }
    let result: unknown
    try {
      result = method === "tools/call" ? undefined : resultOf(method, params, isStateless)
    } catch (error) {
      if (!(error instanceof ToolRefusal)) throw error
      const { code, status, message, data } = error
      return fail(response, status, code, id, { message, ...(data !== undefined && { data }) })
    }
    if (result !== undefined) {
      const session = randomUUID()
      if (method === "initialize") sessions.add(session)
      response.writeHead(200, {
        "content-type": "application/json",
        ...(method === "initialize" && { "mcp-session-id": session }),
      })
      return void response.end(JSON.stringify({ jsonrpc: "2.0", id, result }))
    }
    const tool = options.tools[String(params["name"])]
    if (method !== "tools/call" || tool === undefined)
      return fail(response, 200, method === "tools/call" ? -32602 : -32601, id)
    runs.set(String(params["name"]), (runs.get(String(params["name"])) ?? 0) + 1)
    response.once("close", () => {
      if (!response.writableEnded) closed.push(String(params["name"]))
    })
    const send = (sent: object) => {
      if (!response.headersSent) response.writeHead(200, { "content-type": "text/event-stream" })
      response.write(`event: message\ndata: ${JSON.stringify({ jsonrpc: "2.0", ...sent })}\n\n`)
    }
    const ask = (method: string, params: object) =>
      new Promise<ToolMessage>((resolve) => {
        const own = randomUUID()
        waiting.set(own, resolve)
        send({ id: own, method, params })
      })
    const given = (params["arguments"] ?? {}) as Record<string, unknown>
    const meta = (params["_meta"] ?? {}) as Record<string, unknown>
    const answering = { params: given, asked: params, meta, token: meta["progressToken"], id, send, response, ask }
    const found = await (async () => tool(answering))().catch((error: unknown) => {
      if (!(error instanceof ToolRefusal)) throw error
      const { code, status, message, data } = error
      fail(response, status, code, id, { message, ...(data !== undefined && { data }) })
    })
    if (response.writableEnded || response.destroyed || found === undefined) return
    const whole = { ...(isStateless && { resultType: "complete" }), ...(found as object) }
    if (response.headersSent) {
      send({ id, result: whole })
      return void response.end()
    }
    response.writeHead(200, { "content-type": "application/json" })
    response.end(JSON.stringify({ jsonrpc: "2.0", id, result: whole }))
  }

  const server = createServer((request, response) => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      if (request.method !== "POST") return void response.writeHead(405).end()
      const message: ToolMessage = JSON.parse(Buffer.concat(chunks).toString("utf8"))
      asked.push({ message, headers: request.headers })
      void answer(request, response, message)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    asked,
    runs,
    /** Tools whose request was closed before they answered. */
    closed,
    /** Announces a change to all who listen. */
    announce: (method: string, params?: object) => {
      for (const response of listening) {
        response.write(`event: message\ndata: ${JSON.stringify({ jsonrpc: "2.0", method, params })}\n\n`)
      }
    },
    /** The number of those who listen. */
    listeners: () => listening.size,
    /** Drops all sessions, as a server does when it starts again. */
    forgetSessions: () => sessions.clear(),
    redefine: (changed: Readonly<Record<string, object>>) => {
      definitions = { ...definitions, ...changed }
    },
    stop: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

export const textResult = (text: string, more: object = {}) => ({ content: [{ type: "text", text }], ...more })
