/** What the ledger costs: PostgreSQL's CPU and commits, and the time that holds add with a near and a distant database. */
import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"
import { drive, median, percentile } from "./load.ts"
import type { Row, Scenario } from "./scenarios.ts"
import { type Database, watchDatabase } from "./stores.ts"
import type { Subjects, Weir } from "./subjects.ts"

/** One way; there and back a query takes twice as long. */
const distanceMs = 2.5

export const ledger: Scenario = async (subjects, { rounds, scale }) => {
  const url = process.env["SVC_TEST_DATABASE_URL"]
  if (url === undefined) return []
  const database = watchDatabase(url)
  try {
    return [
      ...(await cost(subjects.weir, database, { requests: 4000 * scale, rounds })),
      ...(await distance(subjects, database, url, { requests: 640 * scale, rounds })),
    ]
  } finally {
    await database.close()
  }
}

interface Effort {
  readonly requests: number
  readonly rounds: number
}

const cost = async (weir: Weir, database: Database, { requests, rounds }: Effort): Promise<ReadonlyArray<Row>> => {
  const us: Array<number> = []
  const commits: Array<number> = []
  for (let round = 0; round < rounds; round++) {
    const before = { cpu: await database.cpu(), commits: await database.commits() }
    await drive(weir.exchange("short"), { requests, inFlight: 32 })
    us.push((((await database.cpu()) - before.cpu) * 1e6) / requests)
    commits.push(((await database.commits()) - before.commits) / requests)
  }
  return [
    {
      what: "CPU of PostgreSQL per JSON exchange, 32 in flight",
      unit: "µs",
      weir: median(us),
      spread: Math.max(...us) - Math.min(...us),
      budget: { of: "value", max: 100 },
    },
    {
      what: "commits per JSON exchange, 32 in flight",
      unit: "",
      weir: median(commits),
      spread: Math.max(...commits) - Math.min(...commits),
      budget: { of: "value", max: 1 },
    },
  ]
}

/** The same load through one gateway near the database, one far from it, and four far from it. */
const distance = async (
  { direct, another }: Subjects,
  database: Database,
  url: string,
  { requests, rounds }: Effort,
): Promise<ReadonlyArray<Row>> => {
  const line = spawn(process.execPath, [
    fileURLToPath(new URL("./distant.ts", import.meta.url)),
    new URL(url).hostname,
    new URL(url).port || "5432",
    String(distanceMs),
  ])
  try {
    const port = await new Promise<string>((resolve) =>
      line.stdout.once("data", (chunk) => resolve(String(chunk).trim())),
    )
    const distant = new URL(url)
    distant.host = `127.0.0.1:${port}`
    const far: Array<Weir> = []
    for (let at = 0; at < 4; at++) far.push(await another({ SVC_DATABASE_URL: distant.href }))
    const near = await another({})
    // All are warm alike.
    for (const each of [near, ...far]) {
      await drive(each.exchange("short"), { requests: 1500, inFlight: 32 })
      await drive(each.exchange("paced-20"), { requests: 128, inFlight: 32 })
    }

    const groups: ReadonlyArray<readonly [name: string, gateways: ReadonlyArray<typeof direct>]> = [
      ["direct", [direct]],
      ["near", [near]],
      ["far", far.slice(0, 1)],
      ["four far", far],
    ]
    const times = new Map<string, Array<number>>()
    let waits = { locks: 0, samples: 0 }
    for (let round = 0; round < rounds; round++) {
      for (const [name, gateways] of groups) {
        // Allotments that were idle have gone back.
        for (const each of gateways) await drive(each.exchange("paced-20"), { requests: 64, inFlight: 32 })
        const sampling = name === "four far" ? database.sampleLocks() : undefined
        const runs = await Promise.all(
          gateways.map((each) =>
            drive(each.exchange("paced-20"), {
              requests: requests / gateways.length,
              inFlight: 64 / gateways.length,
              spreadMs: 400,
            }),
          ),
        )
        const sampled = await sampling?.stop()
        if (sampled !== undefined) {
          waits = { locks: waits.locks + sampled.locks, samples: waits.samples + sampled.samples }
        }
        times.set(name, [...(times.get(name) ?? []), ...runs.flatMap(({ firstByteMs }) => firstByteMs)])
      }
    }
    const at = (name: string, share: number) =>
      percentile(
        [...(times.get(name) ?? [])].sort((a, b) => a - b),
        share,
      )
    const row = (name: string, what: string, share: number, max?: number): Row => ({
      what: `added time to first frame, 64 in flight, database ${what}, p${share * 100}`,
      unit: "ms",
      weir: at(name, share) - at("direct", share),
      floor: at("near", share) - at("direct", share),
      note: "floor: a near database",
      ...(max !== undefined && { budget: { of: "value", max } as const }),
    })
    return [
      row("far", `${distanceMs * 2} ms away`, 0.5, 3),
      row("far", `${distanceMs * 2} ms away`, 0.99, 15),
      row("four far", `${distanceMs * 2} ms away, four gateways of one organisation`, 0.5),
      {
        what: "waits on row locks, four gateways of one organisation",
        unit: "% of samples",
        weir: (100 * waits.locks) / Math.max(1, waits.samples),
        note: `${waits.samples} samples of busy sessions`,
        budget: { of: "value", max: 1 },
      },
    ]
  } finally {
    line.kill()
  }
}
