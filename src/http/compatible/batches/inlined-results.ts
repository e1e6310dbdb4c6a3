/** The results of a list of requests in a reply of Gemini's API: as JSON, without reading all of them into memory. */
import { Stream } from "effect"
import { linesOf } from "../../../batches/lines-of.ts"
import { placedResult } from "../../../batches/result-form.ts"

/** Bytes that are sent together. */
const sentBytes = 64 * 1024

/**
 * The results, with commas between them.
 * @param isInOrder whether the file has them in the order of their requests: those of earlier gateways are sorted here
 */
export const inlinedResults = <E>(
  file: Stream.Stream<Uint8Array, E>,
  isInOrder: boolean,
): Stream.Stream<Uint8Array> => {
  const chunks = () => Stream.toAsyncIterable(Stream.orDie(file))
  return Stream.orDie(
    Stream.fromAsyncIterable(
      { [Symbol.asyncIterator]: () => joined(isInOrder ? texts(chunks()) : sorted(chunks())) },
      (cause) => cause,
    ),
  )
}

async function* texts(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  for await (const { text = "" } of linesOf(chunks, Number.MAX_SAFE_INTEGER)) {
    const result = placedResult(text)
    if (result !== undefined) yield result.text
  }
}

async function* sorted(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const results = []
  for await (const { text = "" } of linesOf(chunks, Number.MAX_SAFE_INTEGER)) {
    const result = placedResult(text)
    if (result !== undefined) results.push(result)
  }
  for (const { text } of results.sort((a, b) => a.at - b.at)) yield text
}

async function* joined(results: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  let waiting: Array<Buffer> = []
  let bytes = 0
  let isFirst = true
  for await (const text of results) {
    const part = Buffer.from(isFirst ? text : `,${text}`)
    isFirst = false
    waiting.push(part)
    bytes += part.length
    if (bytes < sentBytes) continue
    yield Buffer.concat(waiting)
    waiting = []
    bytes = 0
  }
  yield Buffer.concat(waiting)
}

/** A character that no JSON has: the place of results in a reply. */
export const resultsPlace = "\u0000"

/** A reply whose results are put in their places. */
export const withResults = (reply: string, results: Stream.Stream<Uint8Array>): Stream.Stream<Uint8Array> => {
  const [first = "", ...others] = reply.split(resultsPlace)
  const sent = (text: string): Stream.Stream<Uint8Array> => Stream.make(Buffer.from(text))
  return others.reduce((all, text) => Stream.concat(Stream.concat(all, results), sent(text)), sent(first))
}
