/** The requirements of Cohere's chat. */
import { lacksOutput, type VendorRequest } from "../chat-dialect.ts"
import { isObject, type JsonObject, objectAt } from "../parse/json.ts"
import { mends, type Requirement, refuses } from "../vendor/requirements.ts"
import { isAnyObject, ofObject, withoutTopBranches, withToolSchemas } from "../vendor/schemas.ts"
import { hashedIds, pairCalls, renameCalls } from "../vendor/tool-loops.ts"
import type { EncodeRefusal } from "../wire.ts"

const docs = "https://docs.cohere.com/reference/chat"
const toolUse = "https://docs.cohere.com/docs/tool-use-overview"
const outputs = "https://docs.cohere.com/docs/structured-outputs"

/** A turn of which the vendor takes nothing back is left out. */
const withContent = (request: VendorRequest): VendorRequest => {
  const { thread, canReason } = request
  const hasContent = ({ role, blocks }: VendorRequest["thread"][number]) =>
    role !== "assistant" ||
    blocks.some((block) => {
      if (block.t === "text") return block.v !== ""
      return block.t === "reasoning" ? canReason && block.redacted !== true && block.v !== "" : true
    })
  return thread.every(hasContent) ? request : { ...request, thread: thread.filter(hasContent) }
}

const mostStops = 5
const leastTopP = 0.01
const mostTopP = 0.99

const rangeRefusal = ({ stop, topP, extras }: VendorRequest): EncodeRefusal | undefined => {
  if (stop.length > mostStops) return { capability: "stops", message: `this model takes at most ${mostStops} stops` }
  if (topP !== undefined && (topP < leastTopP || topP > mostTopP)) {
    return { capability: "topP", message: `this model takes a topP between ${leastTopP} and ${mostTopP}` }
  }
  for (const name of ["frequencyPenalty", "presencePenalty"] as const) {
    const value = extras?.[name] ?? 0
    if (value < 0 || value > 1) return { capability: name, message: `this model takes a ${name} between 0 and 1` }
  }
  return undefined
}

/** All tokens are considered if the request sets no limit. */
const withoutNeutralTopP = (request: VendorRequest): VendorRequest =>
  request.topP === 1 ? { ...request, topP: undefined } : request

const outputRefusal = ({ output, tools }: VendorRequest): EncodeRefusal | undefined => {
  if (output === undefined) return undefined
  if (tools.length > 0) return lacksOutput
  return isAnyObject(output.schema) || (output.schema["type"] === "object" && !lacksRequired(output.schema))
    ? undefined
    : { capability: "output", message: "this model follows a schema whose objects each require a field" }
}

const lacksRequired = (schema: JsonObject): boolean => {
  const { required } = schema
  if (schema["type"] === "object" && !(Array.isArray(required) && required.length > 0)) return true
  const inner = [...Object.values(objectAt(schema, "properties") ?? {}), schema["items"]]
  return inner.some((each) => isObject(each) && lacksRequired(each))
}

export const cohereRequirements: ReadonlyArray<Requirement> = [
  { rule: "content or calls", source: docs, meet: mends(withContent) },
  {
    rule: "a message at least",
    source: docs,
    meet: refuses(({ thread }) =>
      thread.length === 0 ? { capability: "thread", message: "this model needs a message" } : undefined,
    ),
  },
  { rule: "results directly after their calls", source: toolUse, meet: pairCalls },
  // pairCalls refuses others.
  { rule: "results of calls only", source: toolUse },
  { rule: "ids of calls differ", source: toolUse, meet: mends(renameCalls(hashedIds(/^[\s\S]+$/, 29, "call_"))) },
  {
    rule: "schemas of tools",
    source: toolUse,
    meet: mends(withToolSchemas((schema) => ofObject(withoutTopBranches(schema)))),
  },
  { rule: "five stops", source: docs, meet: (request) => refuses(rangeRefusal)(withoutNeutralTopP(request)) },
  { rule: "schemas of output", source: outputs, meet: refuses(outputRefusal) },
  // outputRefusal looks at this too.
  { rule: "a schema or tools", source: outputs },
  // The writer of the request meets this.
  { rule: "a choice needs tools", source: toolUse },
]
