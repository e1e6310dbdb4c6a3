/** The bench's vendor: chat completions from memory, so that it costs next to nothing. Prints its port. */
import { createServer, type ServerResponse } from "node:http"
import { openaiBody, openaiFrames } from "../../src/testing/vendor-replies.ts"

const framesPerStream = Number(process.argv[2])
const answer = {
  words: Array.from({ length: framesPerStream - 4 }, (_, at) => `word${at} `),
  inTokens: 100,
  outTokens: 196,
}
const body = openaiBody({ ...answer, words: ["a short answer"] })
const frames = openaiFrames(answer)
/** As a busy vendor's socket delivers them: about sixteen frames a packet. */
const packets = Array.from({ length: Math.ceil(frames.length / 16) }, (_, at) =>
  frames.slice(at * 16, at * 16 + 16).join(""),
)

const pacedFrames = openaiFrames({ ...answer, words: answer.words.slice(0, 16) })
const pauseMs = 20

/** As a model writes: a frame at a time, with pauses. */
const pace = (response: ServerResponse, at: number): void => {
  const frame = pacedFrames[at]
  if (frame === undefined) {
    response.end()
    return
  }
  response.write(frame)
  setTimeout(pace, pauseMs, response, at + 1)
}

const searchBody = JSON.stringify({
  results: Array.from({ length: 8 }, (_, at) => ({
    title: `T${at}`,
    url: `https://x.test/${at}`,
    content: "A snippet",
  })),
})

const server = createServer((request, response) => {
  if (request.method === "GET") {
    response.writeHead(200, { "content-type": "application/json" }).end(searchBody)
    return
  }
  let text = ""
  request.on("data", (chunk) => {
    text += chunk
  })
  request.on("end", () => {
    if (!text.includes(`"stream":true`)) {
      response.writeHead(200, { "content-type": "application/json" })
      response.end(body)
      return
    }
    response.writeHead(200, { "content-type": "text/event-stream" })
    if (text.includes("upstream-plain")) {
      pace(response, 0)
      return
    }
    const send = (at: number): void => {
      const packet = packets[at]
      if (packet === undefined) response.end()
      else {
        response.write(packet)
        setImmediate(send, at + 1)
      }
    }
    send(0)
  })
})
server.listen(0, "127.0.0.1", () => {
  const address = server.address()
  console.log(typeof address === "object" && address !== null ? address.port : 0)
})
