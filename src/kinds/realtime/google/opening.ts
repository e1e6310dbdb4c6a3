/** The first message of a session with Google's Live API. */
import { Effect } from "effect"
import { type Setup, setupMessage, setupRefusal } from "../../../dialects/gemini-live/setup.ts"
import type { EventRefusal } from "../../../dialects/realtime-dialect.ts"
import type { Caller } from "../../../identity/caller.ts"
import { type ServiceError, serviceError } from "../../../protocol/error.ts"
import { invalidInput } from "../../../protocol/json/issues.ts"
import type { Sealer } from "../../../store/seal.ts"
import { openHandle } from "../handles.ts"
import type { Opening } from "../opening.ts"

/** The error of a message that is refused. */
export const refusalError = ({ message, param }: EventRefusal): ServiceError<"bad_request"> =>
  param === undefined ? serviceError("bad_request", message) : invalidInput([{ path: param, message }])

/** @error bad_request if the caller does not have the conversation that it would resume */
export const openingOf = (
  setup: Setup,
  caller: Caller,
  sealer: Sealer,
): Effect.Effect<Opening, ServiceError<"not_found">> => {
  const { config, added, maxOutTokens, handle } = setup
  const resumed = handle === undefined ? undefined : openHandle(sealer, caller, handle)
  if (handle !== undefined && resumed === undefined) {
    return Effect.fail(serviceError("not_found", "There is no such conversation to resume"))
  }
  return Effect.succeed({
    body: JSON.stringify(config),
    added,
    maxOutTokens,
    resumed,
    refusal: (limits) => {
      const refusal = setupRefusal(setup, limits)
      return refusal && refusalError(refusal)
    },
    messageFor: (body, { dialect, model }, known) =>
      setupMessage(body, dialect.realtime?.modelName(model) ?? model, known),
  })
}
