/**
 * The lists of src/docs/reference/compatible.md: the outcome of each field of the compatible APIs, from the tables by which
 * requests are decoded, and the outcome of a request at each vendor.
 */
import { fileURLToPath } from "node:url"
import { messagesApi } from "../../src/dialects/anthropic/client.ts"
import { converseApi } from "../../src/dialects/bedrock/converse-client.ts"
import type { ClientApi } from "../../src/dialects/client/client-api.ts"
import type { FieldRule, FieldTable } from "../../src/dialects/client/fields.ts"
import { cohereChatApi, cohereV1Api } from "../../src/dialects/cohere/client.ts"
import { cohereTranscriptions } from "../../src/dialects/cohere/transcription-client.ts"
import { cohereEmbed, cohereRerankClient, cohereRerankV1 } from "../../src/dialects/cohere/whole-client.ts"
import { createCache } from "../../src/dialects/gemini/cache-client.ts"
import { generateApi } from "../../src/dialects/gemini/client.ts"
import { generationFields } from "../../src/dialects/gemini/client-request.ts"
import { predictEmbeddings } from "../../src/dialects/gemini/predict-client.ts"
import { embedContent } from "../../src/dialects/gemini/whole-client.ts"
import { chatApi } from "../../src/dialects/openai-chat/client.ts"
import { completionApi } from "../../src/dialects/openai-chat/completion-client.ts"
import { openaiEdits, openaiGenerations, openaiSpeechClient } from "../../src/dialects/openai-chat/media-client.ts"
import { openaiTranscriptions } from "../../src/dialects/openai-chat/transcription-client.ts"
import { openaiRemixes, openaiVideos } from "../../src/dialects/openai-chat/video-client.ts"
import { openaiEmbeddings, openaiModerations, sharedRerankClient } from "../../src/dialects/openai-chat/whole-client.ts"
import { responsesApi } from "../../src/dialects/openai-responses/client.ts"
import { pairTable } from "./pairs.ts"
import { wordTables } from "./words.ts"

export const page = fileURLToPath(new URL("../../src/docs/reference/compatible.md", import.meta.url))

const lists: ReadonlyArray<readonly [Pick<ClientApi, "name">, string, FieldTable]> = [
  [chatApi, "", chatApi.fields],
  [completionApi, "", completionApi.fields],
  [responsesApi, "", responsesApi.fields],
  [messagesApi, "", messagesApi.fields],
  [converseApi, "", converseApi.fields],
  [cohereChatApi, "", cohereChatApi.fields],
  [cohereV1Api, "", cohereV1Api.fields],
  [generateApi, "", generateApi.fields],
  [generateApi, ", `generationConfig`", generationFields],
  ...[
    openaiEmbeddings,
    openaiModerations,
    sharedRerankClient,
    embedContent,
    predictEmbeddings,
    createCache(Date.now),
    cohereEmbed,
    cohereRerankClient,
    cohereRerankV1,
    openaiGenerations,
    openaiEdits,
    openaiSpeechClient,
    openaiTranscriptions,
    cohereTranscriptions,
    openaiVideos,
    openaiRemixes,
  ].map((client) => [client, "", client.fields] as const),
]

const namesOf = (fields: FieldTable, list: FieldRule["list"]) =>
  Object.entries(fields).filter(([, rule]) => rule.list === list)

const ticked = (text: string) => `\`${text}\``

/** Fields with their reasons, those with the same reason together. */
const reasoned = (fields: FieldTable, list: "without effect" | "refused"): string => {
  const groups = new Map<string, Array<string>>()
  for (const [name, rule] of namesOf(fields, list)) {
    const why = "why" in rule ? rule.why : ""
    groups.set(why, [...(groups.get(why) ?? []), ticked(name)])
  }
  return [...groups].map(([why, names]) => `${names.join(", ")} (${why})`).join("; ")
}

const tableOf = ([api, part, fields]: (typeof lists)[number]): string => {
  const neutral = namesOf(fields, "neutral").map(
    ([name, rule]) =>
      `${ticked(name)} ${("values" in rule ? rule.values : []).map((one) => ticked(JSON.stringify(one))).join(" or ")}${"why" in rule ? ` (for others, ${rule.why})` : ""}`,
  )
  const own = namesOf(fields, "own").map(([name]) => ticked(name))
  const carried = namesOf(fields, "carried").map(([name]) => ticked(name))
  return `### ${api.name}${part}

- **carried**: ${carried.join(", ")}
- **without effect**: ${reasoned(fields, "without effect") || "none"}
- **its own API only**: ${own.join(", ") || "none"}
- **neutral values only**: ${neutral.join(", ") || "none"}
- **refused**: ${reasoned(fields, "refused") || "none"}
`
}

const mark = "<!-- Made by npm run docs from the tables in src/dialects. -->\n"

/** The page with its lists as the code has them. */
export const withLists = (text: string): string =>
  `${text.slice(0, text.indexOf(mark) + mark.length)}\n${lists.map(tableOf).join("\n")}\n${pairs()}\n${words()}`

const pairs = (): string => `## The handling at each vendor

Each field of a client's API reaches each dialect, except for the fields in this table. A request that a target does not support
goes to the model's next target, or is a \`bad_request\` with \`detail.capability\`. Reasoning reaches the vendor that signed it.

${pairTable()}`

const words = (): string => `## The names of fields in each API

Fields of \`twp/1\` that not every API has, for models that support them. A client's API and its vendors' API have a field in the
same place; \`(to vendors)\` and \`(to clients)\` mark what only one side of the gateway writes.

${wordTables()}`
