/**
 * The simulated vendor, on loopback: a twin of chat completions that repeats the question, calls a tool that the question
 * names, and refuses the requests that vendors refuse. It answers SearXNG searches, embeds, ranks and moderates texts by
 * their words, speaks in realtime sessions, keeps vector stores by name, has a server of tools, and lists its models.
 */
import type { Effect, Scope } from "effect"
import {
  type ScriptedVendor,
  startScriptedVendor,
  type VendorCall,
  type VendorScript,
} from "../testing/scripted-vendor.ts"
import { chatTwins } from "../testing/twins/openai/chat-twin.ts"
import { repeating } from "../testing/twins/repeating.ts"
import { answerAs, refuseAs } from "../testing/twins/twin.ts"
import { answerWhole } from "./simulated-kinds.ts"
import { speakLive } from "./simulated-live.ts"
import { answerMedia } from "./simulated-media.ts"
import { answerWithParameters, refusedField, refuseField, showsParameters } from "./simulated-parameters.ts"
import { speakRealtime } from "./simulated-realtime.ts"
import { answerStores } from "./simulated-stores.ts"
import { answerTools } from "./simulated-tools.ts"

const pauseMs = 40

/** The tokens of a tool call. */
const callTokens = 20

/** A server that has every parameter. */
const twin = chatTwins.generic

const answer: VendorScript = (call) => {
  if (call.path === "/v1/models") return list(call)
  if (call.path.startsWith("/search?")) return find(call)
  const stores = answerStores(call)
  if (stores !== undefined) return json(call, stores.json, stores.status)
  const tools = answerTools(call)
  if (tools !== undefined) return json(call, tools.json, tools.status)
  const whole = answerWhole(call)
  if (whole !== undefined) return json(call, whole)
  const media = answerMedia(call)
  if (media !== undefined) return "json" in media ? json(call, media.json) : sound(call, media)
  return chat(call)
}

const sound = (call: VendorCall, { type, bytes }: { readonly type: string; readonly bytes: Buffer }): void => {
  call.head(200, { "content-type": type })
  void call.write(bytes).then(() => call.end())
}

const json = (call: VendorCall, body: object, status = 200): void => {
  call.head(status, { "content-type": "application/json" })
  call.end(JSON.stringify(body))
}

const list: VendorScript = (call) => json(call, { data: [{ id: "simulated-1" }, { id: "simulated-2" }] })

const find: VendorScript = (call) => {
  const query = new URLSearchParams(call.path.slice(call.path.indexOf("?"))).get("q") ?? ""
  const results = Array.from({ length: 10 }, (_, at) => ({
    title: `${query}, result ${at + 1}`,
    url: `https://example.com/search/${at + 1}?${new URLSearchParams({ q: query })}`,
    content: `A page that says something about ${query}.`,
  }))
  json(call, { results })
}

const chat: VendorScript = (call) => {
  const refused = refusedField(call)
  if (refused !== undefined) return refuseField(call, refused)
  if (refuseAs(twin, call)) return
  const { blocks } = repeating(twin.asked(call))
  const inTokens = Math.ceil(JSON.stringify(call.body).length / 4)
  const [block] = blocks
  if (block?.t !== "text") return answerAs(twin, call, { blocks, usage: { inTokens, outTokens: callTokens } })
  const { pieces } = block
  if (showsParameters(call)) return answerWithParameters(call, pieces, inTokens, pauseMs)
  return answerAs(twin, call, { blocks, usage: { inTokens, outTokens: pieces.length } }, pauseMs)
}

/** @param wantedPort its port, if nobody has it */
export const startSimulatedVendor = (wantedPort?: number): Effect.Effect<ScriptedVendor, never, Scope.Scope> =>
  startScriptedVendor(answer, speakRealtime, wantedPort, speakLive)
