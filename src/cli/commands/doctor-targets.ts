/** Findings of `weir doctor` about the targets of a running gateway: those that their vendor refuses, and those that cool down. */
import type { Targets } from "../../protocol/control/activity.ts"

export interface TargetFinding {
  readonly result: "ok" | "warning" | "failed"
  readonly note: string
}

type Target = Targets["data"][number]

/** Remedies for a target that its vendor refuses, by the thing that it lacks. */
const remedies: Readonly<Record<string, string>> = {
  credential: "its key is wrong, revoked or expired; set another one",
  credit: "its account has no credit or no quota left; add some at the vendor",
  permission: "its key may not call this model; allow it at the vendor",
  model: "it has no such model or deployment; correct the name in the catalogue",
  region: "it does not serve this region",
  address: "its address has changed; correct baseUrl in the catalogue",
}

export const targetFindings = ({ data }: Targets): ReadonlyArray<TargetFinding> => {
  const cooling = data.filter(({ state }) => state === "cooling down")
  if (cooling.length === 0)
    return [{ result: "ok", note: `${data.length} ${data.length === 1 ? "target" : "targets"}, none is cooling down` }]
  return cooling.map(findingOf)
}

const findingOf = ({ vendor, model, cause, reason = "", until = "" }: Target): TargetFinding => {
  const name = `${vendor}/${model}`
  if (cause !== "refused")
    return { result: "warning", note: `${name} is cooling down until ${until} (${words[cause ?? "breaker"]})` }
  const why = Object.hasOwn(remedies, reason) ? `: ${remedies[reason]}` : ""
  return { result: "failed", note: `${name} is refused by its vendor (${reason})${why}; it is tried again at ${until}` }
}

const words = { breaker: "its calls fail", vendor: "the vendor asked for it", busy: "the vendor is busy" } as const
