/**
 * Recorded clients' requests, sent by Weir: each recorded request is read into twp/1, encoded by the dialect and read
 * again, and must mean the same. Requests that twp/1 cannot express are counted by reason.
 */
import { Result } from "effect"
import { describe, expect, it } from "vitest"
import type { VendorRequest } from "../../src/dialects/chat-dialect.ts"
import type { ChatProfile } from "../../src/dialects/openai-chat/chat-profile.ts"
import { chatProfiles } from "../../src/dialects/openai-chat/profiles.ts"
import { type JsonObject, parseObject } from "../../src/dialects/parse/json.ts"
import { type Corpus, corpora, recordingsOf } from "../support/recorded/recordings.ts"
import { readMessages } from "./requests/anthropic.ts"
import { readChat } from "./requests/chat.ts"
import { readGenerate } from "./requests/gemini.ts"
import { Beyond, json } from "./requests/reading.ts"
import { readResponses } from "./requests/responses.ts"

const read = ({ name, profile }: Corpus, body: JsonObject, path: string): VendorRequest => {
  const chat: ChatProfile = chatProfiles[profile ?? "openai"]
  switch (name) {
    case "openai-chat":
      return readChat(body, chat)
    case "openai-responses":
      return readResponses(body)
    case "anthropic":
      return readMessages(body)
    case "gemini":
      return readGenerate(body, path)
  }
}

const readOrName = (corpus: Corpus, body: JsonObject, path: string): VendorRequest | string => {
  try {
    return read(corpus, body, path)
  } catch (error) {
    if (error instanceof Beyond) return error.message
    throw error
  }
}

const table = (folder: string, same: number, beyond: ReadonlyMap<string, number>): string => {
  const all = [...beyond.values()].reduce((sum, count) => sum + count, same)
  const named = [...beyond].sort(([, a], [, b]) => b - a).map(([what, count]) => `${what} ${count}`)
  return [
    `${folder}: ${same} of ${all} requests mean the same`,
    ...(named.length > 0 ? [`  beyond twp/1: ${named.join(", ")}`] : []),
  ].join("\n")
}

const requestsOf = ({ folder }: Corpus) =>
  recordingsOf(folder).flatMap(([file, { request }]) =>
    request === null ? [] : [{ file, path: request.path, body: json(request.body) }],
  )

/** For some vendors only replies were recorded. */
const withRequests = corpora.filter((corpus) => requestsOf(corpus).length > 0)

describe.each(withRequests.length === 0 ? corpora : withRequests)("requests of $folder", (corpus) => {
  const asked = requestsOf(corpus)

  it.skipIf(asked.length === 0)("are encoded with the same meaning", () => {
    const beyond = new Map<string, number>()
    let same = 0
    for (const { file, path, body } of asked) {
      const wanted = readOrName(corpus, body, path)
      if (typeof wanted === "string") {
        beyond.set(wanted, (beyond.get(wanted) ?? 0) + 1)
        continue
      }
      const wire = Result.getOrThrow(corpus.dialect.encode(wanted))
      const got = readOrName(corpus, parseObject(wire.body) ?? {}, wire.path)
      expect(got, file).toEqual(wanted)
      same++
    }
    console.log(table(corpus.folder, same, beyond))
    expect(same).toBeGreaterThan(0)
  })
})
