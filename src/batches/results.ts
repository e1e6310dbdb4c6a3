/** The answers to requests of a batch while it runs: sealed rows, each in the form of its file. */
import { Effect, Option, Stream } from "effect"
import { tokensIn } from "../calls/reply/line-tokens.ts"
import { compress, decompressAtMost } from "../files/zstd.ts"
import { Sealing } from "../store/seal.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import type { Batch } from "./batch.ts"
import type { SealedResult } from "./batch-rows.ts"
import { BatchStore } from "./batch-store.ts"
import type { LineReply } from "./line-calls.ts"
import { isGood, resultForms } from "./result-form.ts"

export interface LineResult extends Pick<SealedResult, "line" | "state"> {
  readonly text: string
}

/** Answers that are in memory at once, while results are written. */
const pageLines = 64
const mostBytes = 512 * 1024 * 1024

export const makeResults = Effect.gen(function* () {
  const store = yield* BatchStore
  const { sealer } = yield* Sealing
  const contextOf = ({ orgId, id }: Batch, line: number) => `batch result ${orgId} ${id} ${line}`

  const opened = (batch: Batch, { line, state, content }: SealedResult): Effect.Effect<LineResult> => {
    const compressed = sealer.openBytes(content, contextOf(batch, line))
    const text = compressed && decompressAtMost(compressed, mostBytes)
    return text === undefined
      ? Effect.die(new Error("An answer of a batch cannot be opened"))
      : Effect.succeed({ line, state, text })
  }

  return {
    /** The first answer to a request counts. @param id the client's name of the request */
    keep: (batch: Batch, line: number, id: string, reply: LineReply): Effect.Effect<void, StoreUnavailable> => {
      const text = resultForms[batch.api].answered(id, reply.headers["x-svc-request-id"] ?? "", reply)
      const content = sealer.sealBytes(compress(text), contextOf(batch, line))
      const state = isGood(reply) ? "succeeded" : "errored"
      const tokens = tokensIn(reply.headers)
      return store.addResult(batch, { line, state, content, tokens })
    },
    /** In the order in which they came, or in that of their requests. */
    all: (batch: Batch, order: "came" | "line"): Stream.Stream<LineResult, StoreUnavailable> =>
      Stream.paginate<SealedResult | undefined, SealedResult, StoreUnavailable>(undefined, (after) =>
        Effect.map(
          order === "came"
            ? store.results(batch, after, pageLines)
            : store.resultsByLine(batch, after?.line ?? 0, pageLines),
          (page) => [page, Option.fromUndefinedOr(page.length < pageLines ? undefined : page.at(-1))] as const,
        ),
      ).pipe(Stream.mapEffect((result) => opened(batch, result))),
  }
})
