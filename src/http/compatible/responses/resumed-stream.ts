/**
 * `GET /openai/v1/responses/{id}?stream=true`: the events of a response again, or those that a reader has missed, also while
 * another node writes them.
 */
import { Duration, Effect, Option, Stream } from "effect"
import { eventsAfter, eventsOfEnded, hasEnd, lastNumber } from "../../../dialects/openai-responses/replayed-events.ts"
import { type BackgroundResponses, eventsKeptMs } from "../../../kept-responses/background-responses.ts"
import type { KeptOwner } from "../../../kept-responses/kept-response.ts"
import type { KeptResponse, KeptResponses } from "../../../kept-responses/kept-responses.ts"
import type { Org } from "../../../protocol/catalogue/tenant.ts"
import type { StoreUnavailable } from "../../../store/unavailable.ts"

interface Stores {
  readonly kept: KeptResponses["Service"]
  readonly background: BackgroundResponses["Service"]
}

interface Place {
  /** The next part of its events. */
  readonly part: number
  /** The number of the last event that was found. */
  readonly last: number | undefined
  /** Looks since its response has ended, in which no event was found. */
  readonly late: number
  /** When the reader got something last, in milliseconds since 1970. */
  readonly wroteAtMs: number
}

const heartbeat = ": hb\n\n"
const pause = Duration.millis(250)
/** The node that runs a response writes its last events after its end: unless it has died meanwhile. */
const mostLate = 8

/**
 * @param after the sequence number of the last event that the reader has; -1 if it has none
 * @param heartbeatMs the silence after which a heartbeat is sent
 */
export const resumedEvents = (
  { kept, background }: Stores,
  org: Org,
  owner: KeptOwner,
  id: string,
  after: number,
  heartbeatMs: number,
): Stream.Stream<string, StoreUnavailable> =>
  Stream.paginate<Place, string, StoreUnavailable>(
    { part: 0, last: undefined, late: 0, wroteAtMs: Date.now() },
    (place) =>
      Effect.gen(function* () {
        const response = yield* kept.stateOf(org, owner, id)
        const parts = yield* background.events(org.id, id, place.part)
        const text = parts.map((each) => each.text).join("")
        const told = eventsAfter(text, after)
        if (response === undefined || hasEnd(text)) return [tellIf(told), Option.none()]
        const last = lastNumber(text) ?? place.last
        const isRunning = response.state === "in_progress" || response.state === "queued"
        const mayComeLate = response.isBackground && response.state !== "cancelled" && place.late < mostLate
        const isLate = mayComeLate && (last !== undefined || isYoung(response))
        if (isRunning || isLate || parts.length > 0) {
          if (parts.length === 0) yield* Effect.sleep(pause)
          const part = (parts.at(-1)?.part ?? place.part - 1) + 1
          const isSilent = told === "" && Date.now() - place.wroteAtMs >= heartbeatMs
          const wroteAtMs = isSilent || told !== "" ? Date.now() : place.wroteAtMs
          const next = { part, last, late: isRunning ? 0 : place.late + 1, wroteAtMs }
          return [tellIf(isSilent ? heartbeat : told), Option.some(next)]
        }
        const whole = yield* kept.find(org, owner, id)
        // A reader that has some events gets the end alone, whose number is above all that it has.
        const known = last === undefined && after < 0 ? undefined : Math.max(last ?? after, after)
        const rest = whole === undefined ? "" : eventsOfEnded(whole.response, known)
        return [tellIf(told + rest), Option.none()]
      }),
  )

/** Whether its events cannot have been removed yet. */
const isYoung = ({ createdAt }: Pick<KeptResponse, "createdAt">): boolean =>
  Date.now() - createdAt.getTime() < eventsKeptMs

const tellIf = (text: string): ReadonlyArray<string> => (text === "" ? [] : [text])
