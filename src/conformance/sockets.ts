/** Checks of exchanges over a WebSocket (`GET /t1/socket`). */
import { Schema } from "effect"
import { openSocket } from "../client/open-socket.ts"
import type { SocketLike } from "../client/socket-like.ts"
import { ServerMessage, socketProtocol } from "../protocol/socket.ts"
import { expectThat, type Group, type Probe } from "./probe.ts"

export const socketChecks: Group = {
  section: "Socket",
  checks: [
    {
      name: "many exchanges run at once, each with its own events",
      run: (probe) =>
        withSocket(probe, async ({ send, until, messages }) => {
          const ids = ["a", "b", "c"]
          for (const id of ids) send({ id, exchange: probe.ask() })
          for (const id of ids) {
            await until((message) => isLast(message, id))
            const names = messages().flatMap((each) =>
              "event" in each && "id" in each && each.id === id ? each.event : [],
            )
            expectThat(names[0] === "t.open" && names.at(-1) === "t.close", `${id} has ${names.join(", ")}`)
          }
        }),
    },
    {
      name: "an exchange that is cancelled ends, and its id is free",
      run: (probe) =>
        withSocket(probe, async ({ send, until }) => {
          send({ id: "a", exchange: probe.ask() })
          send({ id: "a", cancel: true })
          await until((message) => isLast(message, "a"))
          send({ id: "a", exchange: probe.ask() })
          await until((message) => "event" in message && "id" in message && message.event === "t.close")
        }),
    },
    {
      name: "what is no message is refused, and the socket goes on",
      run: (probe) =>
        withSocket(probe, async ({ send, sendText, until }) => {
          for (const text of ["no json", "[]", '{"id":"a"}', '{"id":"a","exchange":{},"more":1}']) sendText(text)
          send({ id: "a", exchange: probe.ask({ model: "no-such-model" }) })
          await until((message) => "event" in message && message.event === "t.err" && "id" in message)
          send({ id: "b", exchange: probe.ask() })
          await until((message) => isLast(message, "b"))
        }),
    },
    {
      name: "nobody opens one with a wrong key",
      run: async (probe) => {
        const deployment = { ...probe.deployment, key: "wrong" }
        const opened = await withSocket({ ...probe, deployment }, async () => true).catch(() => false)
        expectThat(!opened, "the upgrade was accepted")
      },
    },
  ],
}

const isLast = (message: ServerMessage, id: string): boolean =>
  "id" in message &&
  message.id === id &&
  (!("event" in message) || message.event === "t.close" || message.event === "t.err")

interface Connected {
  readonly send: (message: object) => void
  readonly sendText: (text: string) => void
  readonly messages: () => ReadonlyArray<ServerMessage>
  /** Waits for a message. */
  readonly until: (is: (message: ServerMessage) => boolean) => Promise<void>
}

const patienceMs = 30_000
const decode = Schema.decodeUnknownSync(Schema.fromJsonString(ServerMessage))

const withSocket = async <A>(
  { deployment: { baseUrl, keyId, key } }: Pick<Probe, "deployment">,
  use: (connected: Connected) => Promise<A>,
): Promise<A> => {
  const messages: Array<ServerMessage> = []
  let wake = () => {}
  const listen = (socket: SocketLike) => {
    socket.addEventListener("message", ({ data }) => {
      messages.push(decode(String(data)))
      wake()
    })
    socket.addEventListener("close", () => wake())
  }
  const opening = {
    target: "/t1/socket",
    protocol: socketProtocol,
    tokenPrefix: "x-svc-app-token.",
    subject: "/t1/socket",
  }
  const socket = await openSocket({ baseUrl, credentials: { keyId, key } }, opening, listen)
  try {
    return await use({
      send: (message) => socket.send(JSON.stringify(message)),
      sendText: (text) => socket.send(text),
      messages: () => messages,
      until: async (is) => {
        const endsAt = Date.now() + patienceMs
        while (!messages.some(is)) {
          expectThat(Date.now() < endsAt, `nothing more came after ${JSON.stringify(messages.at(-1))}`)
          await new Promise<void>((resolve) => {
            wake = resolve
            setTimeout(resolve, 1000)
          })
        }
      },
    })
  } finally {
    socket.close(1000)
  }
}
