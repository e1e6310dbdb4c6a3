/**
 * Embeddings towards clients of Vertex AI, whose path is that of pictures too. Source:
 * https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/text-embeddings-api
 */
import { type EmbeddingResponse, maxEmbeddingInputs } from "../../protocol/kinds/embedding.ts"
import { all, carried, FieldReader, type FieldTable, present, refused } from "../client/fields.ts"
import type { WholeClient } from "../client/whole-client.ts"
import { objectsAt, parseObject } from "../parse/json.ts"
import { geminiErrors, purposes } from "./whole-client.ts"

/** Whether a prediction is asked for texts: pictures have prompts. */
export const predictsTexts = (bytes: Uint8Array): boolean => {
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  if (!body.includes('"content"')) return false
  const read = parseObject(body.toString("utf8"))
  // A body with more values than are read here has many texts.
  return read === undefined || objectsAt(read, "instances").some((instance) => "content" in instance)
}

const predictFields: FieldTable = all(carried, "instances", "parameters")

const instanceFields: FieldTable = {
  ...all(carried, "content", "task_type", "taskType"),
  ...all(refused("no vendor but Gemini knows titles"), "title"),
  ...all(refused("texts are embedded"), "mimeType"),
}

const parameterFields: FieldTable = all(carried, "outputDimensionality", "autoTruncate")

export const predictEmbeddings: WholeClient<EmbeddingResponse> = {
  name: "Vertex AI embeddings",
  errors: geminiErrors,
  fields: { ...predictFields, ...instanceFields, ...parameterFields },
  fieldNames: [
    ["dimensions", "parameters.outputDimensionality"],
    ["inputType", "instances.0.task_type"],
    ["truncate", "parameters.autoTruncate"],
    ["input", "instances"],
  ],
  decode: (body, model) => {
    const reader = new FieldReader()
    reader.check(predictFields, body, "")
    const parameters = reader.optionalObject(body["parameters"], "parameters")
    reader.check(parameterFields, parameters, "parameters")
    const listed = reader.list(body["instances"], "instances")
    if (listed.length > maxEmbeddingInputs) reader.refuse("instances", `has more than ${maxEmbeddingInputs} elements`)
    const read = listed.slice(0, maxEmbeddingInputs).map((value, at) => {
      const instance = reader.checked(instanceFields, value, `instances.${at}`)
      const task = instance["task_type"] ?? instance["taskType"]
      return {
        text: reader.string(instance["content"], `instances.${at}.content`),
        inputType: reader.word(purposes, task, `instances.${at}.task_type`),
      }
    })
    const [first] = read
    const other = read.findIndex(({ inputType }) => inputType !== first?.inputType)
    if (other > 0) reader.refuse(`instances.${other}.task_type`, "must be that of the first")
    const texts = read.map(({ text }) => text)
    return reader.result({
      omitted: reader.omitted,
      model,
      request: present({
        input: texts,
        inputType: first?.inputType,
        dimensions: parameters["outputDimensionality"],
        // The API cuts texts unless it is asked not to.
        truncate: parameters["autoTruncate"] ?? true,
      }),
      reply: ({ vectors, usage }) => {
        const counts = sharedOut(usage.inTokens, texts)
        return {
          predictions: vectors.map((values, at) => ({
            embeddings: { values, statistics: { token_count: counts[at] ?? 0, truncated: false } },
          })),
        }
      },
    })
  },
}

/** The tokens of all texts, shared out by the lengths of the texts: vendors report their sum alone. */
const sharedOut = (tokens: number, texts: ReadonlyArray<string>): ReadonlyArray<number> => {
  const whole = texts.reduce((sum, text) => sum + text.length, 0)
  let length = 0
  let before = 0
  return texts.map((text) => {
    length += text.length
    const until = whole === 0 ? 0 : Math.round((tokens * length) / whole)
    const own = until - before
    before = until
    return own
  })
}
