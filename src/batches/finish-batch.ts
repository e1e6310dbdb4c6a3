/** The end of a batch: its results are written into files, and what is left of its money goes back. */
import { Effect, type Scope, Stream } from "effect"
import type { ClientFile } from "../client-files/client-file.ts"
import { ClientFiles } from "../client-files/client-files.ts"
import { Spool } from "../media/spool.ts"
import { requestsPurpose } from "./admit-batch.ts"
import type { Batch, BatchCounts } from "./batch.ts"
import { BatchStore } from "./batch-store.ts"
import { readLine } from "./line.ts"
import { type FileLine, linesOf } from "./lines-of.ts"
import { ResultFile } from "./result-file.ts"
import { resultForms, resultsPurpose } from "./result-form.ts"
import { makeResults } from "./results.ts"

export const makeFinishBatch = Effect.gen(function* () {
  const store = yield* BatchStore
  const files = yield* ClientFiles
  const spool = yield* Spool
  const results = yield* makeResults

  const open = (name: string) => Effect.map(spool.create, (writer) => new ResultFile(writer, name))

  /** Writes lines for requests that have no answer, from one number to before another, in turn. */
  const writerOfRest = (batch: Batch, to: ResultFile) => {
    const { orgId, owner, facts, api, cancelledAt } = batch
    const why = cancelledAt === undefined ? "expired" : "cancelled"
    let lines: AsyncGenerator<FileLine> | undefined
    let number = 1
    const open = Effect.gen(function* () {
      const requests = yield* files.find(orgId, owner, facts.requests ?? "", requestsPurpose)
      if (requests === undefined) return linesOf(Stream.toAsyncIterable(Stream.empty), 0)
      // The names of requests whose content is lost are lost too: they have no lines, and the batch ends.
      const content = Stream.catchTag(yield* files.content(requests), "PartLost", () => Stream.empty)
      return linesOf(Stream.toAsyncIterable(Stream.orDie(content)), Number.MAX_SAFE_INTEGER)
    })
    return Effect.fnUntraced(function* (from: number, before: number, isAnswered: (line: number) => boolean) {
      if (from >= before) return
      lines ??= yield* open
      const all = lines
      for (; number < before; number++) {
        const next = yield* Effect.promise(() => all.next())
        if (next.done === true) return
        const request = number < from || isAnswered(number) ? undefined : readLine(next.value.text ?? "")
        if (request !== undefined) yield* to.add(resultForms[api].unanswered(request.id, why))
      }
    })
  }

  const keep = Effect.fnUntraced(function* (batch: Batch, written: ResultFile) {
    if (written.isEmpty) return undefined
    const content = { mime: "application/jsonl", name: written.name, file: yield* written.file }
    const kept = { purpose: resultsPurpose(batch), keptMs: batch.facts.resultsMs, content, isPaid: true }
    return yield* files.create(batch.orgId, batch.owner, kept)
  })

  const erase = (file: ClientFile | undefined) => (file === undefined ? Effect.void : Effect.ignore(files.erase(file)))

  const finish = Effect.fnUntraced(function* (
    batch: Batch,
    node: string,
  ): Effect.fn.Return<void, unknown, Scope.Scope> {
    const { orgId, owner, lines, facts, cancelledAt } = batch
    const { splits } = resultForms[batch.api]
    const output = yield* open("output.jsonl")
    const errors = splits ? yield* open("errors.jsonl") : output
    const answered = new Uint8Array(lines + 1)
    let succeeded = 0
    let errored = 0
    let next = 1
    // Results of a list are read with their batch, in its order.
    const isInOrder = facts.inline === true
    const writeRest = writerOfRest(batch, errors)
    const isAnswered = (line: number) => answered[line] === 1
    yield* Stream.runForEach(
      results.all(batch, isInOrder ? "line" : "came"),
      Effect.fnUntraced(function* ({ line, state, text }) {
        if (isInOrder) yield* writeRest(next, line, isAnswered)
        next = line + 1
        answered[line] = 1
        if (state === "succeeded") {
          succeeded++
          return yield* output.add(text)
        }
        errored++
        return yield* errors.add(text)
      }),
    )
    const rest = lines - succeeded - errored
    if (rest > 0) yield* writeRest(isInOrder ? next : 1, lines + 1, isAnswered)
    const [cancelled, expired] = cancelledAt === undefined ? [0, rest] : [rest, 0]
    const counts: BatchCounts = { succeeded, errored, cancelled, expired }
    const written = yield* keep(batch, output)
    const failed = splits ? yield* keep(batch, errors) : undefined
    const outcome = {
      ...(isInOrder && { isInOrder }),
      ...(written !== undefined && { output: written.id }),
      ...(failed !== undefined && { errors: failed.id }),
    }
    const state = cancelledAt !== undefined ? "cancelled" : rest > 0 ? "expired" : "completed"
    const isEnded = yield* store.end(batch, node, state, counts, outcome)
    if (!isEnded) return yield* Effect.andThen(erase(written), erase(failed))
    yield* erase(yield* files.find(orgId, owner, facts.requests ?? "", requestsPurpose))
  })

  return (batch: Batch, node: string): Effect.Effect<void, unknown> => Effect.scoped(finish(batch, node))
})
