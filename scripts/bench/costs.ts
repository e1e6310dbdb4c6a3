/** The costs of requests, by subject. */
import { cpuSeconds, drive, type Endpoint, median } from "./load.ts"
import type { Subject } from "./subjects.ts"

export interface Cost {
  readonly us: number
  readonly rounds: ReadonlyArray<number>
  readonly spread: number
  readonly perSecond: number
}

/**
 * CPU microseconds a request of each subject, in turns, so that other load on the machine affects all of them. The first
 * round does not count: V8 compiles what it has not run before.
 */
export const costs = async (
  subjects: ReadonlyArray<{ readonly subject: Subject; readonly endpoint: Endpoint | (() => Endpoint) }>,
  requests: number,
  inFlight: number,
  rounds: number,
): Promise<ReadonlyArray<Cost>> => {
  const us = subjects.map((): Array<number> => [])
  const perSecond = subjects.map((): Array<number> => [])
  for (const { endpoint } of subjects) await drive(endpoint, { requests, inFlight })
  for (let round = 0; round < rounds; round++) {
    // The later work of a call is paid by the next subject: the order changes with each round.
    const order = [...subjects.entries()]
    for (const [at, { subject, endpoint }] of round % 2 === 0 ? order : order.reverse()) {
      const before = cpuSeconds(subject.pid)
      const run = await drive(endpoint, { requests, inFlight })
      us[at]?.push(((cpuSeconds(subject.pid) - before) * 1e6) / requests)
      perSecond[at]?.push(requests / run.seconds)
    }
  }
  return us.map((each, at) => ({
    us: median(each),
    rounds: each,
    spread: Math.max(...each) - Math.min(...each),
    perSecond: median(perSecond[at] ?? []),
  }))
}

/** The cost of one as a multiple of the other: the median by round, because the machine changes between rounds. */
export const ratioByRound = (of: Cost, to: Cost): number =>
  median(of.rounds.map((us, round) => us / (to.rounds[round] ?? us)))

export const nothing: Cost = { us: 0, rounds: [], spread: 0, perSecond: 0 }
