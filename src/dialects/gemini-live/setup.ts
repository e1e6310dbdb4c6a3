/**
 * The first message of a session with Google's Live API: the model, and the configuration of the session. Pure.
 * Source: https://ai.google.dev/api/live#bidigeneratecontentsetup
 */
import { Result } from "effect"
import { isObject, type JsonObject, parseObject } from "../parse/json.ts"
import type { Added, EventRefusal, SessionLimits } from "../realtime-dialect.ts"
import { addedBy } from "./added.ts"
import { toolsRefusal } from "./client-messages.ts"
import { fieldAt, formIn, messageAt, textAt, twiceIn } from "./fields.ts"

export interface Setup {
  /** The model as the client names it, without the path before it. */
  readonly model: string
  /** The name of the conversation that it resumes. */
  readonly handle: string | undefined
  /** The configuration, without the two names. */
  readonly config: JsonObject
  readonly added: Added
  readonly maxOutTokens: number | undefined
}

/** The configuration in a first message. @returns the refusal of another message */
export const configIn = (bytes: Buffer): Result.Result<JsonObject, EventRefusal> => {
  const message = parseObject(bytes.toString("utf8"))
  if (message === undefined) return refused("The message is not a JSON object")
  const setup = message["setup"]
  if (!isObject(setup)) return refused("The first message must be setup")
  const other = Object.keys(message).find((name) => name !== "setup")
  if (other !== undefined) return refused(`Unknown name "${other.slice(0, 64)}": Cannot find field.`)
  const twice = twiceIn(setup)
  return twice === undefined ? Result.succeed(setup) : refused(`${twice} is given in two forms`, `setup.${twice}`)
}

export const readSetup = (setup: JsonObject): Result.Result<Setup, EventRefusal> => {
  const named = fieldAt(setup, "model")
  if (typeof named !== "string" || named === "") return refused("model is required", "setup.model")
  const resumption = messageAt(setup, "sessionResumption")
  const handle = textAt(resumption, "handle")
  const generation = messageAt(setup, "generationConfig")
  const most = fieldAt(generation, "maxOutputTokens")
  if (most !== undefined && (typeof most !== "number" || !Number.isInteger(most) || most < 1)) {
    return refused("must be a whole number from 1", `setup.${mostTokens}`)
  }
  const count = fieldAt(generation, "candidateCount")
  if (count !== undefined && count !== 1) return refused("must be 1", "setup.generationConfig.candidateCount")
  const { model: _model, ...unnamed } = setup
  const config =
    resumption === undefined ? unnamed : withMember(unnamed, "sessionResumption", withoutHandle(resumption))
  return Result.succeed({
    model: modelIn(named),
    handle: handle === "" ? undefined : handle,
    config,
    added: addedBy(config),
    maxOutTokens: most,
  })
}

const withoutHandle = ({ handle: _handle, ...resumption }: JsonObject): JsonObject => resumption

const mostTokens = "generationConfig.maxOutputTokens"

const refused = (message: string, param?: string) => Result.fail({ message, ...(param !== undefined && { param }) })

/** `models/x` of the Gemini API, and `projects/p/locations/l/publishers/google/models/x` of Vertex AI. */
const modelIn = (name: string): string =>
  /^(?:projects\/[^/]+\/locations\/[^/]+\/)?(?:publishers\/[^/]+\/)?(?:models\/)?(.+)$/.exec(name)?.[1] ?? name

/** The reason why a session with these limits does not allow a configuration. */
export const setupRefusal = (
  { config, maxOutTokens }: Setup,
  limits: Pick<SessionLimits, "maxOutTokens" | "hasTools">,
): EventRefusal | undefined => {
  const refusal = toolsRefusal(config, limits)
  if (refusal !== undefined) return { ...refusal, param: `setup.${refusal.param}` }
  return maxOutTokens === undefined || maxOutTokens <= limits.maxOutTokens
    ? undefined
    : { message: `must be from 1 to ${limits.maxOutTokens}`, param: `setup.${mostTokens}` }
}

/** The first message for a vendor. @param body a configuration as JSON @param model the vendor's name of it */
export const setupMessage = (body: string, model: string, handle: string | undefined): string => {
  const config = parseObject(body) ?? {}
  const resumed =
    handle === undefined
      ? config
      : withMember(config, "sessionResumption", { ...messageAt(config, "sessionResumption"), handle })
  return JSON.stringify({ setup: { model, ...resumed } })
}

/** The object with another value of a member, in the form that it has. */
export const withMember = (object: JsonObject, name: string, value: unknown): JsonObject => ({
  ...object,
  [formIn(object, name) ?? name]: value,
})
