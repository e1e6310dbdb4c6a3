/** The output that models usually have, as this node has seen it lately: an estimate for rates of tokens. Pure. */

/** Replies of a model that are remembered. */
const remembered = 64
/** Replies of a model before its median says anything. */
const enough = 8

class Outputs {
  readonly #last: Array<number> = []
  #at = 0
  #median: number | undefined

  add(tokens: number): void {
    this.#last[this.#at] = tokens
    this.#at = (this.#at + 1) % remembered
    this.#median = undefined
  }

  get median(): number | undefined {
    if (this.#last.length < enough) return undefined
    this.#median ??= this.#last.toSorted((a, b) => a - b)[Math.floor(this.#last.length / 2)]
    return this.#median
  }
}

export class UsualOutputs {
  readonly #models = new Map<string, Outputs>()

  /** A reply of a model of the catalogue has ended. */
  add(model: string, tokens: number): void {
    const outputs = this.#models.get(model) ?? new Outputs()
    this.#models.set(model, outputs)
    outputs.add(tokens)
  }

  /** Undefined while too few replies were seen. */
  median(model: string): number | undefined {
    return this.#models.get(model)?.median
  }
}
