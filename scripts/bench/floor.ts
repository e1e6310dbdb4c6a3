/**
 * The floor: the same work, written by hand with node:http only. JSON is passed through;
 * every frame of a stream is parsed and serialised. Prints its port.
 */
import { Agent, request as call, createServer } from "node:http"

const upstreamPort = Number(process.argv[2])
const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY })

const server = createServer((request, response) => {
  const outgoing = call(
    {
      host: "127.0.0.1",
      port: upstreamPort,
      path: request.url === "/mcp" ? "/mcp" : "/v1/chat/completions",
      method: "POST",
      agent,
      headers: { "content-type": "application/json" },
    },
    (reply) => {
      const type = reply.headers["content-type"] ?? ""
      response.writeHead(200, { "content-type": type })
      if (!type.startsWith("text/event-stream")) {
        reply.pipe(response)
        return
      }
      let rest = ""
      let id = 0
      reply.setEncoding("utf8")
      reply.on("data", (chunk: string) => {
        const frames = (rest + chunk).split("\n\n")
        rest = frames.pop() ?? ""
        let out = id === 0 ? `id: ${id++}\nevent: t.open\ndata: {}\n\n` : ""
        for (const frame of frames) {
          const data = frame.slice("data: ".length)
          if (data === "[DONE]") continue
          const content = JSON.parse(data).choices[0]?.delta?.content
          if (content)
            out += `id: ${id++}\nevent: t.delta\ndata: ${JSON.stringify({ i: 0, t: "text", v: content })}\n\n`
        }
        if (out !== "") response.write(out)
      })
      reply.on("end", () => response.end())
    },
  )
  outgoing.on("error", () => response.destroy())
  response.on("close", () => {
    if (!response.writableFinished) outgoing.destroy()
  })
  request.pipe(outgoing)
})
server.listen(0, "127.0.0.1", () => {
  const address = server.address()
  console.log(typeof address === "object" && address !== null ? address.port : 0)
})
