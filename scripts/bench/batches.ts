/** A batch beside live traffic: calls must not wait for it. */
import { Schema } from "effect"
import { drive, percentileOfRounds } from "./load.ts"
import type { Row, Scenario } from "./scenario.ts"
import type { Weir } from "./subjects.ts"

const decodeId = Schema.decodeUnknownSync(Schema.Struct({ id: Schema.String }))
const decodeBatch = Schema.decodeUnknownSync(
  Schema.Struct({ status: Schema.String, request_counts: Schema.Struct({ completed: Schema.Int }) }),
)

const clientOf = (weir: Weir) => {
  const { origin, headers } = weir.call("/openai/v1/batches", {})
  const ask = async (path: string, init: RequestInit = {}): Promise<unknown> => {
    const reply = await fetch(`${origin}/openai/v1${path}`, { ...init, headers: { ...headers, ...init.headers } })
    if (!reply.ok) throw new Error(`${path} answered ${reply.status}: ${await reply.text()}`)
    return reply.json()
  }
  return {
    /** @returns the batch's id */
    begin: async (requests: number): Promise<string> => {
      const lines = Array.from({ length: requests }, (_, at) =>
        JSON.stringify({
          custom_id: String(at),
          method: "POST",
          url: "/v1/chat/completions",
          body: { model: "short", max_tokens: 50, messages: [{ role: "user", content: "Hello, river" }] },
        }),
      )
      const form = new FormData()
      form.set("purpose", "batch")
      form.set("file", new Blob([lines.join("\n")]), "lines.jsonl")
      const { id: input_file_id } = decodeId(await ask("/files", { method: "POST", body: form }))
      const body = JSON.stringify({ input_file_id, endpoint: "/v1/chat/completions", completion_window: "24h" })
      return decodeId(await ask("/batches", { method: "POST", body, headers: { "content-type": "application/json" } }))
        .id
    },
    answered: async (id: string): Promise<number> => decodeBatch(await ask(`/batches/${id}`)).request_counts.completed,
    cancel: (id: string) => ask(`/batches/${id}/cancel`, { method: "POST" }),
  }
}

export const batches: Scenario = async ({ weir }, { rounds, scale }) => {
  const { begin, answered, cancel } = clientOf(weir)
  const load = { requests: 320 * scale, inFlight: 32, spreadMs: 400 }
  const live = async () => (await drive(weir.exchange("paced-20"), load)).firstByteMs
  const alone: Array<ReadonlyArray<number>> = []
  const beside: Array<ReadonlyArray<number>> = []
  let [count, seconds] = [0, 0]
  await live()
  for (let round = 0; round < rounds; round++) {
    alone.push(await live())
    const id = await begin(20_000 * scale)
    const [before, startedAt] = [await answered(id), performance.now()]
    beside.push(await live())
    seconds += (performance.now() - startedAt) / 1000
    count += (await answered(id)) - before
    await cancel(id)
  }
  const row = (name: string, share: number, max: number): Row => ({
    what: `time to first frame beside a batch, 32 in flight, ${name}`,
    unit: "ms",
    floor: percentileOfRounds(alone, share),
    weir: percentileOfRounds(beside, share),
    note: `floor: without one; ${(count / seconds).toFixed(0)} of its requests a second`,
    budget: { of: "ratio", max },
  })
  return [row("p50", 0.5, 1.1), row("p99", 0.99, 1.1)]
}
