/** The kind of a model whose only known property is its name, as on a server of one's own. Pure. */
import type { ModelKind } from "../protocol/kinds/call-kind.ts"

const kinds: ReadonlyArray<readonly [RegExp, ModelKind]> = [
  [/rerank/i, "rerank"],
  [/embed|(^|[-/_])(bge|e5|gte)([-_]|$)/i, "embedding"],
  [/moderation|(^|[-/_])guard([-_]|$)/i, "moderation"],
]

/** Kinds without a price of tokens are not guessed: nobody would be billed for them. */
export const kindByName = (model: string): ModelKind => kinds.find(([pattern]) => pattern.test(model))?.[1] ?? "chat"
