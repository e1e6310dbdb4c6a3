/**
 * `GET /openai/v1/responses/{id}?stream=true`: the events of a response again, or those that a reader has missed, also while
 * another node writes them.
 */
import { Duration, Effect, Option, Stream } from "effect"
import { eventsAfter, eventsOfEnded, hasEnd } from "../../../dialects/openai-responses/replayed-events.ts"
import type { BackgroundResponses } from "../../../kept-responses/background-responses.ts"
import type { KeptOwner } from "../../../kept-responses/kept-response.ts"
import type { KeptResponses } from "../../../kept-responses/kept-responses.ts"
import type { Org } from "../../../protocol/catalogue/tenant.ts"
import type { StoreUnavailable } from "../../../store/unavailable.ts"

interface Stores {
  readonly kept: KeptResponses["Service"]
  readonly background: BackgroundResponses["Service"]
}

interface Place {
  /** The next part of its events. */
  readonly part: number
  /** Whether a part was found. */
  readonly isBegun: boolean
}

const pause = Duration.millis(250)

/** @param after the sequence number of the last event that the reader has; -1 if it has none */
export const resumedEvents = (
  { kept, background }: Stores,
  org: Org,
  owner: KeptOwner,
  id: string,
  after: number,
): Stream.Stream<string, StoreUnavailable> =>
  Stream.paginate<Place, string, StoreUnavailable>({ part: 0, isBegun: false }, (place) =>
    Effect.gen(function* () {
      // In this order: a response that has ended by now has written all its events.
      const response = yield* kept.find(org, owner, id)
      const parts = yield* background.events(org.id, id, place.part)
      const text = parts.map((each) => each.text).join("")
      const told = eventsAfter(text, after)
      const next = { part: (parts.at(-1)?.part ?? place.part - 1) + 1, isBegun: place.isBegun || parts.length > 0 }
      if (response === undefined || hasEnd(text)) return [tellIf(told), Option.none()]
      if (response.state === "in_progress" || response.state === "queued") {
        if (parts.length === 0) yield* Effect.sleep(pause)
        return [tellIf(told), Option.some(next)]
      }
      const rest = eventsOfEnded(response.response, next.isBegun, next.isBegun ? Number.MAX_SAFE_INTEGER : 0)
      return [tellIf(told + eventsAfter(rest, after)), Option.none()]
    }),
  )

const tellIf = (text: string): ReadonlyArray<string> => (text === "" ? [] : [text])
