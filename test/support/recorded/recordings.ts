/** Recorded vendor traffic. Without it, Vitest leaves out the tests of this folder. */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { Schema, SchemaGetter } from "effect"
import type { ClientApiName } from "../../../src/dialects/carry/carried-request.ts"
import type { ChatDialect } from "../../../src/dialects/chat-dialect.ts"
import { objectAt, parseObject } from "../../../src/dialects/parse/json.ts"
import type { ChatProfileName } from "../../../src/protocol/catalogue/vendor.ts"
import { chatOf } from "../chat-of.ts"
import { recordedFolder } from "./recorded-folder.ts"

const BytesAsLatin1 = Schema.Struct({ base64: Schema.String }).pipe(
  Schema.decodeTo(Schema.String, {
    decode: SchemaGetter.transform(({ base64 }) => Buffer.from(base64, "base64").toString("latin1")),
    encode: SchemaGetter.transform((latin1) => ({ base64: Buffer.from(latin1, "latin1").toString("base64") })),
  }),
)

const Recording = Schema.Struct({
  request: Schema.NullOr(Schema.Struct({ path: Schema.String, body: Schema.Unknown })),
  response: Schema.Struct({
    status: Schema.Int,
    contentType: Schema.NullOr(Schema.String),
    headers: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
    /** Text, or bytes as latin1. */
    body: Schema.Union([Schema.String, BytesAsLatin1]),
  }),
})
export type Recording = typeof Recording.Type

const decode = Schema.decodeUnknownSync(Schema.fromJsonString(Recording))

/** All recordings of one vendor by name; none if the machine has none. */
export const recordingsOf = (vendor: string): ReadonlyArray<readonly [name: string, recording: Recording]> =>
  filesOf(vendor).map(([name, text]) => [name, decode(text)] as const)

const filesOf = (vendor: string): ReadonlyArray<readonly [name: string, text: string]> => {
  const root = recordedFolder()
  const path = root === undefined ? undefined : join(root, vendor)
  if (path === undefined || !existsSync(path)) return []
  return readdirSync(path)
    .filter((name) => name.endsWith(".json"))
    .map((name) => [name, readFileSync(join(path, name), "utf8")] as const)
}

/** The messages that were sent and received on one WebSocket. */
const SocketRecording = Schema.Struct({
  response: Schema.Struct({
    messages: Schema.Array(
      Schema.Struct({
        direction: Schema.Literals(["sent", "received"]),
        data: Schema.Record(Schema.String, Schema.Unknown),
      }),
    ),
  }),
})
export type SocketMessages = (typeof SocketRecording.Type)["response"]["messages"]

const decodeSocket = Schema.decodeUnknownSync(Schema.fromJsonString(SocketRecording))

/** All recorded sockets of one vendor by name; none if the machine has none. */
export const socketsOf = (vendor: string): ReadonlyArray<readonly [name: string, messages: SocketMessages]> =>
  filesOf(vendor).map(([name, text]) => [name, decodeSocket(text).response.messages] as const)

export const isStream = ({ response }: Recording): boolean => response.contentType?.includes("event-stream") === true

/** Some error replies were recorded without their status. */
export const isError = ({ response }: Recording): boolean =>
  response.status >= 400 || objectAt(parseObject(response.body), "error") !== undefined

export interface Corpus {
  readonly folder: string
  readonly name: ClientApiName
  readonly profile: ChatProfileName | undefined
  readonly dialect: ChatDialect
}

const corpus = (folder: string, name: ClientApiName, profile?: ChatProfileName): Corpus => ({
  folder,
  name,
  profile,
  dialect: chatOf({ dialect: name, ...(profile !== undefined && { profile }) }),
})

const compatible = (vendor: string, profile: ChatProfileName): Corpus =>
  corpus(`compat-${vendor}`, "openai-chat", profile)

/** Every folder of recordings, with its dialect and profile. */
export const corpora: ReadonlyArray<Corpus> = [
  corpus("openai-chat", "openai-chat"),
  corpus("openai-responses", "openai-responses"),
  corpus("anthropic", "anthropic"),
  corpus("gemini", "gemini"),
  compatible("cerebras", "cerebras"),
  compatible("deepseek", "deepseek"),
  compatible("generic", "generic"),
  compatible("groq", "groq"),
  compatible("huggingface", "generic"),
  compatible("mistral", "mistral"),
  compatible("moonshot", "moonshot"),
  compatible("openrouter", "openrouter"),
  compatible("perplexity", "perplexity"),
  compatible("qwen", "qwen"),
  compatible("xai", "xai"),
  compatible("zai", "zai"),
]
