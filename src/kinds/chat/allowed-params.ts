/** The parameters that a model takes of those that are asked for, as its profile in the catalogue says. Pure. */
import type { ModelEntry } from "../../catalogue/snapshot.ts"
import type { ParamsProfile } from "../../protocol/catalogue/model.ts"
import type { WarnEvent } from "../../protocol/event.ts"
import type { ExchangeParams, ReasoningLevel } from "../../protocol/exchange.ts"
import type { ExtraParams } from "../../protocol/extra-params.ts"

/** Used if neither the caller, the profile nor the model limits the output. */
const defaultMaxTokens = 4096

/** The level of reasoning; a budget alone is replaced by the level whose usual budget it is. */
export function levelOf({ reasoning, reasoningBudget }: ExchangeParams): ReasoningLevel | undefined {
  if (reasoning !== undefined || reasoningBudget === undefined) return reasoning
  return budgetLevels.find(([budget]) => reasoningBudget <= budget)?.[1] ?? "max"
}

const budgetLevels: ReadonlyArray<readonly [budget: number, level: ReasoningLevel]> = [
  [0, "off"],
  [1024, "minimal"],
  [4096, "low"],
  [12_288, "medium"],
  [24_576, "high"],
]

export type AllowedParams = Omit<ExchangeParams, keyof ExtraParams | "maxTokens"> & {
  readonly maxTokens: number
  readonly extras?: ExtraParams | undefined
}

const ranged = ["frequencyPenalty", "presencePenalty", "topK", "minP", "logprobs", "n"] as const
const stripped = ["seed", "logitBias", "verbosity", "serviceTier", "prediction", "stopTokens", "vendorOptions"] as const

const clampable = ["maxTokens", "temperature", "topP", "stop", "reasoning", "effort", ...ranged, ...stripped] as const

type Extras = { -readonly [Name in keyof ExtraParams]: ExtraParams[Name] }

const copy = <Name extends keyof ExtraParams>(from: ExtraParams, into: Extras, name: Name): void => {
  const value: ExtraParams[Name] | undefined = from[name]
  if (value !== undefined) into[name] = value
}

/** The optional parameters, within a profile; undefined if there are none. */
export const extrasOf = (asked: ExchangeParams, profile: ParamsProfile): ExtraParams | undefined => {
  const extras: Extras = {}
  for (const name of ranged) {
    const value = clamp(asked[name], profile[name])
    if (value !== undefined) extras[name] = value
  }
  for (const name of stripped) if (profile[name]?.strip !== true) copy(asked, extras, name)
  for (const _ in extras) return extras
  return undefined
}

/** Strips and clamps parameters; changes are reported in one `params_clamped` warning. */
export function applyProfile(
  asked: ExchangeParams,
  { model }: ModelEntry,
): { readonly params: AllowedParams; readonly warnings: ReadonlyArray<WarnEvent> } {
  const profile: ParamsProfile = model.params ?? {}
  const ceiling = Math.min(profile.maxTokens?.max ?? Infinity, model.maxOutput ?? Infinity)
  const maxTokens = Math.min(
    asked.maxTokens ?? profile.maxTokens?.default ?? (Number.isFinite(ceiling) ? ceiling : defaultMaxTokens),
    ceiling,
  )
  const temperature = clamp(asked.temperature, profile.temperature)
  const topP = clamp(asked.topP, profile.topP)
  const stop = profile.stop?.strip === true ? undefined : asked.stop
  const reasoning = profile.reasoning?.strip === true ? undefined : levelOf(asked)
  const effort = profile.reasoning?.strip === true ? undefined : asked.effort
  const extras = extrasOf(asked, profile)
  const allowed = { maxTokens, temperature, topP, stop, reasoning, effort, ...extras }
  const changed = clampable.filter((name) => asked[name] !== undefined && asked[name] !== allowed[name])
  const params = {
    maxTokens,
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { topP }),
    ...(stop !== undefined && { stop }),
    ...(reasoning !== undefined && { reasoning }),
    ...(reasoning !== undefined && asked.reasoningBudget !== undefined && { reasoningBudget: asked.reasoningBudget }),
    ...(effort !== undefined && { effort }),
    ...(asked.reasoningDisplay !== undefined && { reasoningDisplay: asked.reasoningDisplay }),
    ...(asked.parallelToolCalls !== undefined && { parallelToolCalls: asked.parallelToolCalls }),
    ...(asked.output !== undefined && { output: asked.output }),
    ...(asked.toolChoice !== undefined && { toolChoice: asked.toolChoice }),
    ...(extras !== undefined && { extras }),
  }
  if (changed.length === 0) return { params, warnings: [] }
  const message = `The server limits ${changed.join(", ")} for this model`
  return { params, warnings: [{ code: "params_clamped", message, detail: { params: changed } }] }
}

function clamp(value: number | undefined, range: ParamsProfile["temperature"]): number | undefined {
  if (range?.strip === true) return undefined
  const asked = value ?? range?.default
  if (asked === undefined) return undefined
  return Math.min(Math.max(asked, range?.min ?? -Infinity), range?.max ?? Infinity)
}
