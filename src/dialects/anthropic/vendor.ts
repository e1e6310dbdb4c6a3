/**
 * The dialect `anthropic`: Anthropic's messages, streamed and not.
 * Source: https://docs.anthropic.com/en/api/messages and /en/api/messages-streaming
 */
import { Result } from "effect"
import type { Dialect } from "../dialect.ts"
import { carryMessages } from "./carry.ts"
import { anthropicRefusal } from "./faults.ts"
import { decodeBody, decodeStream } from "./vendor-reply.ts"
import { betasOf, encodeMessages, searchTool } from "./vendor-request.ts"

export const anthropicVersion = "2023-06-01"

const headerOf = (betas: ReadonlySet<string>): Readonly<Record<string, string>> =>
  betas.size === 0 ? {} : { "anthropic-beta": [...betas].join(",") }

export const anthropic: Dialect = {
  authorize: (credential) => ({ "x-api-key": credential, "anthropic-version": anthropicVersion }),
  encode: (request) =>
    Result.map(encodeMessages(request), (body) => ({
      path: "/v1/messages",
      headers: { accept: request.stream ? "text/event-stream" : "application/json", ...headerOf(betasOf(request)) },
      body: JSON.stringify(body),
    })),
  carry: carryMessages,
  seals: "anthropic",
  canSearch: ({ tools }) => !tools.some(({ name }) => name === searchTool),
  decoder: decodeStream,
  decodeBody,
  decodeError: anthropicRefusal,
}
