/** The embedded database's server: clients one after the other, and what strangers send. */
import { connect, type Socket } from "node:net"
import { PGlite } from "@electric-sql/pglite"
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { emptyDatabase } from "../../../src/store/embedded-files.ts"
import { startParameters } from "../../../src/store/embedded-parameters.ts"
import { type EmbeddedServer, serveEmbedded } from "../../../src/store/embedded-server.ts"
import { first, int, message, startup } from "./client-bytes.ts"

let db: PGlite
let server: EmbeddedServer
beforeAll(async () => {
  db = await PGlite.create({ loadDataDir: emptyDatabase(), startParams: startParameters })
  await db.exec("create table notes (text text)")
  server = await serveEmbedded(db)
})
afterAll(async () => {
  await server.stop()
  await db.close()
})

const query = (text: string) => message("Q", `${text}\0`)

const sockets: Array<Socket> = []
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  await server.idle()
})

const password = () => message("p", `${server.password}\0`)
/** R, of eight bytes: a password in clear text, and that all is well. */
const authentication = (code: number) => message("R", int(code)).toString("latin1")
const [asked, welcome] = [authentication(3), authentication(0)]

/** A client that collects the replies that it gets. */
const join = () => {
  const [host = "", port = ""] = server.address.split(":")
  const socket = connect(Number(port), host)
  sockets.push(socket)
  const heard = { text: "", pieces: 0, isClosed: false }
  socket.on("data", (bytes) => {
    heard.text += bytes.toString("latin1")
    heard.pieces++
  })
  socket.on("error", () => {})
  socket.on("close", () => {
    heard.isClosed = true
  })
  return { socket, heard }
}
/** ReadyForQuery: the session idles. */
const ready = `Z${int(5).toString("latin1")}I`
const hears = ({ heard }: ReturnType<typeof join>, ...what: ReadonlyArray<string>) =>
  expect.poll(() => what.every((each) => heard.text.includes(each))).toBe(true)
/** Begins a connection, and says the password when it is asked for. */
const begins = async (client: ReturnType<typeof join>) => {
  client.socket.write(startup)
  await hears(client, asked)
  client.socket.write(password())
}
const leaves = ({ heard }: ReturnType<typeof join>) => expect.poll(() => heard.isClosed).toBe(true)

describe("the embedded database's server", () => {
  it("answers what comes in one piece in one piece", async () => {
    const client = join()
    await begins(client)
    await hears(client, ready)
    client.heard.text = ""
    client.heard.pieces = 0
    client.socket.write(Buffer.concat([query("select 'one'"), query("select 'two'"), query("nonsense")]))
    await hears(client, "one", "two", "syntax error")
    expect(client.heard.pieces).toBe(1)
  })

  it("serves clients one after the other: the next begins when the one before has left", async () => {
    const [one, two] = [join(), join()]
    await begins(one)
    await hears(one, ready)
    await begins(two)
    two.socket.write(query("select 'served'"))
    one.socket.write(query("select pg_sleep(0.05), 'first'"))
    await hears(one, "first")
    expect(two.heard.text).toBe(asked)
    one.socket.write(message("X"))
    await hears(two, "served")
    await leaves(one)
  })

  it("serves a client that sends a statement with its password, without waiting to be welcomed", async () => {
    const client = join()
    client.socket.write(startup)
    await hears(client, asked)
    client.socket.write(Buffer.concat([password(), query("select 'early'")]))
    await hears(client, welcome, "early")
  })

  it("takes back what a client has begun that breaks off, before the next one is served", async () => {
    const one = join()
    await begins(one)
    await hears(one, ready)
    one.socket.write(query("begin; insert into notes values ('half')"))
    await hears(one, "INSERT")
    const two = join()
    await begins(two)
    two.socket.write(query("select 'n' || count(*) from notes"))
    one.socket.resetAndDestroy()
    await hears(two, "n0")
  })

  it("outlives its clients' end, though it comes with a statement", async () => {
    const one = join()
    await begins(one)
    await hears(one, ready)
    one.socket.write(Buffer.concat([query("select 'last'"), message("X"), query("select 'after'")]))
    await leaves(one)
    const two = join()
    await begins(two)
    two.socket.write(query("select 'alive'"))
    await hears(two, "alive")
    expect(one.heard.text).not.toContain("after")
  })

  it("refuses encryption and goes on; what asks for a cancellation, or is nonsense, is disconnected at once", async () => {
    const served = join()
    served.socket.write(first(80877103))
    await hears(served, "N")
    await begins(served)
    await hears(served, ready)
    for (const bytes of [
      first(80877102, "\0\0\0\x01\0\0\0\x01"),
      Buffer.concat([int(-1), int(0)]),
      Buffer.from("GET / HTTP/1.1\r\n\r\n"),
    ]) {
      const stranger = join()
      stranger.socket.write(bytes)
      await leaves(stranger)
      expect(stranger.heard.text).toBe("")
    }
    served.socket.write(query("select 'undisturbed'"))
    await hears(served, "undisturbed")
  })

  it("serves nobody who does not know its password, and lets nobody wait for one who has not said it", async () => {
    const idle = join()
    idle.socket.write(startup)
    await hears(idle, asked)
    for (const wrong of [
      message("p", "postgres\0"),
      message("p", "\0"),
      query(server.password),
      message("p", server.password),
    ]) {
      const stranger = join()
      stranger.socket.write(startup)
      await hears(stranger, asked)
      stranger.socket.write(Buffer.concat([wrong, query("select 'stolen'")]))
      await leaves(stranger)
      expect(stranger.heard.text).toBe(asked)
    }
    const known = join()
    await begins(known)
    await hears(known, welcome, ready)
  })
})
