/**
 * Routes of four vendors that have no dialect, which `weir init --pass-through` declares. Left out are those that act on the
 * whole account of a vendor (its webhooks, tunnels and alerts), and those that give clients a credential of the vendor's.
 *
 * Sources: OpenAI's, Anthropic's, Google's and Cohere's API references; their price lists of November 2026.
 */
import type { Mount, PassThrough } from "../protocol/catalogue/pass-through.ts"

type Methods = PassThrough["methods"]
type Price = PassThrough["price"]

const read: Methods = ["GET"]
const make: Methods = ["POST"]
const each: Methods = ["GET", "POST", "DELETE"]
const patched: Methods = ["GET", "POST", "PATCH", "DELETE"]

/** The ids of an object, and of the elements of a list. */
const ids: ReadonlyArray<string> = ["$.id", "$.data[*].id"]
const names = (list: string) => ["$.name", `$.${list}[*].name`]
/** A tuned model is in the operation that makes it. */
const tuned = [...names("tunedModels"), "$.metadata.tunedModel"]

const priced = (call: string): Price => ({ currency: "USD", call })
/** A call that costs what its vendor does not report: the operator sets the price. */
const unknown = priced("1")

interface KnownRoute {
  readonly id: string
  readonly path: string
  readonly methods: Methods
  readonly owners?: ReadonlyArray<string>
  readonly price: Price
  /** Whether it is served below the base of its API too. */
  readonly isMounted?: false
}

/** Replies have no ids. */
const none: ReadonlyArray<string> = []

const free = (path: string, methods = each, owners = ids): Omit<KnownRoute, "id"> => ({
  path,
  methods,
  price: "free",
  ...(owners.length > 0 && { owners }),
})
const paid = (path: string, price: Price = unknown, methods = make, owners = ids): Omit<KnownRoute, "id"> => ({
  ...free(path, methods, owners),
  price,
})

const openai: Readonly<Record<string, Omit<KnownRoute, "id">>> = {
  "vector-stores": free("/vector_stores/**"),
  "vector-store-search": paid("/vector_stores/*/search", priced("0.0025")),
  containers: free("/containers/**"),
  "new-containers": paid("/containers", priced("0.03")),
  skills: free("/skills/**"),
  evals: free("/evals/**"),
  "eval-runs": paid("/evals/*/runs"),
  "fine-tuning": free("/fine_tuning/jobs/**", each, [...ids, "$.fine_tuned_model"]),
  checkpoints: free("/fine_tuning/checkpoints/**"),
  // Files of the vendor's own, for its vector stores and fine-tuning; the gateway's own are at /openai/v1/files.
  "vendor-files": { ...free("/files/**"), isMounted: false },
  "new-fine-tuning": paid("/fine_tuning/jobs"),
  graders: paid("/fine_tuning/alpha/graders/**", unknown, make, none),
  "tuned-models": free("/models/*", ["DELETE"]),
  assistants: free("/assistants/**"),
  threads: free("/threads/**"),
  "thread-runs": paid("/threads/*/runs"),
  "new-thread-runs": paid("/threads/runs", unknown, make, ["$.id", "$.thread_id"]),
  "tool-outputs": paid("/threads/*/runs/*/submit_tool_outputs"),
  "chatkit-threads": free("/chatkit/threads/**"),
  "chatkit-sessions": paid("/chatkit/sessions/**"),
  agents: free("/agents/**"),
  automations: free("/agents/automations/**"),
  "agent-environments": free("/agents/environments/**"),
  "environment-templates": free("/agents/environments/templates/**"),
  "agent-sessions-made": free("/agents/sessions/**"),
  "agent-sessions": paid("/agents/sessions"),
  "agent-events": paid("/agents/sessions/*/events"),
  "agent-invocations": paid("/agents/automations/*/invocations"),
  vaults: free("/vaults/**"),
  voices: free("/audio/voices/**"),
  "voice-consents": free("/audio/voice_consents/**"),
  "image-variations": paid("/images/variations", priced("0.02"), make, none),
  "video-characters": paid("/videos/characters/**", unknown, ["GET", "POST"]),
  "video-edits": paid("/videos/edits"),
  "video-extensions": paid("/videos/extensions"),
  decisions: paid("/decisions"),
  "provenance-checks": paid("/content_provenance_checks", unknown, make, none),
  "live-sessions": paid("/live/sessions/**", unknown, ["GET", "POST"]),
}

const anthropic: Readonly<Record<string, Omit<KnownRoute, "id">>> = {
  "managed-agents": free("/v1/agents/**"),
  environments: free("/v1/environments/**"),
  sessions: free("/v1/sessions/**"),
  "session-events": paid("/v1/sessions/*/events"),
  deployments: free("/v1/deployments/**"),
  "deployment-starts": paid("/v1/deployments/*/run"),
  "deployment-runs": free("/v1/deployment_runs/**", read),
  dreams: paid("/v1/dreams"),
  "dreams-made": free("/v1/dreams/**"),
  "memory-stores": free("/v1/memory_stores/**"),
  "agent-skills": free("/v1/skills/**"),
  "user-profiles": free("/v1/user_profiles/**"),
  "agent-vaults": free("/v1/vaults/**"),
}

const gemini: Readonly<Record<string, Omit<KnownRoute, "id">>> = {
  ...Object.fromEntries(
    ["v1beta", "v1", "v1alpha"].flatMap((version) => [
      [`interactions-${version}`, paid(`/${version}/interactions`)],
      [`interactions-made-${version}`, free(`/${version}/interactions/**`)],
      [`file-search-${version}`, free(`/${version}/fileSearchStores/**`, each, names("fileSearchStores"))],
      [`tuned-models-${version}`, free(`/${version}/tunedModels/**`, patched, tuned)],
      // Its other methods, such as generateContent, run a model.
      [`tuned-model-calls-${version}`, paid(`/${version}/tunedModels/*`)],
      [`new-tuned-models-${version}`, paid(`/${version}/tunedModels`, unknown, make, tuned)],
      [`gemini-agents-${version}`, free(`/${version}/agents/**`, patched, [...ids, "$.agents[*].id"])],
      [
        `gemini-environments-${version}`,
        free(`/${version}/environments/**`, patched, [...ids, "$.environments[*].id"]),
      ],
      [`triggers-${version}`, free(`/${version}/triggers/**`, patched, [...ids, "$.triggers[*].id"])],
      [`trigger-runs-${version}`, paid(`/${version}/triggers/*/executions`)],
      [`gemini-credentials-${version}`, free(`/${version}/credentials/**`, patched, [...ids, "$.credentials[*].id"])],
      [`gemini-voices-${version}`, free(`/${version}/voices/**`, patched, [...ids, "$.voices[*].id"])],
    ]),
  ),
}

const cohere: Readonly<Record<string, Omit<KnownRoute, "id">>> = {
  datasets: free("/v1/datasets/**", each, ["$.id", "$.datasets[*].id"]),
  connectors: free("/v1/connectors/**", patched, ["$.connector.id", "$.connectors[*].id"]),
  "finetuned-models": free("/v1/finetuning/finetuned-models/**", patched, [
    "$.finetuned_model.id",
    "$.finetuned_models[*].id",
  ]),
  "new-finetuned-models": paid("/v1/finetuning/finetuned-models", unknown, make, ["$.finetuned_model.id"]),
  "embed-jobs": free("/v1/embed-jobs/**", each, ["$.job_id", "$.embed_jobs[*].job_id"]),
  "new-embed-jobs": paid("/v1/embed-jobs", unknown, make, ["$.job_id"]),
  "cohere-batches": free("/v2/batches/**", each, ["$.batch.id", "$.batches[*].id"]),
  "new-cohere-batches": paid("/v2/batches", unknown, make, ["$.batch.id"]),
  tokenize: free("/v1/tokenize", make, none),
  detokenize: free("/v1/detokenize", make, none),
  classify: paid("/v1/classify", unknown, make, none),
  generate: paid("/v1/generate", unknown, make, none),
  summarize: paid("/v1/summarize", unknown, make, none),
  parse: paid("/v2/parse", unknown, make, none),
}

const known: Readonly<Record<Mount, Readonly<Record<string, Omit<KnownRoute, "id">>>>> = {
  openai,
  anthropic,
  gemini,
  cohere,
}

/** Whether routes of an API are known. */
export const isKnownApi = (name: string): name is Mount => Object.hasOwn(known, name)

/** The routes of an API, with a vendor of the same name. A call whose cost is not known costs 1 USD. */
export const knownRoutes = (api: Mount): ReadonlyArray<PassThrough> =>
  Object.entries(known[api]).map(([id, { path, methods, owners, price, isMounted = true }]) => ({
    id,
    vendor: api,
    path,
    methods,
    ...(isMounted && { mount: api }),
    price,
    ...(price !== "free" && { hold: price["call"] ?? "1" }),
    ...(owners !== undefined && { owners }),
  }))

/** The routes whose price the operator has to set. */
export const unpricedOf = (routes: ReadonlyArray<PassThrough>): ReadonlyArray<string> =>
  routes.flatMap(({ id, price }) => (price === unknown ? [id] : []))
