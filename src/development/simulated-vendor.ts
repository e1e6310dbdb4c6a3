/** The simulated vendor, on loopback: answers chat completions and SearXNG searches by repeating what it was asked. */
import type { Effect, Schema, Scope } from "effect"
import { type ScriptedVendor, startScriptedVendor, type VendorScript } from "../testing/scripted-vendor.ts"
import { answering } from "../testing/vendor-replies.ts"

const pauseMs = 40

const answer: VendorScript = (call) => (call.path.startsWith("/search?") ? find(call) : echo(call))

const find: VendorScript = (call) => {
  const query = new URLSearchParams(call.path.slice(call.path.indexOf("?"))).get("q") ?? ""
  const results = Array.from({ length: 10 }, (_, at) => ({
    title: `${query}, result ${at + 1}`,
    url: `https://example.com/search/${at + 1}?${new URLSearchParams({ q: query })}`,
    content: `A page that says something about ${query}.`,
  }))
  call.head(200, { "content-type": "application/json" })
  call.end(JSON.stringify({ results }))
}

const echo: VendorScript = (call) => {
  const question = lastText(call.body["messages"] ?? null)
  const words = `You said: ${question}`.split(/(?<=\s)/)
  return answering(
    { words, inTokens: Math.ceil(JSON.stringify(call.body).length / 4), outTokens: words.length },
    pauseMs,
  )(call)
}

function lastText(messages: Schema.Json): string {
  const last = Array.isArray(messages) ? messages.at(-1) : undefined
  const content: unknown = last?.content
  return typeof content === "string" ? content : "something I cannot read"
}

export const startSimulatedVendor: Effect.Effect<ScriptedVendor, never, Scope.Scope> = startScriptedVendor(answer)
