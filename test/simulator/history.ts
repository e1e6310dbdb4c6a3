/** The events of a simulated run: made from a seed, so that the seed repeats it, and small enough to be read. */

import { randomOf } from "../support/random.ts"

/** Months of a simulated year. */
export const months = 12

/** Happens at a time, in milliseconds of the run. */
export type Step = { readonly atMs: number } & (
  | {
      readonly do: "exchange"
      readonly at: number
      readonly org: number
      /** The caller's request id, if it has one; some are used again. */
      readonly key: number | undefined
      readonly hold: number
      /** At most what is held. */
      readonly cost: number
      readonly lastsMs: number
      readonly ends: "settled" | "released"
      /** The course of the job that it begins, if it begins one. */
      readonly job: { readonly lastsMs: number; readonly isDone: boolean } | undefined
    }
  /** A realtime session: a hold is ready before each response, which is settled by itself. */
  | {
      readonly do: "session"
      readonly at: number
      readonly org: number
      readonly hold: number
      readonly responses: ReadonlyArray<Response>
    }
  /** A batch: its sum is held and moved to it, and each of its requests is settled from there. */
  | {
      readonly do: "batch"
      readonly at: number
      readonly org: number
      /** The hold of each request. */
      readonly hold: number
      readonly requests: ReadonlyArray<BatchRequest>
    }
  /** A node is killed, and another takes its place. */
  | { readonly do: "crash"; readonly at: number; readonly forMs: number }
  /** Between a node and the store: requests are lost, replies are lost, or both are late. */
  | {
      readonly do: "line"
      readonly at: number
      readonly forMs: number
      readonly how: "requests lost" | "replies lost" | "late"
    }
  | { readonly do: "empty registry" }
  | { readonly do: "top up"; readonly org: number; readonly amount: number }
  | { readonly do: "limit"; readonly org: number; readonly tokens: number | undefined }
  /** The store's clock jumps. */
  | { readonly do: "clock"; readonly byMs: number }
  /** Every node is stopped, and started again when a month ends so soon. */
  | { readonly do: "next month"; readonly endsInMs: number }
  /** Months that are over are closed, and expired data is removed. */
  | { readonly do: "close" }
)

export interface BatchRequest {
  /** The node that makes it. */
  readonly at: number
  readonly lastsMs: number
  readonly cost: number
  /** Whether another node makes it once more, because it takes this one for dead. */
  readonly isRepeated: boolean
}

export interface Response {
  /** Before it begins, with a hold that is ready. */
  readonly silentMs: number
  readonly lastsMs: number
  readonly cost: number
  readonly ends: "settled" | "released"
}

export interface History {
  readonly nodes: number
  readonly orgs: number
  readonly steps: ReadonlyArray<Step>
  /** The time of the calendar at which a year begins. */
  readonly startsAtMs?: number
}

type Size = Pick<History, "nodes" | "orgs">

/** A run of some exchanges, with about one fault for five of them. */
export const makeHistory = (seed: number, exchanges: number): History => {
  const random = randomOf(seed)
  const upTo = (max: number) => Math.floor(random() * max)
  const nodes = 1 + upTo(4)
  const orgs = 1 + upTo(2)
  const steps: Array<Step> = []
  for (let org = 0; org < orgs; org++) steps.push({ atMs: 0, do: "top up", org, amount: 20 + upTo(exchanges * 4) })
  const untilMs = burst(steps, 1, exchanges, random, { nodes, orgs })
  // Sessions have a generator of their own, so that a seed has the same exchanges as before there were sessions.
  const ofSessions = randomOf(seed ^ 0x5e55)
  for (let count = 0; count < exchanges / 10; count++) steps.push(session(ofSessions, 0, untilMs, { nodes, orgs }))
  const ofBatches = randomOf(seed ^ 0xba7c)
  for (let count = 0; count < exchanges / 20; count++) steps.push(batch(ofBatches, 0, untilMs, { nodes, orgs }))
  return { nodes, orgs, steps: inOrder(steps) }
}

/**
 * A year of such runs, each at the end of a month: the next begins while exchanges are on their way, and the one that is over is closed.
 * Some request ids are used again months later.
 */
export const makeYear = (seed: number, exchanges: number): History => {
  const random = randomOf(seed)
  const upTo = (max: number) => Math.floor(random() * max)
  const size = { nodes: 1 + upTo(4), orgs: 1 + upTo(2) }
  const steps: Array<Step> = []
  let atMs = 0
  for (let month = 0; month < months; month++) {
    const fromMs = atMs + 1
    steps.push({ atMs: fromMs, do: "next month", endsInMs: upTo(exchanges * 400) })
    for (let org = 0; org < size.orgs; org++) {
      steps.push({ atMs: fromMs, do: "top up", org, amount: 20 + upTo(exchanges * 4) })
    }
    const part: Array<Step> = []
    atMs = burst(part, fromMs, exchanges, random, size)
    for (let count = 0; count < exchanges / 10; count++) part.push(session(random, fromMs, atMs - fromMs, size))
    for (let count = 0; count < exchanges / 20; count++) part.push(batch(random, fromMs, atMs - fromMs, size))
    for (const step of part) {
      if (step.do !== "exchange" || step.key === undefined) steps.push(step)
      else {
        const monthOfKey = random() < 0.1 ? month - upTo(Math.min(month, 4) + 1) : month
        steps.push({ ...step, key: step.key + monthOfKey * exchanges })
      }
    }
    // Again and again: as long as an exchange of the month is open, it stays open.
    for (let count = 0; count < 4; count++) steps.push({ atMs: fromMs + upTo(atMs - fromMs), do: "close" })
  }
  return { ...size, steps: inOrder(steps), startsAtMs: Date.UTC(2030, 0, 1) }
}

const inOrder = (steps: ReadonlyArray<Step>): ReadonlyArray<Step> => [...steps].sort((a, b) => a.atMs - b.atMs)

/** @returns when it ends */
const burst = (
  steps: Array<Step>,
  fromMs: number,
  exchanges: number,
  random: () => number,
  { nodes, orgs }: Size,
): number => {
  const upTo = (max: number) => Math.floor(random() * max)
  let atMs = fromMs
  for (let count = 0; count < exchanges; count++) {
    // Bursts and pauses: allotments are short now, and idle then.
    atMs += random() < 0.1 ? upTo(8000) : upTo(120)
    const hold = 1 + upTo(12)
    steps.push({
      atMs,
      do: "exchange",
      at: upTo(nodes),
      org: upTo(orgs),
      key: random() < 0.5 ? upTo(exchanges) : undefined,
      hold,
      cost: upTo(hold + 1),
      lastsMs: random() < 0.3 ? upTo(12_000) : upTo(300),
      ends: random() < 0.85 ? "settled" : "released",
      job: random() < 0.15 ? { lastsMs: upTo(20_000), isDone: random() < 0.6 } : undefined,
    })
    if (random() < 0.2) steps.push(fault(atMs + upTo(200), upTo, { nodes, orgs }))
  }
  return atMs
}

const session = (random: () => number, fromMs: number, forMs: number, { nodes, orgs }: Size): Step => {
  const upTo = (max: number) => Math.floor(random() * max)
  const hold = 1 + upTo(12)
  const responses = Array.from(
    { length: 1 + upTo(5) },
    (): Response => ({
      silentMs: random() < 0.3 ? upTo(9000) : upTo(300),
      lastsMs: random() < 0.3 ? upTo(6000) : upTo(300),
      cost: upTo(hold + 1),
      ends: random() < 0.85 ? "settled" : "released",
    }),
  )
  return { atMs: fromMs + upTo(forMs), do: "session", at: upTo(nodes), org: upTo(orgs), hold, responses }
}

const batch = (random: () => number, fromMs: number, forMs: number, { nodes, orgs }: Size): Step => {
  const upTo = (max: number) => Math.floor(random() * max)
  const hold = 1 + upTo(6)
  const requests = Array.from(
    { length: 1 + upTo(8) },
    (): BatchRequest => ({
      at: upTo(nodes),
      lastsMs: random() < 0.3 ? upTo(6000) : upTo(300),
      cost: upTo(hold + 1),
      isRepeated: random() < 0.2,
    }),
  )
  return { atMs: fromMs + upTo(forMs), do: "batch", at: upTo(nodes), org: upTo(orgs), hold, requests }
}

const lines = ["requests lost", "replies lost", "late"] as const

const fault = (atMs: number, upTo: (max: number) => number, { nodes, orgs }: Size): Step => {
  switch (upTo(8)) {
    case 0:
    case 1:
      return { atMs, do: "crash", at: upTo(nodes), forMs: upTo(15_000) }
    case 2:
    case 3:
    case 4:
      return { atMs, do: "line", at: upTo(nodes), forMs: upTo(6000), how: lines[upTo(3)] ?? "late" }
    case 5:
      return { atMs, do: "empty registry" }
    case 6:
      return { atMs, do: "limit", org: upTo(orgs), tokens: upTo(3) === 0 ? undefined : upTo(200) }
    default:
      return { atMs, do: "clock", byMs: upTo(4000) - 2000 }
  }
}

/** The smallest history of a failure that leaving steps out leads to. */
export const shrink = async (history: History, fails: (candidate: History) => Promise<boolean>): Promise<History> => {
  let best = history
  let before = Number.POSITIVE_INFINITY
  // Leaving one step out may make others needless.
  while (best.steps.length < before) {
    before = best.steps.length
    best = await shrinkOnce(best, fails)
  }
  return best
}

const shrinkOnce = async (history: History, fails: (candidate: History) => Promise<boolean>): Promise<History> => {
  let best = history
  for (let size = Math.ceil(best.steps.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < best.steps.length; ) {
      const candidate = { ...best, steps: best.steps.filter((_, at) => at < from || at >= from + size) }
      if (await fails(candidate)) best = candidate
      else from += size
    }
  }
  return best
}
