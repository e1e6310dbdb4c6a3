/** The limits in which a call is counted: its tokens are an estimate until it has ended, and so long it is one of the calls at a time. */
import { Effect } from "effect"
import type { Counted, Gate, Limited, TokensUsed } from "../admission/gate.ts"
import { callerLimits, noDemand } from "../admission/rates/caller-limits.ts"
import { noTokens } from "../admission/rates/ended.ts"
import type { CatalogueSnapshot, ModelEntry } from "../catalogue/snapshot.ts"
import type { RateRoom } from "../dialects/client/limit-headers.ts"
import type { Caller } from "../identity/caller.ts"
import { allTokens, type Counts } from "../money/pricing.ts"
import type { CallRequest, Kind } from "./kind.ts"
import type { UsualOutputs } from "./tokens/usual-outputs.ts"

const none: ReadonlyArray<never> = []
const units = ["requests", "tokens"] as const

export class CountedLimits {
  #limited: Limited | undefined
  #counted: Counted | undefined
  #used: TokensUsed = noTokens

  admitted(limited: Limited, counted: Counted | undefined): void {
    this.#limited = limited
    this.#counted = counted
  }

  /** The room of the tightest rate of each unit. */
  get rooms(): ReadonlyArray<RateRoom> {
    const { rates } = this.#limited ?? { rates: [] }
    const counted = this.#counted?.rates
    if (counted === undefined || rates.length === 0) return none
    const rooms = rates.map(({ unit = "requests", limit, windowMs }, at) => {
      const remaining = Math.max(0, counted[at]?.room ?? 0)
      return { unit, limit, remaining, resetMs: remaining === limit ? 0 : windowMs }
    })
    return units.flatMap((unit) => {
      const [first, ...others] = rooms.filter((room) => room.unit === unit)
      const tighter = (a: RateRoom, b: RateRoom) => (b.remaining < a.remaining ? b : a)
      return first === undefined ? [] : [others.reduce(tighter, first)]
    })
  }

  /** The tokens of the bill; none if nothing is billed. */
  used(counts: Counts): void {
    if (this.#counted !== undefined) this.#used = tokensOf(counts)
  }

  end(gate: Gate["Service"]): Effect.Effect<void> {
    return Effect.suspend(() =>
      this.#limited === undefined || this.#counted === undefined
        ? Effect.void
        : gate.ended(this.#limited, this.#counted, this.#used),
    )
  }
}

export const tokensOf = (counts: Counts): TokensUsed => {
  const all = allTokens(counts)
  return { all, uncached: all - counts.cacheReadTokens }
}

/** Used where neither the call nor the model limits the output. */
const defaultOutput = 4096

/** The limits of a request, with an estimate of its tokens. */
export const limitsOfRequest = <Request extends CallRequest>(
  caller: Caller,
  kind: Pick<Kind<Request, never>, "modelOf" | "tokensAsked">,
  request: Request | undefined,
  catalogue: CatalogueSnapshot,
  usualOutputs: UsualOutputs,
): Limited => {
  // Its vendor has answered it, and bills it: it is no call that could wait for a rate.
  if (caller.batch?.given !== undefined) return { owner: caller.org.id, rates: none }
  // Nothing is estimated where nothing is limited.
  if (request === undefined || caller.limits === undefined) return callerLimits(caller, noDemand)
  const handle = kind.modelOf(request)
  const model = handle === undefined ? undefined : catalogue.model(handle)?.model
  const { prompt, output } = kind.tokensAsked?.(request) ?? { prompt: 0, output: 0 }
  const tokens = Math.max(1, prompt + expectedOutput(model, output, usualOutputs))
  return callerLimits(caller, { model, tokens, runs: true })
}

/** The least of the output limit and the usual output. */
const expectedOutput = (
  model: ModelEntry["model"] | undefined,
  asked: number | undefined,
  usualOutputs: UsualOutputs,
): number => {
  const most = asked ?? model?.maxOutput ?? defaultOutput
  if (model === undefined) return most
  const median = usualOutputs.median(model.handle)
  return Math.min(most, model.usualOutput ?? (median === undefined ? most : 2 * median))
}
