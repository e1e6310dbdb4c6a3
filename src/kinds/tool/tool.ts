/** Calls of tools, and other requests that are passed to their servers: the kind `tool`. */
import { Effect, Result } from "effect"
import type { Kind } from "../../calls/kind.ts"
import { textsOfJson } from "../../policies/json-texts.ts"
import type { TextOfParts } from "../../policies/parts.ts"
import { serviceError } from "../../protocol/error.ts"
import type { ToolSessions } from "../../tool-servers/tool-sessions.ts"
import { passedMeta } from "./tool-message.ts"
import type { ToolReply, ToolRequest } from "./tool-request.ts"
import { ToolTask } from "./tool-task.ts"

export const makeTool = (sessions: ToolSessions["Service"]): Kind<ToolRequest, ToolReply> => ({
  name: "tool",
  purpose: "tool",
  modelOf: () => undefined,
  recordedAs: ({ handle }) => handle,
  reviewed: argumentsOf,
  plan: (asked) => {
    const { request, caller } = asked
    if (request.prices !== undefined && request.prices.currency !== caller.org.currency) return Result.fail(unpriced)
    return Result.succeed(new ToolTask(asked, sessions))
  },
})

const unpriced = serviceError("pricing_guard_tripped", "The tool has no price in the organisation's currency")

/** Everything that its server gets. */
const argumentsOf =
  ({ params }: ToolRequest): TextOfParts =>
  (parts) =>
    Effect.sync(() => {
      if (!parts.has("toolArguments")) return ""
      return textsOfJson({ ...params, _meta: passedMeta(params) }).join("\n")
    })
