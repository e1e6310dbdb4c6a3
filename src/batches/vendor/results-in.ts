/** The results of a vendor's batch, one line after the other. */
import { Effect, Stream } from "effect"
import type { BatchResult, ResultPlace } from "../../dialects/batch-dialect.ts"
import type { UpstreamBroken } from "../../upstream/client.ts"
import { linesOf } from "../lines-of.ts"
import type { VendorPlace } from "./vendor-place.ts"

/** The longest line: a reply with pictures. */
const mostLineBytes = 64 * 1024 * 1024

/** Fails where a file breaks off. */
export const resultsIn = (
  { dialect, read }: Pick<VendorPlace, "dialect" | "read">,
  places: ReadonlyArray<ResultPlace>,
): Stream.Stream<BatchResult, UpstreamBroken | Error> =>
  Stream.flatMap(Stream.fromIterable(places), (place) => {
    if (place.t === "lines") return Stream.map(Stream.fromIterable(place.lines), dialect.result)
    const lines = Effect.map(read(place.request), (chunks) =>
      Stream.fromAsyncIterable(linesOf(chunks, mostLineBytes), asError),
    )
    return Stream.map(
      Stream.unwrap(lines),
      ({ text }): BatchResult => (text === undefined ? { t: "unreadable" } : dialect.result(text)),
    )
  })

const asError = (cause: unknown): Error => (cause instanceof Error ? cause : new Error(String(cause)))
