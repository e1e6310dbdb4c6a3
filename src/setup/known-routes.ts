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
const ids = ["$.id", "$.data[*].id"]
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
  readonly headers?: ReadonlyArray<string>
}

const free = (
  path: string,
  methods = each,
  owners: ReadonlyArray<string> | undefined = ids,
): Omit<KnownRoute, "id"> => ({
  path,
  methods,
  price: "free",
  ...(owners !== undefined && { owners }),
})
const paid = (
  path: string,
  price: Price = unknown,
  methods = make,
  owners: ReadonlyArray<string> | undefined = ids,
): Omit<KnownRoute, "id"> => ({ ...free(path, methods, owners), price })

const openai: Readonly<Record<string, Omit<KnownRoute, "id">>> = {
  "vector-stores": free("/vector_stores/**"),
  "vector-store-search": paid("/vector_stores/*/search", priced("0.0025")),
  containers: free("/containers/**"),
  "new-containers": paid("/containers", priced("0.03")),
  skills: free("/skills/**"),
  evals: free("/evals/**"),
  "eval-runs": paid("/evals/*/runs"),
  "fine-tuning": free("/fine_tuning/**", each, [...ids, "$.fine_tuned_model"]),
  "new-fine-tuning": paid("/fine_tuning/jobs"),
  graders: paid("/fine_tuning/alpha/graders/**", unknown, make, undefined),
  "tuned-models": free("/models/*", ["DELETE"]),
  assistants: free("/assistants/**"),
  threads: free("/threads/**"),
  "thread-runs": paid("/threads/*/runs"),
  "new-thread-runs": paid("/threads/runs", unknown, make, ["$.id", "$.thread_id"]),
  "tool-outputs": paid("/threads/*/runs/*/submit_tool_outputs"),
  "chatkit-threads": free("/chatkit/threads/**"),
  "chatkit-sessions": paid("/chatkit/sessions/**"),
  agents: free("/agents/**"),
  "agent-sessions": paid("/agents/sessions"),
  "agent-events": paid("/agents/sessions/*/events"),
  "agent-invocations": paid("/agents/automations/*/invocations"),
  vaults: free("/vaults/**"),
  voices: free("/audio/voices/**"),
  "voice-consents": free("/audio/voice_consents/**"),
  "image-variations": paid("/images/variations", priced("0.02"), make, undefined),
  "video-characters": paid("/videos/characters/**", unknown, ["GET", "POST"]),
  "video-edits": paid("/videos/edits"),
  "video-extensions": paid("/videos/extensions"),
  decisions: paid("/decisions"),
  "provenance-checks": paid("/content_provenance_checks", unknown, make, undefined),
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
  tokenize: free("/v1/tokenize", make, undefined),
  detokenize: free("/v1/detokenize", make, undefined),
  classify: paid("/v1/classify", unknown, make, undefined),
  generate: paid("/v1/generate", unknown, make, undefined),
  summarize: paid("/v1/summarize", unknown, make, undefined),
  parse: paid("/v2/parse", unknown, make, undefined),
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
  Object.entries(known[api]).map(([id, { path, methods, owners, price, headers }]) => ({
    id,
    vendor: api,
    path,
    methods,
    mount: api,
    price,
    ...(price !== "free" && { hold: price["call"] ?? "1" }),
    ...(owners !== undefined && { owners }),
    ...(headers !== undefined && { headers }),
  }))

/** The routes whose price the operator has to set. */
export const unpricedOf = (routes: ReadonlyArray<PassThrough>): ReadonlyArray<string> =>
  routes.flatMap(({ id, price }) => (price === unknown ? [id] : []))
