/** The cost of sockets: a frame beside the same over SSE, many exchanges on few connections, frames of sound. */
import { setTimeout as sleep } from "node:timers/promises"
import { WebSocket } from "ws"
import { cpuSeconds, drive, median, residentBytes } from "./load.ts"
import { openStreams } from "./open-streams.ts"
import type { Row, Scenario } from "./scenario.ts"
import type { Answer, Subject, Weir } from "./subjects.ts"

const open = (weir: Weir, path: string): Promise<WebSocket> =>
  new Promise((resolve, reject) => {
    const { origin, headers } = weir.call(path, {})
    const ws = new WebSocket(`${origin.replace(/^http/, "ws")}${path}`, {
      headers: { ...headers },
      perMessageDeflate: false,
    })
    ws.once("open", () => resolve(ws))
    ws.once("error", reject)
    ws.once("unexpected-response", (_, { statusCode }) => reject(new Error(`${path} answered ${statusCode}`)))
  })

const exchange = (model: Answer) => ({ model, thread: [{ role: "user", blocks: [{ t: "text", v: "Hello, river" }] }] })

const idIn = /^\{"id":"([^"]+)","event":"(t\.\w+)"/

/** A socket whose exchanges are waited for by their ids. */
class Exchanges {
  readonly #ws: WebSocket
  readonly #ended = new Map<string, () => void>()
  readonly #opened = new Map<string, () => void>()
  #next = 0
  /** Received so far. */
  frames = 0
  constructor(ws: WebSocket) {
    this.#ws = ws
    ws.on("message", (data: Buffer) => {
      const [, id = "", event] = idIn.exec(data.toString("latin1", 0, 64)) ?? []
      this.frames++
      if (event === "t.delta") {
        this.#opened.get(id)?.()
        this.#opened.delete(id)
      } else if (event === "t.close") this.#ended.get(id)?.()
      else if (event === "t.err") throw new Error(data.toString("utf8"))
    })
  }

  /** @returns when it has ended; `opened` when its first frame has come */
  run(model: Answer, more: object = {}): { readonly ended: Promise<void>; readonly opened: Promise<void> } {
    const id = String(this.#next++)
    const opened = new Promise<void>((resolve) => this.#opened.set(id, resolve))
    const ended = new Promise<void>((resolve) => this.#ended.set(id, resolve))
    this.#ws.send(JSON.stringify({ id, exchange: exchange(model), ...more }))
    return { ended, opened }
  }

  /** Runs one after the other, for good. @returns when the first has begun */
  keep(model: Answer): Promise<void> {
    const { opened, ended } = this.run(model)
    void ended.then(() => this.keep(model))
    return opened
  }

  close(): void {
    this.#ended.clear()
    this.#ws.close()
  }
}

const connect = async (weir: Weir, count: number) =>
  (await Promise.all(Array.from({ length: count }, () => open(weir, "/t1/socket")))).map((ws) => new Exchanges(ws))

/** Runs exchanges over sockets, so many at once on each. */
const driveSockets = async (sockets: ReadonlyArray<Exchanges>, model: Answer, requests: number, onEach: number) => {
  let left = requests
  const worker = async (socket: Exchanges) => {
    while (left-- > 0) await socket.run(model).ended
  }
  await Promise.all(sockets.flatMap((socket) => Array.from({ length: onEach }, () => worker(socket))))
}

const cpuPer = async (subject: Subject, count: number, work: () => Promise<unknown>): Promise<number> => {
  const before = cpuSeconds(subject.pid)
  await work()
  return ((cpuSeconds(subject.pid) - before) * 1e6) / count
}

/** The cost of one more frame of a stream, over SSE and over a socket, in turns. */
const frames = async (weir: Weir, rounds: number, scale: number) => {
  const sockets = await connect(weir, 1)
  const [short, long] = [Math.round(400 * scale), Math.round(120 * scale)]
  const sse: Array<number> = []
  const socket: Array<number> = []
  const overSse = (model: Answer, requests: number) =>
    cpuPer(weir, requests, () => drive(weir.exchange(model), { requests, inFlight: 16 }))
  const overSocket = (model: Answer, requests: number) =>
    cpuPer(weir, requests, () => driveSockets(sockets, model, requests, 16))
  await overSse("frames-200", short)
  await overSocket("frames-200", short)
  for (let round = 0; round < rounds; round++) {
    const shortSse = await overSse("frames-200", short)
    const shortSocket = await overSocket("frames-200", short)
    sse.push((await overSse("frames-2200", long)) - shortSse)
    socket.push((await overSocket("frames-2200", long)) - shortSocket)
  }
  for (const each of sockets) each.close()
  return { sse: median(sse) / 2000, socket: median(socket) / 2000 }
}

/** A frame that comes alone, as a model writes it: of many streams, over SSE and over sockets. */
const pacedFrames = async (weir: Weir, streams: number, rounds: number) => {
  const measureFor = async (frames: () => number) => {
    await sleep(3000)
    const before = { cpu: cpuSeconds(weir.pid), frames: frames() }
    await sleep(5000)
    return ((cpuSeconds(weir.pid) - before.cpu) * 1e6) / (frames() - before.frames)
  }
  const overSse = async () => {
    const opened = openStreams(weir.exchange("paced-200"), streams)
    await opened.allOpen
    const us = await measureFor(opened.frames)
    await opened.close()
    await sleep(2000)
    return us
  }
  const overSockets = async () => {
    const sockets = await connect(weir, Math.ceil(streams / 100))
    for (const socket of sockets) {
      await Promise.all(Array.from({ length: 100 }, () => socket.keep("paced-200")))
    }
    const us = await measureFor(() => sockets.reduce((sum, { frames }) => sum + frames, 0))
    for (const socket of sockets) socket.close()
    await sleep(2000)
    return us
  }
  const sse: Array<number> = []
  const socket: Array<number> = []
  for (let round = 0; round < rounds; round++) {
    sse.push(await overSse())
    socket.push(await overSockets())
  }
  return { sse: median(sse), socket: median(socket) }
}

/** The time of many exchanges while one exchange on the same socket gets no room. */
const besideSlow = async (weir: Weir, rounds: number) => {
  const time = async (withSlow: boolean) => {
    const [socket] = await connect(weir, 1)
    if (socket === undefined) return 0
    if (withSlow) void socket.run("frames-2200", { room: 1 })
    const times = await Promise.all(
      Array.from({ length: 99 }, async () => {
        const startedAt = performance.now()
        await socket.run("paced-20").ended
        return performance.now() - startedAt
      }),
    )
    socket.close()
    return median(times)
  }
  await time(false)
  const alone: Array<number> = []
  const beside: Array<number> = []
  for (let round = 0; round < rounds; round++) {
    alone.push(await time(false))
    beside.push(await time(true))
  }
  return { alone: median(alone), beside: median(beside) }
}

/** 20 ms of sound at 24 kHz and 16 bits, in base64. */
const sound = JSON.stringify({ type: "input_audio_buffer.append", audio: Buffer.alloc(960).toString("base64") })

/** Frames of sound in both directions: the vendor gives one for each that it gets. */
const voice = async (weir: Weir, rounds: number, scale: number) => {
  const count = 8
  const each = Math.round(4000 * scale)
  const sessions = await Promise.all(
    Array.from({ length: count }, async () => {
      const ws = await open(weir, "/openai/v1/realtime?model=talk")
      ws.send(JSON.stringify({ type: "response.create" }))
      return ws
    }),
  )
  /** Some at a time on the way, as from a microphone that is heard in bursts. */
  const run = (ws: WebSocket, frames: number) =>
    new Promise<void>((resolve) => {
      let sent = 0
      let received = 0
      const onMessage = (data: Buffer) => {
        if (!data.includes("audio.delta")) return
        received++
        if (received === frames) {
          ws.off("message", onMessage)
          resolve()
        } else if (sent < frames) {
          sent++
          ws.send(sound)
        }
      }
      ws.on("message", onMessage)
      for (; sent < Math.min(8, frames); sent++) ws.send(sound)
    })
  const all = (frames: number) => Promise.all(sessions.map((ws) => run(ws, frames)))
  await all(500)
  const taken: Array<number> = []
  for (let round = 0; round < rounds; round++) taken.push(await cpuPer(weir, count * each, () => all(each)))
  for (const ws of sessions) ws.close()
  return median(taken)
}

export const sockets: Scenario = async ({ weir }, { rounds, scale, streams }) => {
  const { sse, socket } = await frames(weir, rounds, scale)
  const { alone, beside } = await besideSlow(weir, rounds)
  const paced = await pacedFrames(weir, streams, Math.min(rounds, 2))
  const spoken = await voice(weir, rounds, scale)
  return [
    {
      what: "CPU per frame over /t1/socket, at full speed",
      unit: "µs",
      floor: sse,
      weir: socket,
      note: "floor: the same frame over SSE",
      budget: { of: "ratio", max: 0.8 },
    },
    {
      what: "CPU per frame over /t1/socket, frames that come one by one",
      unit: "µs",
      floor: paced.sse,
      weir: paced.socket,
      note: `floor: over SSE; ${streams} streams, 100 on a socket`,
      budget: { of: "ratio", max: 0.8 },
    },
    {
      what: "99 exchanges on a socket beside one that gets no room, p50",
      unit: "ms",
      floor: alone,
      weir: beside,
      note: "floor: without it",
      budget: { of: "ratio", max: 1.1 },
    },
    {
      what: "CPU per realtime frame of 20 ms, both ways",
      unit: "µs",
      weir: spoken,
      budget: { of: "value", max: 15 },
    },
  ]
}

/** Memory of many open exchanges: over connections of their own, and over a hundredth of them. */
export const socketMemory: Scenario = async ({ another, overHttp2 }, { rounds, scale }) => {
  const count = Math.round(5000 * scale)
  const onEach = 100
  const apiece = 50
  const measure = async (variables: Readonly<Record<string, string>>, use: (weir: Weir) => Promise<() => void>) => {
    const weir = await another(variables)
    // The heap's young part is as large as it gets.
    await drive(weir.exchange("frames-200"), { requests: 3000, inFlight: 64 })
    await sleep(2000)
    const before = residentBytes(weir.pid)
    const close = await use(weir)
    // The garbage of the start is collected in this time.
    await sleep(20_000)
    const grown = residentBytes(weir.pid) - before
    close()
    await sleep(1000)
    process.kill(weir.pid, "SIGKILL")
    return grown / 2 ** 20
  }
  const ofConnections = async (weir: Weir) => {
    const opened = openStreams(weir.exchange("paced-200"), count)
    await opened.allOpen
    return () => void opened.close()
  }
  const ofSockets = async (weir: Weir) => {
    const opened = await connect(weir, Math.ceil(count / onEach))
    // At the pace of the others, so that neither leaves more garbage.
    for (let begun = 0; begun < count; begun += apiece) {
      const socket = opened[Math.floor(begun / onEach)]
      for (let one = 0; one < apiece; one++) void socket?.run("paced-200")
      await sleep(120)
    }
    return () => {
      for (const socket of opened) socket.close()
    }
  }
  const row = async (vendor: string, variables: Readonly<Record<string, string>>): Promise<Row> => {
    const floor: Array<number> = []
    const weir: Array<number> = []
    for (let round = 0; round < rounds; round++) {
      floor.push(await measure(variables, ofConnections))
      weir.push(await measure(variables, ofSockets))
    }
    return {
      what: `memory of ${count} exchanges on ${Math.ceil(count / onEach)} sockets, ${vendor}`,
      unit: "MiB",
      floor: median(floor),
      weir: median(weir),
      note: "floor: on connections of their own",
      budget: { of: "ratio", max: 0.6 },
    }
  }
  return [await row("a vendor with HTTP/2", overHttp2), await row("a vendor without", {})]
}
