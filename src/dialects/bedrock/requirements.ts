/** The requirements of Converse; those of Anthropic's models are the same as everywhere. */
import { claudeRequirements } from "../anthropic/requirements.ts"
import type { VendorRequest } from "../dialect.ts"
import { type Met, mends, type Requirement, refuses } from "../requirements.ts"
import { ofObject, withoutTopBranches, withToolSchemas } from "../schemas.ts"
import { hashedIds, pairCalls, renameCalls } from "../tool-loops.ts"
import { familyOf } from "./families.ts"

const docs = "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html"
const toolUse = "https://docs.aws.amazon.com/bedrock/latest/userguide/tool-use-inference-call.html"

const ofClaude =
  (meet: (request: VendorRequest) => Met) =>
  (request: VendorRequest): Met =>
    familyOf(request.model) === "claude" ? meet(request) : mends((same) => same)(request)

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
