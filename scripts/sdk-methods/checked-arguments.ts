/** Arguments for methods that check their request before they send it; the ids in braces are seen in the route. */
import type { Sdk } from "./clients.ts"

const name = "{name}"
const entry = { environment: "{environment}", path: "{path}", file: new Blob(["Hello"]), mime_type: "text/plain" }
const fileSearchStoreName = "fileSearchStores/{store}"
const upload = { fileSearchStoreName, file: new Blob(["Hello"]), config: { mimeType: "text/plain" } }
const settings = { baseModel: { baseType: "BASE_TYPE_CHAT" }, datasetId: "{dataset_id}" }
const operation = { name: "models/{model}/operations/{operation}", _fromAPIResponse: () => ({}) }
const googleAuth = { getRequestHeaders: () => Promise.resolve(new Headers({ authorization: "Bearer x" })) }

type ById = Readonly<Record<string, ReadonlyArray<unknown>>>

export const checkedArguments: Readonly<Partial<Record<Sdk["name"], ById>>> = {
  openai: {
    "beta.threads.runs.update": ["{run_id}", { thread_id: "{thread_id}" }],
    "beta.threads.runs.steps.retrieve": ["{step_id}", { thread_id: "{thread_id}", run_id: "{run_id}" }],
  },
  "@google/genai": {
    "batches.get": [{ name: "batches/{batch}" }],
    "batches.cancel": [{ name: "batches/{batch}" }],
    "batches.delete": [{ name: "batches/{batch}" }],
    "environments.files.list": [entry],
    "environments.files.download": [entry],
    "environments.files.upload": [entry],
    "fileSearchStores.get": [{ name: fileSearchStoreName }],
    "fileSearchStores.delete": [{ name: fileSearchStoreName }],
    "fileSearchStores.importFile": [{ fileSearchStoreName, fileName: "files/{file}" }],
    "fileSearchStores.uploadToFileSearchStore": [upload],
    "fileSearchStores.downloadMedia": [`${fileSearchStoreName}/media/{blob}`],
    "fileSearchStores.documents.list": [{ parent: fileSearchStoreName }],
    "fileSearchStores.documents.get": [{ name: `${fileSearchStoreName}/documents/{document}` }],
    "fileSearchStores.documents.delete": [{ name: `${fileSearchStoreName}/documents/{document}` }],
    "files.upload": [{ file: new Blob(["Hello"]), config: { mimeType: "text/plain" } }],
    "files.download": [{ file: "files/{file}", downloadPath: "/dev/null" }],
    "files.registerFiles": [{ auth: googleAuth, uris: ["gs://river/a.txt"] }],
    "operations.get": [{ operation }],
    "operations.getVideosOperation": [{ operation }],
    "tunings.get": [{ name: "tunedModels/{model}" }],
    "tunings.validateReward": [{ parent: "projects/p/locations/l" }],
    "tunings.cancel": [{ name: "tunedModels/{model}" }],
  },
  "cohere-ai": {
    chat: [{ message: "Hello" }],
    chatStream: [{ message: "Hello" }],
    classify: [{ inputs: ["Hello"] }],
    detokenize: [{ tokens: [1], model: "main" }],
    generate: [{ prompt: "Hello" }],
    generateStream: [{ prompt: "Hello" }],
    rerank: [{ query: "Hello", documents: [] }],
    summarize: [{ text: "Hello" }],
    tokenize: [{ text: "Hello", model: "main" }],
    "v2.chat": [{ model: "main", messages: [] }],
    "v2.chatStream": [{ model: "main", messages: [] }],
    "v2.embed": [{ model: "main", inputType: "search_document" }],
    "v2.parse": [{ model: "main", document: { type: "image_url", imageUrl: "https://example.com/a.png" } }],
    "v2.rerank": [{ model: "main", query: "Hello", documents: [] }],
    "batches.create": [{ name, inputDatasetId: "{dataset_id}", model: "{model}" }],
    "embedJobs.create": [{ model: "{model}", datasetId: "{dataset_id}", inputType: "search_document" }],
    "connectors.create": [{ name, url: "https://example.com" }],
    "datasets.create": [new Blob(["{}"]), null, { name, type: "embed-input" }],
    "finetuning.createFinetunedModel": [{ name, settings }],
    "finetuning.updateFinetunedModel": ["{id}", { name, settings }],
  },
}
