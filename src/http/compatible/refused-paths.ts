/** Features of other APIs that have no dialect here, each with its alternative; also for the paths below each path. Pure. */
import { messagesApi } from "../../dialects/anthropic/client.ts"
import type { ErrorWords } from "../../dialects/client/whole-client.ts"
import { cohereErrors } from "../../dialects/cohere/whole-client.ts"
import { generateApi } from "../../dialects/gemini/client.ts"
import { chatApi } from "../../dialects/openai-chat/client.ts"
import { geminiVersions } from "./model-path.ts"

export interface RefusedPath {
  /** The only method that is refused; each method if absent. */
  readonly method?: "DELETE" | "PATCH" | "POST"
  readonly path: `/${string}`
  readonly api: ErrorWords
  /** The message, which names the path and an alternative. */
  readonly message: string
}

const passThrough = "an operator can pass it through (passThrough)"

const none = (path: string): string => `${path} has no dialect here: ${passThrough}`

const at =
  (api: ErrorWords, base: `/${string}`, messageOf: (path: string) => string = none) =>
  (path: string): RefusedPath => ({ path: `${base}/${path}`, api, message: messageOf(shown(`${base}/${path}`)) })

/** The path of a route without the router's marks. */
const shown = (path: string): string => path.replaceAll("::", ":").replaceAll(/\/:\w+/g, "/…")

const insteadOf = (alternative: string) => (path: string) => `${path} is not supported: ${alternative}`

/** The vendor's account: its people, keys and bills. */
const ofAccount = insteadOf(
  "it administers an account of the vendor; the gateway has organisations, keys and limits of its own",
)

/** Models are those of the catalogue. */
const fixedModels = "A change of models is not supported: the operator's catalogue has them"

const openai = "/openai/v1"
const anthropic = "/anthropic/v1"
const cohere = "/cohere"

const kept = insteadOf(`use /openai/v1/responses and /openai/v1/conversations, or ${passThrough}`)

const unstored =
  "A stored chat completion is not supported: they are not stored; keep responses, and read them at /openai/v1/responses/ID"

const ofOpenai: ReadonlyArray<RefusedPath> = [
  ...["assistants", "threads"].map(at(chatApi, openai, kept)),
  ...["organization", "projects"].map(at(chatApi, openai, ofAccount)),
  ...[
    "agents",
    "audio/voice_consents",
    "audio/voices",
    "chatkit",
    "containers",
    "content_provenance_checks",
    "decisions",
    "evals",
    "fine_tuning",
    "live",
    "realtime/translations",
    "safety",
    "skills",
    "vaults",
    "vector_stores",
    "videos/characters",
    "webhook_endpoints",
    "webhook_event_types",
  ].map(at(chatApi, openai)),
  at(chatApi, openai, insteadOf("send the picture to /openai/v1/images/edits"))("images/variations"),
  ...["videos/edits", "videos/extensions"].map(
    (path): RefusedPath => ({
      method: "POST",
      ...at(chatApi, openai, insteadOf("ask for a new video"))(path),
    }),
  ),
  at(chatApi, openai, insteadOf("open a session over a WebSocket"))("realtime/calls"),
  at(chatApi, openai, insteadOf("make a client secret"))("realtime/sessions"),
  at(chatApi, openai, insteadOf("send the recording to audio/transcriptions"))("realtime/transcription_sessions"),
  at(chatApi, openai, () => unstored)("chat/completions"),
  { method: "DELETE", ...at(chatApi, openai, () => fixedModels)("models/:id") },
]

const ofAnthropic: ReadonlyArray<RefusedPath> = [
  at(messagesApi, anthropic, ofAccount)("organizations"),
  ...[
    "agents",
    "deployment_runs",
    "deployments",
    "dreams",
    "environments",
    "memory_stores",
    "sessions",
    "skills",
    "tunnels",
    "user_profiles",
    "vaults",
  ].map(at(messagesApi, anthropic)),
]

const ofGemini = geminiVersions.flatMap((version): ReadonlyArray<RefusedPath> => {
  const base = `/gemini/${version}` as const
  const operations = insteadOf("send one batch to :batchGenerateContent, or ask for a video at /openai/v1/videos")
  const music = insteadOf("no vendor makes music in sessions here; ask the vendor itself")
  return [
    ...[
      "agents",
      "corpora",
      "credentials",
      "environments",
      "fileSearchStores",
      "triggers",
      "tunedModels",
      "voices",
      "webhooks",
    ].map(at(generateApi, base)),
    ...["environments", "fileSearchStores"].map(at(generateApi, `/gemini/upload/${version}`)),
    at(generateApi, base, insteadOf("upload the file, or send its address in the request"))("files::register"),
    at(generateApi, base, insteadOf("nothing is stored: send the contents to generateContent"))("interactions"),
    at(generateApi, base, operations)("models/:id/operations"),
    at(generateApi, "/gemini/ws", music)(`google.ai.generativelanguage.${version}.GenerativeService.BidiGenerateMusic`),
    ...(["DELETE", "PATCH"] as const).map((method) => ({
      method,
      ...at(generateApi, base, () => fixedModels)("models/:id"),
    })),
  ]
})

const ofVertex = ["v1", "v1beta1"].flatMap((version) =>
  ["", "/projects/:project/locations/:location"].flatMap((place) =>
    ["interactions", "tuningJobs", "tuningJobs::validateReinforcementTuningReward"].map(
      at(generateApi, `/vertex/${version}${place}`),
    ),
  ),
)

const ofCohere: ReadonlyArray<RefusedPath> = [
  ...["v2/batches", "v2/parse"].map(at(cohereErrors, cohere)),
  ...(
    [
      ["v1/tokenize", "a reply has the tokens of its request"],
      ["v1/detokenize", "replies are text"],
      ["v1/generate", "send the prompt to /v2/chat"],
      ["v1/summarize", "ask for a summary at /v2/chat"],
      ["v1/classify", "ask for a class at /v2/chat, with a schema of its answer"],
      ["v1/embed-jobs", "send the texts to /v2/embed"],
      ["v1/datasets", "send the texts to /v2/embed"],
      ["v1/connectors", "send documents or tools to /v2/chat"],
      ["v1/finetuning", "models are the catalogue's"],
    ] as const
  ).map(([path, alternative]) => at(cohereErrors, cohere, insteadOf(alternative))(path)),
]

export const pathsWithoutDialect: ReadonlyArray<RefusedPath> = [
  ...ofOpenai,
  ...ofAnthropic,
  ...ofGemini,
  ...ofVertex,
  ...ofCohere,
]

const methodsWithoutDialect: ReadonlyMap<string, string> = new Map([
  ["computeTokens", "send the contents to :countTokens"],
  ["predictLongRunning", "ask for a video at /openai/v1/videos"],
])

/** The refusal of a method of Gemini's models that has no dialect here. @param path the request's path */
export const refusedMethod = (path: string): string | undefined => {
  const method = /:(\w+)$/.exec(path)?.[1] ?? ""
  const alternative = methodsWithoutDialect.get(method)
  return alternative === undefined ? undefined : `:${method} is not supported: ${alternative}`
}
