/** Transcription towards clients of Cohere's API. Source: https://docs.cohere.com/reference/create-audio-transcription */
import type { TranscriptionResponse } from "../../protocol/kinds/transcription.ts"
import { all, carried, FieldReader, type FieldTable, present } from "../client/fields.ts"
import type { MediaClient } from "../openai-chat/media-client.ts"
import { cohereErrors } from "./whole-client.ts"

const fields: FieldTable = all(carried, "model", "language", "temperature")

export const cohereTranscriptions: MediaClient<TranscriptionResponse> = {
  name: "Cohere transcriptions",
  errors: cohereErrors,
  fields,
  fieldNames: [],
  types: { numbers: ["temperature"] },
  files: { file: "file" },
  decode: (body) => {
    const reader = new FieldReader()
    reader.check(fields, body, "")
    return reader.result({
      omitted: reader.omitted,
      model: reader.string(body["model"], "model"),
      request: present({ language: body["language"], temperature: body["temperature"] }),
      reply: ({ text }) => ({ text }),
    })
  },
}
