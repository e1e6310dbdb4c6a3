/** The requests of a submission, in the gateway's own file: one after the other, or any of them by its number. */
import { Effect, Option, Stream } from "effect"
import type { ClientFile } from "../../client-files/client-file.ts"
import { ClientFiles } from "../../client-files/client-files.ts"
import { requestsPurpose } from "../admit-batch.ts"
import type { Batch, NewChunk } from "../batch.ts"
import { addToChunks } from "../chunks.ts"
import { requestIn } from "../line.ts"
import { linesOf } from "../lines-of.ts"
import type { Submission } from "./submission.ts"

export interface PlacedLine {
  readonly number: number
  readonly text: string
  readonly place: number
  readonly bytes: number
}

/** Bytes that are read at once. */
const windowBytes = 1024 * 1024

export type Requests = NonNullable<Effect.Success<ReturnType<Effect.Success<typeof makeRequests>>>>

export const makeRequests = Effect.gen(function* () {
  const files = yield* ClientFiles

  const read = (file: ClientFile, { place, bytes }: Submission, from: number, to: number) =>
    files.range(file, from, Math.min(to, place + bytes) - from)

  const inOrder = (file: ClientFile, submission: Submission) => {
    const { first, place, bytes } = submission
    const end = place + bytes
    const content = Stream.paginate(place, (from: number) =>
      Effect.map(read(file, submission, from, from + windowBytes), (part) => {
        const next = from + windowBytes
        return [[part], next < end ? Option.some(next) : Option.none<number>()] as const
      }),
    )
    return Stream.fromAsyncIterable(
      linesOf(Stream.toAsyncIterable(Stream.orDie(content)), Number.MAX_SAFE_INTEGER),
      (cause) => cause,
    ).pipe(
      Stream.orDie,
      Stream.mapAccum(
        () => place,
        (at, { number, text = "" }) => {
          const length = Buffer.byteLength(text) + 1
          return [at + length, [{ number: first + number - 1, text, place: at, bytes: length }]]
        },
      ),
    )
  }

  /** Undefined if they are gone. */
  return Effect.fnUntraced(function* (submission: Submission, batch: Batch) {
    const { first, place, bytes } = submission
    const end = place + bytes
    const found = yield* files.find(batch.orgId, batch.owner, batch.facts.requests ?? "", requestsPurpose)
    if (found === undefined) return undefined
    const file = found
    // Each reading is one of its own.
    const all = Stream.suspend(() => inOrder(file, submission))
    let window: { readonly from: number; readonly part: Buffer } | undefined

    /** The place of each request, and of the end. */
    const placesOf = yield* Effect.cached(
      Effect.gen(function* () {
        const each = new Float64Array(submission.lines + 1).fill(end)
        yield* Stream.runForEach(all, (line) =>
          Effect.sync(() => {
            each[line.number - first] = line.place
          }),
        )
        return each
      }),
    )

    return {
      /** All of them, in their order. */
      all,
      /** Requests near each other are read once, in any order. */
      line: Effect.fnUntraced(function* (number: number) {
        const each = yield* placesOf
        const [from = end, to = end] = [each[number - first], each[number - first + 1]]
        let near = window
        if (near === undefined || from < near.from || to > near.from + near.part.length) {
          const start = Math.max(place, from - (from % windowBytes))
          near = {
            from: start,
            part: Buffer.from(yield* read(file, submission, start, Math.max(to, start + windowBytes))),
          }
          window = near
        }
        const text = near.part.toString("utf8", from - near.from, to - near.from)
        return yield* requestIn(text.trimEnd())
      }),
      /** The requests without an answer, in parts that the gateway answers. */
      rest: (answered: ReadonlySet<number>) =>
        Effect.map(
          Stream.runFold(
            all,
            (): Array<NewChunk> => [],
            (chunks, line) => {
              if (!answered.has(line.number)) addToChunks(chunks, line)
              return chunks
            },
          ),
          (chunks): ReadonlyArray<NewChunk> => chunks,
        ),
    }
  })
})
