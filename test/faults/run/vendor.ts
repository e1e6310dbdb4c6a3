/** The vendor of a fault run: answers calls of every kind, and remembers which keys it was asked for. */
import { numberAt, stringAt } from "../../../src/dialects/parse/json.ts"
import type { VendorCall, VendorScript } from "../../../src/testing/scripted-vendor.ts"
import { answering } from "../../../src/testing/vendor-replies.ts"

export interface FaultVendor {
  readonly script: VendorScript
  /** The number of calls of each key. */
  readonly calls: ReadonlyMap<string, number>
  /** Jobs that were asked about by two at once. */
  readonly polledTwice: ReadonlySet<string>
}

/** The time that the vendor works on a video, at least and at most. */
const filmMs = { least: 300, most: 3000 }

/** Whether the video of a key fails: one in five does. */
export const videoFails = (key: string): boolean => Number(key.slice("k-".length)) % 5 === 3

/** @param upTo a whole number below its argument, at random */
export const makeVendor = (upTo: (count: number) => number): FaultVendor => {
  const calls = new Map<string, number>()
  const doneAtMs = new Map<string, number>()
  const polled = new Map<string, VendorCall>()
  const polledTwice = new Set<string>()

  const begin = (key: string): object => {
    const id = `video_${key}_${doneAtMs.size}`
    doneAtMs.set(id, Date.now() + filmMs.least + upTo(filmMs.most - filmMs.least))
    return { id, object: "video", status: "queued", progress: 0 }
  }

  /** Answers a little later: two nodes that ask at once are noticed. */
  const film = async (call: VendorCall): Promise<void> => {
    const id = call.path.slice(videoPath.length)
    const other = polled.get(id)
    // A node that was killed has hung up.
    if (other !== undefined && other.hungUpAt === undefined) polledTwice.add(id)
    polled.set(id, call)
    await call.wait(20 + upTo(80))
    if (polled.get(id) === call) polled.delete(id)
    const isOver = Date.now() >= (doneAtMs.get(id) ?? Number.POSITIVE_INFINITY)
    const ended = videoFails(id.split("_")[1] ?? "") ? "failed" : "completed"
    send(call, { id, object: "video", status: isOver ? ended : "in_progress", progress: isOver ? 100 : 50 })
  }

  const script: VendorScript = async (call) => {
    if (call.path.startsWith(videoPath)) return film(call)
    const key = `${call.path}${call.sent.toString("latin1")}`.match(/k-\d+/)?.[0] ?? ""
    calls.set(key, (calls.get(key) ?? 0) + 1)
    const words = Array.from({ length: 1 + (key.length % 5) }, (_, at) => `word${at} `)
    const pauseMs = upTo(150)
    if (call.path === "/v1/audio/speech") return speak(call, pauseMs)
    const body = call.path === "/v1/videos" ? begin(key) : bodyOf(call)
    if (body !== undefined) return send(call, body)
    return answering({ words, inTokens: 100, outTokens: words.length }, pauseMs)(call)
  }
  return { script, calls, polledTwice }
}

const videoPath = "/v1/videos/"

const send = (call: VendorCall, body: object): void => {
  call.head(200, { "content-type": "application/json" })
  call.end(JSON.stringify(body))
}

/** Sound in parts, with pauses in which something may be killed. */
const speak = async (call: VendorCall, pauseMs: number): Promise<void> => {
  call.head(200, { "content-type": "audio/mpeg" })
  for (let part = 0; part < 4; part++) {
    if (!(await call.write(Buffer.alloc(1000, part)))) return
    await call.wait(pauseMs)
  }
  call.end()
}

/** The whole answer to a call of another kind; undefined for chat. */
const bodyOf = ({ path, body }: VendorCall): object | undefined => {
  if (path.startsWith("/search?")) return { results: [{ title: "T", url: "https://x.test", content: "C" }] }
  switch (path) {
    case "/v1/embeddings": {
      const data = [0, 1].map((index) => ({ index, embedding: [0.5, index] }))
      return { data, usage: { prompt_tokens: 6, total_tokens: 6 } }
    }
    case "/v1/images/generations":
      return { created: 0, data: Array.from({ length: numberAt(body, "n") ?? 1 }, () => ({ b64_json: picture })) }
    case "/v1/audio/transcriptions":
      return {
        task: "transcribe",
        language: "english",
        duration: 1,
        text: stringAt(body, "prompt") ?? "",
        segments: [],
      }
    default:
      return undefined
  }
}

const picture = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]).toString("base64")
