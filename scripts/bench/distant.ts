/** A line to a server that is far away: `node distant.ts HOST PORT MS` prints its port; each way takes that long. */
import { connect, createServer, type Socket } from "node:net"

const [host = "", port = "", millis = ""] = process.argv.slice(2)

/** Delivers what one socket sends to the other, in order, after the delay. */
const delay = (from: Socket, to: Socket) => {
  from.on("data", (bytes) => setTimeout(() => to.destroyed || to.write(bytes), Number(millis)))
  from.on("error", () => to.destroy())
  from.on("close", () => setTimeout(() => to.destroy(), Number(millis)))
}

const server = createServer({ noDelay: true }, (near) => {
  const far = connect({ host, port: Number(port), noDelay: true })
  delay(near, far)
  delay(far, near)
})
server.listen(0, "127.0.0.1", () => {
  const address = server.address()
  console.log(typeof address === "object" ? address?.port : "")
})
