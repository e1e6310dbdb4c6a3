/** Uploads and replies of 100 MiB: what they take of memory and disk while many pass at once. */
import { Readable } from "node:stream"
import { setTimeout as sleep } from "node:timers/promises"
import { Agent } from "undici"
import { wavHead } from "../../test/support/wav.ts"
import { one, residentBytes } from "./load.ts"
import type { Row, Scenario } from "./scenario.ts"
import type { Weir } from "./subjects.ts"

const mib = 2 ** 20
/** A form may have 100 MiB; its other parts need a little. */
const uploadBytes = 99 * mib
const chunk = Buffer.alloc(256 * 1024, 128)
const boundary = "weir-bench"

const head = (name: string, more = "") => `--${boundary}\r\ncontent-disposition: form-data; name="${name}"${more}\r\n`

async function* form(): AsyncGenerator<Buffer | string> {
  yield `${head("model")}\r\nhear\r\n${head("file", '; filename="a.wav"')}content-type: audio/wav\r\n\r\n`
  yield wavHead(uploadBytes)
  for (let sent = 0; sent < uploadBytes; sent += chunk.length) yield chunk
  yield `\r\n--${boundary}--\r\n`
}

/** @returns the status; 0 if the connection was closed before the upload was sent */
const upload = (agent: Agent, weir: Weir): Promise<number> => {
  const { origin, path, headers } = weir.call("/t1/transcriptions", {})
  const type = { "content-type": `multipart/form-data; boundary=${boundary}` }
  return agent
    .request({ origin, path, method: "POST", headers: { ...headers, ...type }, body: Readable.from(form()) })
    .then(async ({ statusCode, body }) => {
      await body.dump()
      return statusCode
    })
    .catch(() => 0)
}

const speak = (agent: Agent, weir: Weir): Promise<number> =>
  one(agent, weir.call("/t1/speech", { model: "say", input: "a long text", voice: "any" })).then(({ status }) => status)

const draw = (agent: Agent, weir: Weir): Promise<number> =>
  one(agent, weir.call("/t1/images", { model: "draw", prompt: "a weir" })).then(({ status }) => status)

/** Makes calls at once. @returns the memory above before at its highest, and how they were answered */
const watch = async (weir: Weir, count: number, call: (agent: Agent, weir: Weir) => Promise<number>) => {
  const agent = new Agent({ connections: count, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 })
  // The heap is as large as it gets.
  await Promise.all(Array.from({ length: 4 }, () => call(agent, weir)))
  await sleep(2000)
  const before = residentBytes(weir.pid)
  let highest = before
  const watching = setInterval(() => {
    highest = Math.max(highest, residentBytes(weir.pid))
  }, 50)
  const statuses = await Promise.all(Array.from({ length: count }, () => call(agent, weir)))
  clearInterval(watching)
  await agent.destroy()
  const answered = Map.groupBy(statuses, (status) => status)
  const note = [...answered].map(([status, all]) => `${all.length} answered ${status || "by closing"}`).join(", ")
  return { mib: (highest - before) / mib, note }
}

export const media: Scenario = async (subjects, { scale }) => {
  const weir = subjects.weir
  const most = Math.max(1, Math.round(50 * scale))
  const limited = await subjects.another({ SVC_MEDIA_DISK_BYTES: String(2 ** 30) })
  const row = (what: string, { mib, note }: { readonly mib: number; readonly note: string }, max?: number): Row => ({
    what,
    unit: "MiB",
    weir: mib,
    note,
    ...(max !== undefined && { budget: { of: "value" as const, max } }),
  })
  return [
    row("memory of one upload of 100 MiB", await watch(weir, 1, upload), 20),
    row("memory of one reply of 100 MiB", await watch(weir, 1, speak), 20),
    row(`memory of ${most} uploads of 100 MiB at once`, await watch(weir, most, upload), 60),
    row(`memory of ${most} replies of 100 MiB at once`, await watch(weir, most, speak), 60),
    row(`memory of ${most} pictures of 95 MiB in JSON at once`, await watch(weir, most, draw), 60),
    row(
      `memory of ${4 * most} uploads at once, with room for 1 GiB on the disk`,
      await watch(limited, 4 * most, upload),
    ),
  ]
}
