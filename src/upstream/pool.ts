/** The order in which the targets of a model are tried: by tier, and within a tier at random by weight. Pure. */
import { createHash } from "node:crypto"

export interface Pooled {
  /** Identifies the target. */
  readonly key: string
  /** Lower tiers come first. */
  readonly tier: number
  /** Share within the tier; a target of weight 0 is not used. */
  readonly weight: number
}

/**
 * Chooses an order. A conversation stays with its target, whose prefix cache has its prompt: the same `affinity` gives
 * the same order, and a change of the pool moves as few conversations as possible (weighted rendezvous hashing).
 *
 * @param affinity identifies a conversation; if absent, the order is random
 */
export const orderTargets = <T extends Pooled>(
  targets: ReadonlyArray<T>,
  affinity: string | undefined,
  random: () => number = Math.random,
): ReadonlyArray<T> => {
  const inRotation = targets.filter(({ weight }) => weight > 0)
  if (inRotation.length < 2) return inRotation
  const drawn = inRotation.map((target) => {
    const draw = affinity === undefined ? random() : drawOf(affinity, target.key)
    return { target, score: -Math.log(1 - draw) / target.weight }
  })
  return drawn.sort((a, b) => a.target.tier - b.target.tier || a.score - b.score).map(({ target }) => target)
}

/** A number from 0 to 1, exclusive, that is fixed for a conversation and a target. */
const drawOf = (affinity: string, key: string): number =>
  createHash("sha256").update(`${affinity}\n${key}`).digest().readUInt32BE() / 2 ** 32
