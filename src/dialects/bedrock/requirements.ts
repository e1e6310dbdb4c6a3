/** The requirements of Converse; those of Anthropic's models are the same as everywhere. */
import { claudeRequirements } from "../anthropic/requirements.ts"
import type { VendorRequest } from "../chat-dialect.ts"
import { type Met, mends, type Requirement, refuses } from "../vendor/requirements.ts"
import { ofObject, withoutTopBranches, withToolSchemas } from "../vendor/schemas.ts"
import { hashedIds, pairCalls, renameCalls } from "../vendor/tool-loops.ts"
import type { EncodeRefusal } from "../wire.ts"
import { choicesOf, familyOf } from "./families.ts"

const docs = "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html"
const toolUse = "https://docs.aws.amazon.com/bedrock/latest/userguide/tool-use-inference-call.html"

const ofClaude =
  (meet: (request: VendorRequest) => Met) =>
  (request: VendorRequest): Met =>
    familyOf(request) === "claude" ? meet(request) : mends((same) => same)(request)

/** If there is only one tool, "any tool" is that one. */
const withAnyTool = (request: VendorRequest): VendorRequest => {
  const { tools, toolChoice } = request
  const choices = choicesOf(request)
  const isNamed = typeof toolChoice === "object" && tools.length === 1 && tools[0]?.name === toolChoice.name
  return isNamed && choices?.includes("any") === true && !choices.includes("tool")
    ? { ...request, toolChoice: "required" }
    : request
}

const choiceRefusal = (request: VendorRequest): EncodeRefusal | undefined => {
  const { tools, toolChoice } = request
  const choice = toolChoice === "required" ? "any" : typeof toolChoice === "object" ? "tool" : undefined
  if (choice === undefined || tools.length === 0) return undefined
  return choicesOf(request)?.includes(choice) === false
    ? { capability: "tool_choice", message: "this model cannot be made to call a tool" }
    : undefined
}

export const bedrockRequirements: ReadonlyArray<Requirement> = [
  {
    rule: "a user begins",
    source: docs,
    meet: refuses(({ thread }) => {
      const role = thread.find((message) => message.role !== "system")?.role
      return role === undefined || role === "assistant"
        ? { capability: "thread", message: "this model needs a thread that its user begins" }
        : undefined
    }),
  },
  { rule: "results directly after their calls", source: toolUse, meet: pairCalls },
  // pairCalls refuses others.
  { rule: "results of calls only", source: toolUse },
  {
    rule: "ids of calls differ",
    source: docs,
    meet: mends(renameCalls(hashedIds(/^[a-zA-Z0-9_.:-]{1,64}$/, 32))),
  },
  {
    rule: "schemas of tools",
    source: toolUse,
    meet: mends(withToolSchemas((schema) => ofObject(withoutTopBranches(schema)))),
  },
  {
    rule: "choices of a model",
    source: "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolChoice.html",
    meet: (request) => refuses(choiceRefusal)(withAnyTool(request)),
  },
  ...claudeRequirements.map((requirement) => ({
    ...requirement,
    ...(requirement.meet !== undefined && { meet: ofClaude(requirement.meet) }),
  })),
  // The writer of the request meets these.
  { rule: "turns alternate", source: docs },
  { rule: "no blank text", source: docs },
  { rule: "calls need tools", source: toolUse },
  {
    rule: "signatures of thinking",
    source: "https://docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-extended-thinking.html",
  },
]
