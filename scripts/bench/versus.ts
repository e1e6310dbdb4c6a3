/** The same load against any gateway that speaks chat completions: its CPU and latency. */
import { drive, type Endpoint, percentile } from "./load.ts"
import { longChat } from "./long-requests.ts"
import type { Effort } from "./scenario.ts"

/** @param url e.g. `http://127.0.0.1:4000/v1` */
export const driveOther = async (url: string, { scale }: Effort): Promise<void> => {
  const { origin, pathname } = new URL(url)
  const key = process.env["BENCH_VS_KEY"]
  const model = process.env["BENCH_VS_MODEL"] ?? "main"
  const endpoint = (body: object): Endpoint => ({
    origin,
    path: `${pathname.replace(/\/$/, "")}/chat/completions`,
    headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
    body: JSON.stringify(body),
  })
  const short = { model, messages: [{ role: "user", content: "Hello, river" }] }
  console.log(`${url}\n| what | a second | first byte p50 | p99 | whole p50 | p99 |\n|---|---|---|---|---|---|`)
  for (const [what, body, requests, inFlight] of [
    ["JSON", short, 4000, 32],
    ["JSON", short, 400, 1],
    ["JSON, request of 184 KB", longChat(model), 400, 8],
    ["stream", { ...short, stream: true }, 500, 16],
  ] as const) {
    await drive(endpoint(body), { requests: Math.ceil(requests * scale * 0.1), inFlight })
    const run = await drive(endpoint(body), { requests: Math.ceil(requests * scale), inFlight })
    const ms = (sorted: ReadonlyArray<number>, share: number) => `${percentile(sorted, share).toFixed(1)} ms`
    const { firstByteMs: first, wholeMs: whole } = run
    const cells = [ms(first, 0.5), ms(first, 0.99), ms(whole, 0.5), ms(whole, 0.99)]
    console.log(
      `| ${what}, ${inFlight} in flight | ${(run.requests / run.seconds).toFixed(0)} | ${cells.join(" | ")} |`,
    )
  }
}
