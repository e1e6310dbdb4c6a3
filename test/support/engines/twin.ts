/** A server that answers as an engine of policies does, or fails in the ways in which engines fail. */
import { createServer, type ServerResponse } from "node:http"
import { text } from "node:stream/consumers"
import { setTimeout as sleep } from "node:timers/promises"
import { portOf } from "../../../src/testing/port.ts"

export interface Received {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
  readonly body: string
}

export interface TwinReply {
  readonly status?: number
  readonly body: string | object
  readonly headers?: Readonly<Record<string, string>>
}

/** `killed`: the connection breaks in the middle of the answer. `silent`: it never answers. */
export type Mood = "up" | "killed" | "silent" | { readonly afterMs: number } | TwinReply

export interface EngineTwin {
  readonly url: string
  readonly received: Array<Received>
  /** Answers that were refusals. */
  readonly refusals: Array<TwinReply>
  mood: Mood
  /** The most requests that were open at once. */
  most: number
  readonly stop: () => void
}

/** @param answer its strict rules: the answer to a request, or a refusal */
export const startEngineTwin = async (answer: (received: Received) => TwinReply): Promise<EngineTwin> => {
  let open = 0
  const server = createServer(async (request, response) => {
    open++
    twin.most = Math.max(twin.most, open)
    response.on("close", () => {
      open--
    })
    const received: Received = {
      method: request.method ?? "",
      path: request.url ?? "",
      headers: request.headers,
      body: await text(request),
    }
    twin.received.push(received)
    const { mood } = twin
    if (mood === "silent") return
    if (typeof mood === "object" && "afterMs" in mood) await sleep(mood.afterMs)
    const lie = typeof mood === "object" && "body" in mood ? mood : undefined
    const reply = lie ?? answer(received)
    if (lie === undefined && (reply.status ?? 200) >= 400) twin.refusals.push(reply)
    send(response, reply, mood === "killed")
  })
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve))
  const twin: EngineTwin = {
    url: `http://127.0.0.1:${portOf(server)}`,
    received: [],
    refusals: [],
    mood: "up",
    most: 0,
    stop: () => {
      server.close()
      server.closeAllConnections()
    },
  }
  return twin
}

const send = (response: ServerResponse, { status = 200, body, headers }: TwinReply, isKilled: boolean) => {
  const said = typeof body === "string" ? body : JSON.stringify(body)
  response.writeHead(status, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(said),
    ...headers,
  })
  if (isKilled) {
    response.write(said.slice(0, said.length / 2), () => response.destroy())
    return
  }
  response.end(said)
}
