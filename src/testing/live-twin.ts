/**
 * A strict twin of Google's Live API: a real WebSocket server on loopback. Like Google it accepts every upgrade, sends JSON in
 * binary frames, and closes with a reason: without a credential, if the first message is no setup, and for each name that it
 * does not know. Source: https://ai.google.dev/api/live
 */
import { createServer, type IncomingMessage } from "node:http"
import type { Socket } from "node:net"
import { Effect, type Scope } from "effect"
import { type WebSocket, WebSocketServer } from "ws"
import { isObject, type JsonObject } from "../dialects/parse/json.ts"
import { portOf } from "./port.ts"

export interface LiveTwinSession {
  readonly path: string
  readonly headers: IncomingMessage["headers"]
  readonly setup: JsonObject
  /** The messages after the setup, in order. */
  readonly received: ReadonlyArray<JsonObject>
  readonly send: (message: object) => void
  /** The next message that was not taken yet; undefined if the socket has closed. @param kind skips others */
  readonly next: (kind?: string) => Promise<JsonObject | undefined>
  readonly close: (code?: number, reason?: string) => void
  /** Breaks the connection. */
  readonly reset: () => void
  /** The code with which the gateway closed; undefined while it is open. */
  readonly closedWith: () => number | undefined
}

/** Runs after the setup was answered. */
export type LiveScript = (session: LiveTwinSession) => Promise<void> | void

export interface LiveTwin {
  /** The base URL for a catalogue. */
  readonly url: string
  readonly sessions: ReadonlyArray<LiveTwinSession>
  readonly script: (script: LiveScript) => void
  /** Closes each socket when its setup comes; undefined answers them. */
  readonly refuse: (code: number | undefined, reason?: string) => void
  /** Whether sockets get no answer to their setup. */
  readonly silence: (isSilent: boolean) => void
  /** The closes that the twin has made because of a message. */
  readonly complaints: ReadonlyArray<string>
}

interface TwinState {
  readonly needsKey: boolean
  script: LiveScript
  refusal: { readonly code: number; readonly reason: string } | undefined
  isSilent: boolean
  readonly sessions: Array<LiveTwinSession>
  readonly complaints: Array<string>
}

/** Starts a twin; it stops when the scope closes. */
export const startLiveTwin = (script: LiveScript): Effect.Effect<LiveTwin, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.callback<LiveTwin & { readonly stop: () => void }>((resume) => {
      const state: TwinState = {
        script,
        needsKey: true,
        refusal: undefined,
        isSilent: false,
        sessions: [],
        complaints: [],
      }
      const server = createServer((_, response) => response.writeHead(404).end())
      server.on("upgrade", acceptWith(state))
      const open = new Set<Socket>()
      server.on("connection", (socket) => {
        open.add(socket)
        socket.once("close", () => open.delete(socket))
      })
      server.listen(0, "127.0.0.1", () =>
        resume(
          Effect.succeed({
            url: `http://127.0.0.1:${portOf(server)}`,
            sessions: state.sessions,
            complaints: state.complaints,
            script: (next) => {
              state.script = next
            },
            refuse: (code, reason = "") => {
              state.refusal = code === undefined ? undefined : { code, reason }
            },
            silence: (isSilent) => {
              state.isSilent = isSilent
            },
            stop: () => {
              for (const socket of open) socket.destroy()
              server.close()
            },
          }),
        ),
      )
    }),
    (twin) => Effect.sync(() => twin.stop()),
  )

type Upgraded = (request: IncomingMessage, socket: Socket, head: Buffer) => void

/** Whether an upgrade is for Google's API. */
export const isLivePath = (path: string): boolean =>
  /^\/ws\/google\.(?:ai\.generativelanguage\.v1(?:beta|alpha)?\.GenerativeService\.BidiGenerateContent|cloud\.aiplatform\.v1(?:beta1)?\.LlmBidiService\/BidiGenerateContent)(?:\?|$)/.test(
    path,
  )

/** A listener for upgrades that runs a script for each session, without a credential. */
export const acceptLive = (script: LiveScript): Upgraded =>
  acceptWith({ script, needsKey: false, refusal: undefined, isSilent: false, sessions: [], complaints: [] })

const acceptWith = (state: TwinState): Upgraded => {
  const sockets = new WebSocketServer({ noServer: true })
  return (request, socket, head) => {
    if (!isLivePath(request.url ?? "")) {
      socket.end("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
      return
    }
    sockets.handleUpgrade(request, socket, head, (ws) => new TwinSocket(state, request, ws))
  }
}

class TwinSocket {
  readonly #state: TwinState
  readonly #request: IncomingMessage
  readonly #ws: WebSocket
  readonly #received: Array<JsonObject> = []
  #session: LiveTwinSession | undefined
  #taken = 0
  #code: number | undefined
  #wake: (() => void) | undefined

  constructor(state: TwinState, request: IncomingMessage, ws: WebSocket) {
    this.#state = state
    this.#request = request
    this.#ws = ws
    ws.on("message", (data: Buffer) => this.#take(data))
    ws.on("close", (code) => {
      this.#code = code
      this.#wake?.()
    })
    ws.on("error", () => {})
    const { "x-goog-api-key": key, authorization } = request.headers
    if (state.needsKey && key === undefined && authorization?.startsWith("Bearer ") !== true) {
      this.#complain(1008, "Method doesn't allow unregistered callers (callers without established identity).")
    }
  }

  #take(data: Buffer): void {
    const { refusal, isSilent } = this.#state
    const message: unknown = JSON.parse(data.toString("utf8"))
    const problem = isObject(message) ? problemOf(message) : "Request contains an invalid argument."
    if (problem !== undefined || !isObject(message)) {
      this.#complain(1007, problem ?? "")
      return
    }
    const { setup } = message
    if (this.#session === undefined) {
      if (!isObject(setup)) this.#complain(1007, "setup must be the first message and only the first")
      else if (!isModel(setup["model"])) this.#complain(1007, "Request contains an invalid argument.")
      else if (refusal !== undefined) this.#ws.close(refusal.code, refusal.reason)
      else if (!isSilent) this.#begin(setup)
      return
    }
    if (setup !== undefined) {
      this.#complain(1007, "setup must be the first message and only the first")
      return
    }
    this.#received.push(message)
    this.#wake?.()
  }

  #begin(setup: JsonObject): void {
    const session = this.#sessionOf(setup)
    this.#session = session
    this.#state.sessions.push(session)
    session.send({ setupComplete: {} })
    void Promise.resolve(this.#state.script(session))
  }

  #complain(code: number, reason: string): void {
    this.#state.complaints.push(reason)
    this.#ws.close(code, reason.slice(0, 120))
  }

  #sessionOf(setup: JsonObject): LiveTwinSession {
    return {
      path: this.#request.url ?? "",
      headers: this.#request.headers,
      setup,
      received: this.#received,
      // Google's JSON has lines and spaces.
      send: (message) => this.#ws.send(Buffer.from(`${JSON.stringify(message, null, 2)}\n`)),
      next: async (kind) => {
        while (true) {
          while (this.#taken < this.#received.length) {
            const message = this.#received[this.#taken++]
            if (message !== undefined && (kind === undefined || kind in message)) return message
          }
          if (this.#code !== undefined) return undefined
          await new Promise<void>((resolve) => {
            this.#wake = resolve
          })
        }
      },
      close: (code = 1000, reason = "") => this.#ws.close(code, reason),
      reset: () => this.#ws.terminate(),
      closedWith: () => this.#code,
    }
  }
}

const isModel = (model: unknown): boolean =>
  typeof model === "string" &&
  /^(?:models|projects\/[^/]+\/locations\/[^/]+\/publishers\/google\/models)\/[\w.-]+$/.test(model)

/** The names of each message, in the form of the SDK for Node. */
const names: Readonly<Record<string, ReadonlyArray<string>>> = {
  setup: [
    "model",
    "generationConfig",
    "systemInstruction",
    "tools",
    "realtimeInputConfig",
    "sessionResumption",
    "contextWindowCompression",
    "inputAudioTranscription",
    "outputAudioTranscription",
    "proactivity",
    "historyConfig",
  ],
  clientContent: ["turns", "turnComplete"],
  realtimeInput: ["mediaChunks", "audio", "video", "text", "activityStart", "activityEnd", "audioStreamEnd"],
  toolResponse: ["functionResponses"],
  contextUpdate: ["systemInstruction", "tools"],
}

const problemOf = (message: JsonObject): string | undefined => {
  const entries = Object.entries(message)
  if (entries.length !== 1) return "Request contains an invalid argument."
  for (const [name, content] of entries) {
    const known = names[camel(name)]
    if (known === undefined) return unknownName(name, "")
    if (!isObject(content)) return "Request contains an invalid argument."
    const other = Object.keys(content).find((each) => !known.includes(camel(each)))
    if (other !== undefined) return unknownName(other, ` at '${name}'`)
  }
  return undefined
}

const unknownName = (name: string, at: string): string =>
  `Invalid JSON payload received. Unknown name "${name}"${at}: Cannot find field.`

const camel = (name: string): string => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
