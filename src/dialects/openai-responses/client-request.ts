/** OpenAI's responses as clients send them. Source: https://platform.openai.com/docs/api-reference/responses/create */

import type { Result } from "effect"
import { endUsersAt, ownRequest } from "../carry/own-request.ts"
import type { ClientRequest, RequestPlace } from "../client/client-api.ts"
import { onlyAllowed, openaiEfforts, openaiOutput, textBlock, tierOf, unless } from "../client/client-parts.ts"
import {
  all,
  carried,
  FieldReader,
  type FieldRefusal,
  type FieldTable,
  isAbsent,
  neutral,
  own,
  present,
  presentIfAny,
  refused,
  withoutEffect,
} from "../client/fields.ts"
import { schemaFields } from "../openai-chat/client-request.ts"
import { isObject, type JsonObject } from "../parse/json.ts"
import { ServersInRequest } from "../vendor/server-tools.ts"
import { itemOf, merged } from "./client-items.ts"
import { addServer, callAtServer } from "./client-servers.ts"
import { toolChoiceOf, toolsIn, toolsOf } from "./client-tools.ts"
import { metadataRefusal } from "./metadata.ts"

const keptOnly = "it needs HTTP, and an organisation that keeps responses"

export const responsesFields: FieldTable = {
  ...all(
    carried,
    "model",
    "input",
    "instructions",
    "stream",
    "max_output_tokens",
    "temperature",
    "top_p",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "reasoning",
    "text",
    "prompt_cache_key",
  ),
  ...all(withoutEffect("it labels a request for its vendor"), "safety_identifier", "client_metadata"),
  ...all(withoutEffect("the response repeats it"), "user", "metadata"),
  context_management: withoutEffect("the client's thread is what counts"),
  prompt_cache_retention: withoutEffect("the catalogue says what vendors may keep"),
  stream_options: withoutEffect("frames are not padded"),
  include: carried,
  store: own(false, true),
  ...all(carried, "service_tier", "truncation", "top_logprobs", "prompt_cache_options", "max_tool_calls"),
  background: { ...neutral(false), why: keptOnly },
  conversation: refused(`${keptOnly}; elsewhere send the thread`),
  previous_response_id: refused("it needs an organisation that keeps responses; elsewhere send the thread"),
  prompt: refused("nothing is stored: send the thread"),
  access_programs: refused("programs of a vendor are not used"),
  image: refused("images are sent as they are"),
  moderation: own(),
}

export const decodeResponsesRequest = (
  body: JsonObject,
  { origins }: Pick<RequestPlace, "origins"> = {},
): Result.Result<ClientRequest, FieldRefusal> => {
  const reader = new FieldReader()
  reader.check(responsesFields, body, "")
  const { instructions, input } = body
  const items = typeof input === "string" ? [{ role: "user", content: input }] : reader.list(input, "input")
  const listed = reader.optionalList(body["tools"], "tools")
  const servers = new ServersInRequest()
  const others = listed.filter((tool, index) => !addServer(reader, servers, tool, `tools.${index}`, origins))
  const { tools: offered, hosted, groups } = toolsOf(reader, others, toolsIn(items), body["tool_choice"])
  const choice = toolChoiceOf(reader, body["tool_choice"])
  const tools: ReadonlyArray<unknown> = [...onlyAllowed(offered, choice.allowed), ...servers.tools]
  // Vendors' other extras belong to tools that they host.
  const includesLogprobs = Array.isArray(body["include"]) && body["include"].includes("message.output_text.logprobs")
  const isTopAsked = !isAbsent(body["top_logprobs"]) && body["top_logprobs"] !== 0
  const thread = merged([
    ...(isAbsent(instructions) || instructions === ""
      ? []
      : [{ role: "system", blocks: [textBlock(reader.string(instructions, "instructions"))] }]),
    ...items.flatMap((item, index) => {
      const path = `input.${index}`
      const sent = reader.object(item, path)
      return reader.placedMessages(callAtServer(reader, servers, sent, path) ?? itemOf(reader, sent, path), path)
    }),
  ])
  const reasoning = reader.optionalObject(body["reasoning"], "reasoning")
  reader.check(reasoningFields, reasoning, "reasoning")
  const hasTools = tools.length > 0
  const exchange = present({
    model: body["model"],
    thread,
    tools: hasTools ? tools : undefined,
    params: presentIfAny({
      maxTokens: body["max_output_tokens"],
      temperature: body["temperature"],
      topP: body["top_p"],
      reasoning: reader.word(openaiEfforts, reasoning["effort"], "reasoning.effort"),
      maxRounds: servers.named === undefined ? undefined : roundsOf(body["max_tool_calls"]),
      toolChoice: hasTools ? choice.toolChoice : undefined,
      parallelToolCalls: hasTools ? body["parallel_tool_calls"] : undefined,
      output: outputOf(reader, body["text"]),
      verbosity: verbosityOf(body["text"]),
      logprobs: includesLogprobs || isTopAsked ? (body["top_logprobs"] ?? 0) : undefined,
      serviceTier: tierOf(body["service_tier"]),
      vendorOptions: presentIfAny({
        openai: presentIfAny({
          truncation: unless(body["truncation"], "disabled"),
          reasoningMode: reasoning["mode"],
          promptCacheOptions: body["prompt_cache_options"],
        }),
      }),
    }),
    cache: isAbsent(body["prompt_cache_key"]) ? undefined : { key: body["prompt_cache_key"] },
    stream: body["stream"],
  })
  const model = reader.string(body["model"], "model")
  const { metadata } = body
  const odd = isAbsent(metadata) ? undefined : metadataRefusal(metadata)
  // A vendor of the same API judges its own.
  if (odd !== undefined) reader.lacks(odd.path, odd.message)
  const { max_tool_calls: most } = body
  return reader.carriedResult({
    exchange,
    context: { model, includesUsage: true, groups, servers: servers.named, echo: echoIn(body) },
    own: {
      ...ownRequest(reader, endUsersAt(body, ["user"], ["safety_identifier"]), { hosted, listed: body["tools"] }),
      // It counts calls of tools that the vendor hosts.
      ...(Number.isSafeInteger(most) && Number(most) >= 0 && { maxHostedUses: Number(most) }),
    },
  })
}

/** A round has one call or more. */
const roundsOf = (calls: unknown): number | undefined =>
  Number.isSafeInteger(calls) && Number(calls) > 0 ? Math.min(Number(calls), 32) : undefined

/** The fields of a request that its response repeats. */
const echoed = [
  "instructions",
  "max_output_tokens",
  "metadata",
  "parallel_tool_calls",
  "temperature",
  "tool_choice",
  "tools",
  "top_p",
  "truncation",
  "user",
] as const

const echoIn = (body: JsonObject): JsonObject => {
  const { reasoning, text } = body
  return {
    ...present(Object.fromEntries(echoed.map((name) => [name, body[name]]))),
    ...(isObject(reasoning) && { reasoning: { effort: null, summary: null, ...reasoning } }),
    ...(isObject(text) && { text: { format: { type: "text" }, ...present(text) } }),
  }
}

const reasoningFields: FieldTable = {
  ...all(carried, "effort", "mode"),
  ...all(withoutEffect("a summary is asked for where nothing is said"), "summary", "generate_summary"),
  context: withoutEffect("the client's thread is what counts"),
}

const verbosityOf = (text: unknown): unknown => (isObject(text) ? text["verbosity"] : undefined)

const outputOf = (reader: FieldReader, text: unknown): JsonObject | "json" | undefined => {
  if (isAbsent(text)) return undefined
  const options = reader.object(text, "text")
  reader.check({ format: carried, verbosity: carried }, options, "text")
  if (isAbsent(options["format"])) return undefined
  const format = reader.checked({ type: carried, ...schemaFields }, options["format"], "text.format")
  return openaiOutput(reader, format["type"], () => format, "text.format", "text.format.schema")
}
