/** The review of one reply: matches of the policies of its caller, with the decisions about them. */
import type { ReviewedPart } from "../../protocol/catalogue/policy.ts"
import { mapJsonValues, withoutEscapes } from "../json-literals.ts"
import type { Marks } from "../masks/marks.ts"
import type { ReviewPolicy } from "../policy.ts"
import type { Denial, PolicyHit, Verdict } from "../review.ts"
import { type Found, foundIn } from "../text/window.ts"
import { type EngineAsking, EngineGate } from "./engine-gate.ts"
import { JsonPlaces } from "./json-places.ts"
import { longerThan, type PartRules, replyRules, rulesWithout } from "./reply-rules.ts"

/** Another text for a part of a text. */
export interface TextEdit {
  readonly start: number
  readonly end: number
  readonly text: string
}

/** The decision about matches: edits up to the first denial. */
export interface Decided {
  readonly edits: ReadonlyArray<TextEdit>
  /** The beginning of a match that is denied. */
  readonly deniedAt: number | undefined
}

export interface ReplyReviewOptions {
  readonly policies: ReadonlyArray<ReviewPolicy>
  /** The marks of the request, which are put back; undefined if it has none. */
  readonly restored: Marks | undefined
  /** The marks of replies, which replace what masks find. */
  readonly marks: () => Marks
  readonly onDenied: (denial: Denial) => void
  /** The text that is reviewed; a reply if absent. */
  readonly at?: PolicyHit["at"]
  /** Runs the rest of a long text in a later turn, so that other streams go on; absent if it is read at once. */
  readonly inTurns?: ((turn: () => void) => void) | undefined
  /** How engines are asked; absent if none is enforced. */
  readonly engines?: ReplyEngines | undefined
}

/** Asks engines about a reply. */
export interface ReplyEngines {
  readonly policies: ReadonlyArray<ReviewPolicy>
  /** The verdict of some of them. Never fails. */
  readonly judge: (policies: ReadonlyArray<ReviewPolicy>, text: string) => Promise<Verdict>
  readonly later: EngineAsking["later"]
}

export class ReplyReview {
  readonly #options: ReplyReviewOptions
  readonly #counts = new Map<ReviewPolicy, number>()
  readonly #engineHits: Array<PolicyHit> = []
  /** Policies without a verdict, because too much text would have to wait. */
  readonly #failed = new Map<string, PolicyHit>()
  #isFinished = false
  denial: Denial | undefined
  /** Called when text of a stream may go on, in a later turn or because engines have answered. */
  onAnswer: () => void = () => {}

  constructor(options: ReplyReviewOptions) {
    this.#options = options
  }

  /** Matches so far, by policy. */
  get hits(): ReadonlyArray<PolicyHit> {
    const { at = "reply" } = this.#options
    const own = [...this.#counts].map(([{ id, action }, count]) => ({ policy: id, at, count, did: didBy[action] }))
    return [...own, ...this.#failed.values(), ...this.#engineHits]
  }

  /** The gate of the engines that are enforced on a part; undefined if there are none. @param from the offset of its text */
  gate(part: ReviewedPart, from: number): EngineGate | undefined {
    const { engines } = this.#options
    const policies = engines?.policies.filter(({ parts }) => parts.has(part)) ?? []
    if (engines === undefined || policies.length === 0) return undefined
    const asking: EngineAsking = {
      later: engines.later,
      answered: () => this.onAnswer(),
      ask: async (text) => {
        const { denial, hits } = await engines.judge(policies, text)
        this.#engineHits.push(...hits)
        if (denial !== undefined) this.#deny(denial)
        return denial === undefined
      },
    }
    return new EngineGate(asking, from)
  }

  get inTurns(): ReplyReviewOptions["inTurns"] {
    return this.#options.inTurns
  }

  /**
   * More text waits for the end of a match than is held: its policies give no verdict, and `onFailure` decides.
   * @returns the rules without them; undefined if the reply is denied
   */
  withoutLong(rules: PartRules, length: number): PartRules | undefined {
    const { at = "reply" } = this.#options
    const long = longerThan(rules, length)
    for (const { id } of long) this.#failed.set(id, { policy: id, at, count: 0, did: "failed" })
    const denying = [...long].find(
      ({ action, onFailure }) => onFailure === "deny" && (action === "deny" || action === "mask"),
    )
    if (denying === undefined) return rulesWithout(rules, long)
    this.#deny({ policy: denying.id, reason: heldTooLong })
    return undefined
  }

  rulesOf(part: ReviewedPart): PartRules {
    const { policies, restored } = this.#options
    return replyRules(policies, part, restored !== undefined)
  }

  /**
   * The decision about matches of one text, in their order.
   * @param maskedTo the end of the last mask before them, or of text that was written
   * @param isRepeated whether the text was there before: its matches have been counted
   * @param places of JSON that comes in pieces
   */
  decide(
    found: ReadonlyArray<Found>,
    { policies, set }: PartRules,
    isJson: boolean,
    maskedTo = 0,
    isRepeated = false,
    places?: JsonPlaces,
  ): Decided {
    const edits: Array<TextEdit> = []
    let end = maskedTo
    for (const match of found) {
      const policy = policies[match.rule]
      const isOver = isJson && reachesOverString(match.text)
      // Names of members stay.
      if (policy?.action === "mask" && !isOver && places?.isInName(match.start) === true) continue
      if (policy !== undefined) this.#count(policy, isRepeated)
      if (policy?.action === "flag" || policy?.action === "shadow") continue
      if (policy?.action === "deny" || (policy?.action === "mask" && isOver)) {
        this.#deny({ policy: policy.id, reason: policy.reason })
        return { edits, deniedAt: Math.max(match.start, maskedTo) }
      }
      if (match.end <= end) continue
      const isBare = places?.isInText(match.start) === false
      // A mark of one digit would leave the others beside a text.
      const whole = isBare && policy !== undefined ? places.words(match.start, match.end) : match
      const start = Math.max(whole.start, end)
      const written = whole.text.slice(start - whole.start)
      const text = isJson ? withoutEscapes(written) : written
      const edit =
        policy === undefined
          ? this.#options.restored?.valueOf(text)
          : this.#options.marks().of(set.rules[match.rule]?.label ?? "MASKED", text)
      if (edit === undefined) continue
      end = whole.start + whole.text.length
      const json = isJson ? JSON.stringify(edit) : edit
      edits.push({ start, end, text: isJson && !isBare ? json.slice(1, -1) : json })
    }
    return { edits, deniedAt: undefined }
  }

  #count(policy: ReviewPolicy, isRepeated: boolean): void {
    const count = this.#counts.get(policy) ?? 0
    if (!isRepeated || count === 0) this.#counts.set(policy, count + 1)
  }

  /** The marks that are put back; undefined if there are none. */
  get restored(): Marks | undefined {
    return this.#options.restored
  }

  /** Whether marks are put back. */
  get restores(): boolean {
    return this.#options.restored !== undefined
  }

  /**
   * A whole text with its edits; undefined if it is denied.
   * @param part `own` is the client's own text, where only marks are put back
   * @param isRepeated whether the text was there before
   */
  whole(text: string, part: ReviewedPart | "own", isJson: boolean, isRepeated = false): string | undefined {
    const { restored, policies } = this.#options
    const rules =
      part === "own"
        ? replyRules(noPolicies, "text", restored !== undefined)
        : replyRules(policies, part, this.restores)
    return this.#edited(text, rules, isJson, isRepeated)
  }

  /**
   * A whole text with its masks; only marks are put back if it is the client's own. The same text is counted once.
   * @param restores whether the marks of the request are put back too
   */
  masked(text: string, part: ReviewedPart | "own", isJson: boolean, restores: boolean): string {
    const { policies, restored } = this.#options
    const puts = restores && restored !== undefined
    const masks = part === "own" ? noPolicies : masksOf(policies)
    const rules = replyRules(masks, part === "own" ? "text" : part, puts)
    const isRepeated = this.#isFinished
    return this.#edited(text, rules, isJson, isRepeated) ?? ""
  }

  /** Valid JSON in a string with its masks, which are in values alone: names of members stay. */
  maskedJson(json: string, part: ReviewedPart): string {
    const { policies, marks } = this.#options
    const { set, policies: owners } = replyRules(masksOf(policies), part, false)
    const over = foundIn(set, [json], true).filter(({ text }) => reachesOverString(text))
    let next = 0
    let reached: Found | undefined
    return mapJsonValues(json, (text, { start, end }) => {
      for (let match = over[next]; match !== undefined && match.start < end; match = over[++next]) {
        if (reached === undefined || match.end > reached.end) reached = match
      }
      if (reached === undefined || reached.end <= start) return this.masked(text, part, false, false)
      const owner = owners[reached.rule]
      if (owner !== undefined) this.#count(owner, false)
      return marks().of(set.rules[reached.rule]?.label ?? "MASKED", text)
    })
  }

  /** Denies the reply because of another text. */
  refuse(denial: Denial): void {
    this.denial ??= denial
  }

  /** The reply has been made once: when it is made again, its matches have been counted. */
  finished(): void {
    this.#isFinished = true
  }

  #edited(text: string, rules: PartRules, isJson: boolean, isRepeated = false): string | undefined {
    if (rules.policies.length === 0) return text
    const found = foundIn(rules.set, [text], isJson)
    if (found.length === 0) return text
    const places = isJson ? new JsonPlaces(text) : undefined
    const { edits, deniedAt } = this.decide(found, rules, isJson, 0, isRepeated, places)
    return deniedAt === undefined ? withEdits(text, 0, edits) : undefined
  }

  #deny(denial: Denial): void {
    if (this.denial !== undefined) return
    this.denial = denial
    this.#options.onDenied(denial)
  }
}

/** The reason if more text of a stream waits for the end of a match than is held. */
export const heldTooLong = "held_text_too_long"

const didBy = { deny: "denied", mask: "masked", flag: "flagged", shadow: "shadow" } as const

const masksOf = (policies: ReadonlyArray<ReviewPolicy>): ReadonlyArray<ReviewPolicy> => {
  const known = masks.get(policies) ?? policies.filter(({ action }) => action === "mask")
  masks.set(policies, known)
  return known
}

const masks = new WeakMap<ReadonlyArray<ReviewPolicy>, ReadonlyArray<ReviewPolicy>>()

const noPolicies: ReadonlyArray<ReviewPolicy> = []

/** Whether a match in JSON goes on after the end of its string: no mark could replace it. */
const reachesOverString = (text: string): boolean => /(^|[^\\])(\\\\)*"/.test(text)

/**
 * A text with its edits.
 * @param at the offset at which it begins
 * @param first the first edit that may be in it
 */
export const withEdits = (text: string, at: number, edits: ReadonlyArray<TextEdit>, first = 0): string => {
  let result = ""
  let from = at
  const to = at + text.length
  for (let next = first; next < edits.length; next++) {
    const edit = edits[next]
    if (edit === undefined || edit.end <= from) continue
    if (edit.start >= to) break
    if (edit.start >= from) result += text.slice(from - at, edit.start - at) + edit.text
    from = Math.min(edit.end, to)
  }
  return result + text.slice(from - at)
}
