/** All checks of the kit, grouped by the part of the contract. */
import { edgeChecks } from "./edge.ts"
import { exchangeChecks } from "./exchange.ts"
import { idempotencyChecks } from "./idempotency.ts"
import { kindChecks } from "./kinds.ts"
import { limitChecks } from "./limits.ts"
import { CheckFailed, CheckSkipped, type Deployment, type Group, Probe } from "./probe.ts"
import { sessionChecks } from "./sessions.ts"
import { signatureChecks } from "./signatures.ts"
import { socketChecks } from "./sockets.ts"

export const groups: ReadonlyArray<Group> = [
  edgeChecks,
  sessionChecks,
  exchangeChecks,
  idempotencyChecks,
  limitChecks,
  kindChecks,
  socketChecks,
  signatureChecks,
]

export interface Outcome {
  readonly section: string
  readonly check: string
  readonly result: "passed" | "failed" | "skipped"
  readonly note: string
  readonly millis: number
}

/** Runs every check in sequence against a deployment. @param onOutcome called with each outcome */
export const runChecks = async (
  deployment: Deployment,
  onOutcome: (outcome: Outcome) => void = () => {},
): Promise<ReadonlyArray<Outcome>> => {
  const probe = new Probe(deployment)
  const outcomes: Array<Outcome> = []
  for (const { section, checks } of groups) {
    for (const { name, run } of checks) {
      const startedAt = performance.now()
      const result = await run(probe).then(
        (note) => ({ result: "passed" as const, note: typeof note === "string" ? note : "" }),
        (error: unknown) => judge(error),
      )
      const outcome = { section, check: name, ...result, millis: Math.round(performance.now() - startedAt) }
      outcomes.push(outcome)
      onOutcome(outcome)
    }
  }
  return outcomes
}

const judge = (error: unknown): Pick<Outcome, "result" | "note"> => {
  if (error instanceof CheckSkipped) return { result: "skipped", note: error.message }
  if (error instanceof CheckFailed) return { result: "failed", note: error.message }
  return { result: "failed", note: `the check itself broke: ${String(error)}` }
}
