/**
 * Serves an embedded database to PostgreSQL clients on a loopback socket, one after the other: PGlite has one session.
 * Messages that arrive together are answered together: a statement is four messages, and each write wakes the client's
 * thread. No import of Effect: the thread that runs this starts in half the time.
 */
import { hash, randomBytes, timingSafeEqual } from "node:crypto"
import { createServer, type Socket } from "node:net"
import type { PGlite } from "@electric-sql/pglite"
import { ClientMessages } from "./client-messages.ts"

export interface EmbeddedServer {
  /** Host and port. */
  readonly address: string
  /** The password, new at each start: other programs of the machine can reach the port, and do not know it. */
  readonly password: string
  /** Waits until the client that is served has left. */
  readonly idle: () => Promise<void>
  /** Disconnects the clients, and stops listening. */
  readonly stop: () => Promise<void>
}

/** One client is served, others wait: a client that reconnects may be accepted before its former connection has ended. */
const mostClients = 8
/** `AuthenticationCleartextPassword`: on this machine nobody listens. */
const passwordRequest = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 3])
const passwordMessage = 0x70

/** @param db the database, which nobody else uses, except between {@link EmbeddedServer.idle} and the next client */
export const serveEmbedded = async (db: PGlite): Promise<EmbeddedServer> => {
  const sockets = new Set<Socket>()
  const password = randomBytes(24).toString("base64url")
  /** Completes when all earlier clients have left. */
  let served: Promise<void> = Promise.resolve()
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket)
    const gone = new Promise<void>((resolve) => socket.once("close", resolve)).then(() => void sockets.delete(socket))
    // A client that breaks off counts as one that has left.
    socket.on("error", () => socket.destroy())
    const takeTurn = (): Promise<void> => {
      const before = served
      served = before.then(() => gone).then(() => rollBack(db))
      return before
    }
    answer(db, socket, password, takeTurn).catch(() => socket.destroy())
  })
  server.maxConnections = mostClients
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject)
    server.listen(0, "127.0.0.1", resolve)
  })
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("The embedded database's server has no port")
  return {
    address: `${address.address}:${address.port}`,
    password,
    idle: () => served,
    stop: async () => {
      const closed = new Promise((resolve) => server.close(resolve))
      for (const socket of sockets) socket.destroy()
      await closed
      await served
    },
  }
}

/** @param takeTurn waits until the clients before have left */
const answer = async (db: PGlite, socket: Socket, password: string, takeTurn: () => Promise<void>): Promise<void> => {
  const messages = new ClientMessages()
  /** The first message of the connection, which is used once the client has sent the password. */
  let startup: Uint8Array = new Uint8Array()
  for await (const bytes of socket) {
    messages.push(bytes)
    for (let next = messages.take(); next !== undefined; next = messages.take()) {
      switch (next.is) {
        case "startup":
          startup = next.bytes
          socket.write(passwordRequest)
          break
        case "password":
          if (!isPassword(next.bytes, password)) return void socket.destroy()
          await takeTurn()
          await execute(db, socket, startup)
          break
        case "work":
          await execute(db, socket, next.bytes)
          break
        // Nothing is encrypted within a machine.
        case "encryption request":
          socket.write("N")
          break
        // A statement cannot be cancelled, it ends when it is done; the end of a connection must not end the database.
        case "cancel request":
        case "end":
        case "nonsense":
          return void socket.destroy()
      }
    }
  }
}

/** @param message whole, with its type and length; its text ends with a NUL */
const isPassword = (message: Uint8Array, password: string): boolean => {
  const hashOf = (text: string | Uint8Array) => hash("sha256", text, "buffer")
  return message[0] === passwordMessage && timingSafeEqual(hashOf(message.subarray(5)), hashOf(`${password}\0`))
}

const execute = (db: PGlite, socket: Socket, bytes: Uint8Array): Promise<void> =>
  db.runExclusive(async () => {
    if (socket.destroyed) return
    socket.cork()
    await db.execProtocolRawStream(bytes, { onRawData: (answer) => void socket.write(answer.slice()) })
    socket.uncork()
  })

/** Ends a transaction that a client has begun when its connection ends, as a server does. */
const rollBack = async (db: PGlite): Promise<void> => {
  if (db.isInTransaction()) await db.exec("rollback")
}
