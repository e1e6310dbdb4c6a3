/**
 * Doors: the paths of clouds, which lead to the paths of the APIs that the clouds repeat. A cloud's path says what the
 * body of the API itself would say, such as the model. Pure.
 *
 * Sources: Azure, "Azure OpenAI REST API reference"; Google, "Vertex AI REST API"; Anthropic, "Claude on Vertex AI";
 * AWS, "Amazon Bedrock Runtime".
 */
import type { SaidByPath } from "../../../dialects/client/said-by-path.ts"
import { handleInPath } from "../model-path.ts"

/** A path of this gateway, and the fields that the cloud's path says instead of the body. */
export interface BehindDoor {
  readonly path: string
  readonly query: string
  readonly said: SaidByPath
}

type Door = readonly [pattern: RegExp, behind: (found: RegExpExecArray, query: string) => BehindDoor | undefined]

const nothing: SaidByPath = {}

const behind = (path: string, query: string, said = nothing): BehindDoor => ({ path, query, said })

/** @param said in addition to the model */
const naming = (
  path: string,
  query: string,
  encoded: string | undefined,
  said?: SaidByPath,
): BehindDoor | undefined => {
  const model = handleInPath(encoded)
  return model === undefined ? undefined : behind(path, query, { model, ...said })
}

/** A socket's deployment is in its query. */
const realtimeQuery = (query: string): string => {
  const fields = new URLSearchParams(query)
  const deployment = fields.get("deployment")
  return deployment === null ? query : new URLSearchParams({ model: deployment }).toString()
}

/** The project and the place change nothing; the short form has none. Claude Code leaves out the version. */
const vertex = "^/vertex/(?:v1(?:beta1)?/)?(?:projects/[\\w.:-]+/locations/[\\w-]+/)?"

/** Only doors lead there: no request has a path without a slash. */
export const invokePath = "bedrock/messages"
export const conversePath = "bedrock/converse"
export const bedrockCountPath = "bedrock/count-tokens"

/** The first that fits. */
const doors: ReadonlyArray<Door> = [
  [
    /^\/azure\/openai\/deployments\/([^/]+)\/((?:chat\/)?completions|embeddings|responses|images\/\w+|audio\/\w+|videos)$/,
    ([, deployment, rest = ""], query) => naming(`/openai/v1/${rest}`, query, deployment),
  ],
  // A client with one deployment has it in every path, also of routes without a model.
  [/^\/azure\/openai\/deployments\/[^/]+\/(.+)$/, ([, rest = ""], query) => behind(`/openai/v1/${rest}`, query)],
  [/^\/azure\/openai\/(?:v1\/)?realtime$/, (_, query) => behind("/openai/v1/realtime", realtimeQuery(query))],
  [/^\/azure\/openai\/(?:v1\/)?(.+)$/, ([, rest = ""], query) => behind(`/openai/v1/${rest}`, query)],
  [
    new RegExp(`${vertex}publishers/google/(models(?:/[^/]+)?)$`),
    ([, rest = ""], query) => behind(`/gemini/v1beta/${rest}`, query),
  ],
  [
    new RegExp(`${vertex}publishers/anthropic/models/count-tokens:rawPredict$`),
    (_, query) => behind("/anthropic/v1/messages/count_tokens", query),
  ],
  [
    new RegExp(`${vertex}publishers/anthropic/models/([^/:]+):(rawPredict|streamRawPredict)$`),
    ([, model, method], query) =>
      naming("/anthropic/v1/messages", query, model, { stream: method === "streamRawPredict" }),
  ],
  [
    /^\/bedrock\/model\/([^/]+)\/(invoke|invoke-with-response-stream)$/,
    ([, model, method], query) => naming(invokePath, query, model, { stream: method !== "invoke" }),
  ],
  [
    /^\/bedrock\/model\/([^/]+)\/(converse|converse-stream)$/,
    ([, model, method], query) => naming(conversePath, query, model, { stream: method !== "converse" }),
  ],
  [/^\/bedrock\/model\/([^/]+)\/count-tokens$/, ([, model], query) => naming(bedrockCountPath, query, model)],
  [
    new RegExp(`${vertex}endpoints/openapi/(chat/completions|embeddings)$`),
    ([, rest = ""], query) => behind(`/openai/v1/${rest}`, query),
  ],
]

/** The place to which a path leads; undefined if it is no door's. */
export const behindDoor = (path: string, query: string): BehindDoor | undefined => {
  if (!/^\/(?:azure|vertex|bedrock)\//.test(path)) return undefined
  for (const [pattern, lead] of doors) {
    const found = pattern.exec(path)
    if (found !== null) return lead(found, query)
  }
  return undefined
}

/** The address behind a door. A path that says fields stays: the handlers of `POST` requests add them. */
export const urlBehindDoor = (url: string): string => {
  const end = url.indexOf("?")
  const found = behindDoor(end === -1 ? url : url.slice(0, end), end === -1 ? "" : url.slice(end + 1))
  if (found === undefined || found.said !== nothing) return url
  return found.query === "" ? found.path : `${found.path}?${found.query}`
}
