/** The vendor of a fresh machine: speaks chat completions on loopback and answers with what it was asked. */
import type { Effect, Schema, Scope } from "effect"
import { type ScriptedVendor, startScriptedVendor, type VendorScript } from "../testing/scripted-vendor.ts"
import { answering } from "../testing/vendor-replies.ts"

const pauseMs = 40

const answer: VendorScript = (call) => {
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
