/**
 * Recorded exchanges through the whole gateway by their own API: the request goes in as its client sent it, the recorded
 * answer comes back from the vendor, and what the client gets means the same.
 */
import { describe, expect, it } from "vitest"
import type { ClientApiName } from "../../src/dialects/carry/carried-request.ts"
import { isObject, type JsonObject } from "../../src/dialects/parse/json.ts"
import { type Meaning, meaningOf, streamed } from "../support/recorded/meaning.ts"
import {
  type Corpus,
  corpora,
  isError,
  isStream,
  type Recording,
  recordingsOf,
} from "../support/recorded/recordings.ts"
import { odd } from "./odd.ts"
import { replaying, useRecordedGateway } from "./recorded-gateway.ts"

const gateway = useRecordedGateway()

const paths: Readonly<Record<Exclude<ClientApiName, "gemini">, string>> = {
  "openai-chat": "/openai/v1/chat/completions",
  "openai-responses": "/openai/v1/responses",
  anthropic: "/anthropic/v1/messages",
}

const routeOf = ({ name, folder }: Corpus, path: string): string => {
  if (name !== "gemini") return paths[name]
  return `/gemini/v1beta/models/rec-${folder}:${path.includes(":stream") ? "streamGenerateContent?alt=sse" : "generateContent"}`
}

/** The recorded request for this gateway's model; streamed if its answer was. */
const bodyOf = ({ name, folder }: Corpus, body: JsonObject, streams: boolean): JsonObject => {
  if (name === "gemini") return body
  const { stream_options: options } = body
  // A client that does not ask for its usage does not get it.
  const withUsage = name === "openai-chat" &&
    streams && { stream_options: { ...asObject(options), include_usage: true } }
  return { ...body, model: `rec-${folder}`, stream: streams, ...withUsage }
}

const asObject = (value: unknown): object => (isObject(value) ? value : {})

interface Exchanged {
  readonly corpus: Corpus
  readonly file: string
  readonly recording: Recording
  readonly path: string
  readonly body: JsonObject
}

const exchanged = (corpus: Corpus): ReadonlyArray<Exchanged> =>
  recordingsOf(corpus.folder).flatMap(([file, recording]) => {
    const { request, response } = recording
    if (request === null || !isObject(request.body) || isError(recording) || odd[file] !== undefined) return []
    if (response.body.length > 512 * 1024 || /count/i.test(request.path)) return []
    return [{ corpus, file, recording, path: request.path, body: request.body }]
  })

const call = async ({ corpus, recording, path, body }: Exchanged) => {
  gateway().vendor.script(replaying(recording))
  const { baseUrl, keyId, key } = gateway()
  const reply = await fetch(`${baseUrl}${routeOf(corpus, path)}`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": `${keyId}~${key}` },
    body: JSON.stringify(bodyOf(corpus, body, isStream(recording))),
  })
  return { status: reply.status, text: await reply.text() }
}

/** Several replies may be recorded in one file; the first one belongs to the request. */
const firstOf = (corpus: Corpus, { response }: Recording, isStreamed: boolean): Meaning => {
  const events = isStreamed ? streamed(corpus.dialect, response.body) : corpus.dialect.decodeBody(response.body)
  const done = events.findIndex(({ kind }) => kind === "done")
  return meaningOf(done === -1 ? events : events.slice(0, done))
}

const refused: Array<string> = []

// Some folders have answers only.
const asked = corpora.filter((corpus) => exchanged(corpus).length > 0)

describe.each(asked)("recorded exchanges of $folder, by their own API", (corpus) => {
  const all = exchanged(corpus)

  it("mean the same; what is refused is named", { timeout: 120_000 }, async () => {
    const wrong: Array<unknown> = []
    for (const one of all) {
      const { status, text } = await call(one)
      if (status === 400) {
        refused.push(one.file)
        // A response that the vendor kept is not known to this gateway.
        const unknown = one.body["previous_response_id"] === undefined ? "" : "|previous_response_not_found"
        expect(text, one.file).toMatch(new RegExp(`bad_request|image_not_supported${unknown}`))
        continue
      }
      const isStreamed = isStream(one.recording)
      const meant = firstOf(corpus, one.recording, isStreamed)
      const read =
        status === 200
          ? meaningOf(isStreamed ? streamed(corpus.dialect, text) : corpus.dialect.decodeBody(text))
          : undefined
      if (JSON.stringify(read) !== JSON.stringify(meant)) wrong.push({ file: one.file, status, read, meant })
    }
    expect(wrong).toEqual([])
  })
})

const total = asked.flatMap(exchanged).length
it.skipIf(total === 0)("of a hundred recorded exchanges, 97 are served", () => {
  expect(1 - refused.length / total).toBeGreaterThan(0.97)
})
