/** The cost of the ledger: PostgreSQL's CPU and commits, and the time that holds add with a near and a distant database. */
import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"
import { drive, median, percentileOfRounds } from "./load.ts"
import type { Row, Scenario } from "./scenario.ts"
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
      ...(await cost(subjects, database, { requests: 4000 * scale, rounds })),
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

/** The cost in PostgreSQL of the hand-written floor and of Weir, in turns. */
const cost = async (
  subjects: Subjects,
  database: Database,
  { requests, rounds }: Effort,
): Promise<ReadonlyArray<Row>> => {
  const byHand = await subjects.startByHand()
  const efforts = new Map([byHand, subjects.weir].map((subject) => [subject, { us: [], commits: [] } as Taken]))
  const load = { requests, inFlight: 32 }
  for (const subject of efforts.keys()) await drive(subject.exchange("short"), load)
  for (let round = 0; round < rounds; round++) {
    for (const [subject, { us, commits }] of efforts) {
      const before = { cpu: await database.cpu(), commits: await database.commits() }
      await drive(subject.exchange("short"), load)
      us.push((((await database.cpu()) - before.cpu) * 1e6) / requests)
      commits.push(((await database.commits()) - before.commits) / requests)
    }
  }
  const [hand, weir] = [...efforts.values()]
  const row = (what: string, unit: string, of: keyof Taken): Omit<Row, "budget"> => ({
    what: `${what} per JSON exchange, 32 in flight`,
    unit,
    floor: median(hand?.[of] ?? []),
    weir: median(weir?.[of] ?? []),
    spread: Math.max(...(weir?.[of] ?? [])) - Math.min(...(weir?.[of] ?? [])),
    note: "floor: by hand",
  })
  return [
    // 100 µs where by hand's takes 22.
    { ...row("CPU of PostgreSQL", "µs", "us"), budget: { of: "ratio", max: 4.5 } },
    { ...row("commits", "", "commits"), budget: { of: "value", max: 1 } },
  ]
}

interface Taken {
  readonly us: Array<number>
  readonly commits: Array<number>
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
      await drive(each.exchange("paced-20"), { requests, inFlight: 64, spreadMs: 400 })
    }

    interface Group {
      readonly gateways: ReadonlyArray<typeof direct>
      readonly inFlight: number
      readonly samplesLocks?: boolean
    }
    const groups = {
      direct: { gateways: [direct], inFlight: 64 },
      near: { gateways: [near], inFlight: 64 },
      far: { gateways: far.slice(0, 1), inFlight: 64 },
      busy: { gateways: far, inFlight: 64, samplesLocks: true },
      // All gateways share a core: with 64 in flight, four of them would measure its queue.
      calm: { gateways: far.slice(0, 1), inFlight: 16 },
      calmFour: { gateways: far, inFlight: 16 },
    } satisfies Record<string, Group>
    const times = new Map<string, Array<ReadonlyArray<number>>>()
    let waits = { locks: 0, samples: 0 }
    for (let round = 0; round < rounds; round++) {
      for (const [name, { gateways, inFlight, samplesLocks }] of Object.entries<Group>(groups)) {
        const share = inFlight / gateways.length
        const load = { requests: (requests * share) / 64, inFlight: share, spreadMs: 400 }
        const runAll = () => Promise.all(gateways.map((each) => drive(each.exchange("paced-20"), load)))
        // While the others were measured, allotments have gone back.
        await runAll()
        const sampling = samplesLocks === true ? database.sampleLocks() : undefined
        const runs = await runAll()
        const sampled = await sampling?.stop()
        if (sampled !== undefined) {
          waits = { locks: waits.locks + sampled.locks, samples: waits.samples + sampled.samples }
        }
        const firstByteMs = runs.flatMap((run) => run.firstByteMs).sort((a, b) => a - b)
        times.set(name, [...(times.get(name) ?? []), firstByteMs])
      }
    }
    const at = (name: keyof typeof groups, share: number) => percentileOfRounds(times.get(name) ?? [], share)
    const added = (name: keyof typeof groups, share: number) => at(name, share) - at("direct", share)
    const row = (share: number, max: number): Row => ({
      what: `added time to first frame, 64 in flight, database ${distanceMs * 2} ms away, p${share * 100}`,
      unit: "ms",
      weir: added("far", share),
      floor: added("near", share),
      note: "floor: a near database",
      budget: { of: "value", max },
    })
    return [
      row(0.5, 3),
      row(0.99, 15),
      {
        what: `added time to first frame, 16 in flight, database ${distanceMs * 2} ms away, four gateways of one organisation, p50`,
        unit: "ms",
        weir: added("calmFour", 0.5),
        floor: added("calm", 0.5),
        note: "floor: one gateway",
        budget: { of: "ratio", max: 1.2 },
      },
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
