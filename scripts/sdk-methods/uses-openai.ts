/** Real arguments for methods of OpenAI's SDK. */
import type OpenAI from "openai"
import { toFile } from "openai"
import { png, wavOf } from "../../test/support/media-samples.ts"
import { type Uses, untilDone } from "./prepared.ts"

const messages = [{ role: "user", content: "Hello, river" }] as const
const line = { custom_id: "a", method: "POST", url: "/v1/chat/completions", body: { model: "main", messages } }

export const openaiUses = (client: OpenAI): Uses => {
  const file = async (text = "Hello, river", purpose: OpenAI.FilePurpose = "user_data") =>
    (
      await client.files.create({
        file: await toFile(Buffer.from(text), `river.${purpose === "batch" ? "jsonl" : "txt"}`),
        purpose,
      })
    ).id
  const batchOf = async () => ({
    input_file_id: await file(JSON.stringify(line), "batch"),
    endpoint: "/v1/chat/completions" as const,
    completion_window: "24h" as const,
  })
  const batch = async () => (await client.batches.create(await batchOf())).id
  const upload = async () =>
    (await client.uploads.create({ filename: "a.txt", purpose: "user_data", bytes: 5, mime_type: "text/plain" })).id
  const part = async (id: string) =>
    (await client.uploads.parts.create(id, { data: await toFile(Buffer.from("Hello"), "part") })).id
  const response = async (background = false) =>
    (await client.responses.create({ model: "main", input: "Hello, river", background })).id
  const item = { type: "message" as const, role: "user" as const, content: "Hello, river" }
  const conversation = async () => (await client.conversations.create({ items: [item] })).id
  const itemIn = async (conversation_id: string) => {
    const { data } = await client.conversations.items.list(conversation_id)
    return [data[0]?.id ?? "", { conversation_id }]
  }
  const video = async () => (await client.videos.create({ model: "film", prompt: "a river" })).id
  const finishedVideo = async () => {
    const id = await video()
    await untilDone(
      () => client.videos.retrieve(id),
      ({ status }) => status === "completed",
    )
    return id
  }
  const withFile = async () => [await file()]
  const withBatch = async () => [await batch()]
  const withConversation = async () => [await conversation()]
  return {
    "completions.create": async () => [{ model: "main", prompt: "Hello, river" }],
    "chat.completions.create": async () => [{ model: "main", messages }],
    "embeddings.create": async () => [{ model: "embed", input: "a river" }],
    "files.create": async () => [{ file: await toFile(Buffer.from("Hello"), "a.txt"), purpose: "user_data" }],
    "files.retrieve": withFile,
    "files.delete": withFile,
    "files.content": withFile,
    "images.generate": async () => [{ model: "draw", prompt: "a river" }],
    "images.edit": async () => [
      { model: "draw", prompt: "a river", image: await toFile(png, "a.png", { type: "image/png" }) },
    ],
    "images.createVariation": async () => [{ model: "draw", image: await toFile(png, "a.png", { type: "image/png" }) }],
    "audio.transcriptions.create": async () => [{ model: "hear", file: await toFile(wavOf(1), "a.wav") }],
    "audio.translations.create": async () => [{ model: "hear", file: await toFile(wavOf(1), "a.wav") }],
    "audio.speech.create": async () => [{ model: "say", input: "a river", voice: "alloy" }],
    "moderations.create": async () => [{ model: "moderate", input: "a river" }],
    "models.retrieve": async () => ["main"],
    "batches.create": async () => [await batchOf()],
    "batches.retrieve": withBatch,
    "batches.cancel": withBatch,
    "uploads.create": async () => [{ filename: "a.txt", purpose: "user_data", bytes: 5, mime_type: "text/plain" }],
    "uploads.cancel": async () => [await upload()],
    "uploads.complete": async () => {
      const id = await upload()
      return [id, { part_ids: [await part(id)] }]
    },
    "uploads.parts.create": async () => [await upload(), { data: await toFile(Buffer.from("Hello"), "part") }],
    "responses.create": async () => [{ model: "main", input: "Hello, river" }],
    "responses.retrieve": async () => [await response()],
    "responses.delete": async () => [await response()],
    "responses.cancel": async () => [await response(true)],
    "responses.compact": async () => [{ model: "main", input: "Hello, river" }],
    "responses.inputItems.list": async () => [await response()],
    "responses.inputTokens.count": async () => [{ model: "main", input: "Hello, river" }],
    "conversations.create": async () => [{}],
    "conversations.retrieve": withConversation,
    "conversations.update": async () => [await conversation(), { metadata: { place: "river" } }],
    "conversations.delete": withConversation,
    "conversations.items.create": async () => [await conversation(), { items: [item] }],
    "conversations.items.retrieve": async () => itemIn(await conversation()),
    "conversations.items.list": withConversation,
    "conversations.items.delete": async () => itemIn(await conversation()),
    "realtime.clientSecrets.create": async () => [{ session: { type: "realtime", model: "talk" } }],
    "videos.create": async () => [{ model: "film", prompt: "a river" }],
    "videos.retrieve": async () => [await video()],
    "videos.delete": async () => [await video()],
    "videos.downloadContent": async () => [await finishedVideo()],
    "videos.remix": async () => [await finishedVideo(), { prompt: "a wide river" }],
  }
}
