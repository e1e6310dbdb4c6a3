/** Real arguments for methods of Anthropic's SDK. */
import type Anthropic from "@anthropic-ai/sdk"
import { toFile } from "@anthropic-ai/sdk"
import { type Uses, untilDone } from "./prepared.ts"

const message = { model: "main", max_tokens: 100, messages: [{ role: "user" as const, content: "Hello, river" }] }
const requests = [{ custom_id: "a", params: message }]

export const anthropicUses = (client: Anthropic): Uses => {
  const file = async () => (await client.files.upload({ file: await toFile(Buffer.from("Hello"), "a.txt") })).id
  const batch = async () => (await client.messages.batches.create({ requests })).id
  const endedBatch = async () => {
    const id = await batch()
    await untilDone(
      () => client.messages.batches.retrieve(id),
      ({ processing_status }) => processing_status === "ended",
    )
    return id
  }
  const withFile = async () => [await file()]
  return {
    "messages.create": async () => [message],
    "messages.countTokens": async () => [{ model: "main", messages: message.messages }],
    "messages.batches.create": async () => [{ requests }],
    "messages.batches.retrieve": async () => [await batch()],
    "messages.batches.delete": async () => [await endedBatch()],
    "messages.batches.cancel": async () => [await batch()],
    "messages.batches.results": async () => [await endedBatch()],
    "models.retrieve": async () => ["main"],
    "files.upload": async () => [{ file: await toFile(Buffer.from("Hello"), "a.txt") }],
    "files.delete": withFile,
    "files.download": withFile,
    "files.retrieveMetadata": withFile,
  }
}
