/** The requirements of OpenAI's responses. */

import { openaiModelDocs, openaiModels } from "../openai-chat/models.ts"
import { modelRequirements } from "../vendor/model-rules.ts"
import { mends, type Requirement, refuses } from "../vendor/requirements.ts"
import {
  ofObject,
  strictIfPossible,
  withJsonSaid,
  withoutTopBranches,
  withProperties,
  withToolSchemas,
} from "../vendor/schemas.ts"
import { hashedIds, pairCalls, renameCalls } from "../vendor/tool-loops.ts"

const docs = "https://platform.openai.com/docs/api-reference/responses/create"
const tools = "https://platform.openai.com/docs/guides/function-calling"
const outputs = "https://platform.openai.com/docs/guides/structured-outputs"
const reasoning = "https://platform.openai.com/docs/guides/reasoning"

const mostTools = 128

export const responsesRequirements: ReadonlyArray<Requirement> = [
  { rule: "results directly after their calls", source: tools, meet: pairCalls },
  // pairCalls refuses others.
  { rule: "results of calls only", source: tools },
  {
    rule: "ids of calls",
    source: docs,
    meet: mends(renameCalls(hashedIds(/^[\s\S]{1,64}$/, 29, "call_"))),
    ofThreads: true,
  },
  // renameCalls gives each its own.
  { rule: "ids of calls differ", source: tools },
  {
    rule: "schemas of tools",
    source: tools,
    meet: mends(withToolSchemas((schema) => withProperties(ofObject(withoutTopBranches(schema))))),
  },
  {
    rule: "128 tools",
    source: tools,
    meet: refuses(({ tools: { length } }) =>
      length > mostTools ? { capability: "tools", message: `this model takes at most ${mostTools} tools` } : undefined,
    ),
  },
  { rule: "strict schemas of output", source: outputs, meet: mends(strictIfPossible) },
  ...modelRequirements(openaiModels, openaiModelDocs),
  // The writer of the request meets these.
  { rule: "some input", source: docs },
  { rule: "strict schemas of tools", source: outputs },
  { rule: "a choice needs tools", source: tools },
  { rule: "JSON mode says JSON", source: outputs, meet: mends(withJsonSaid) },
  { rule: "sealed reasoning is its own", source: reasoning },
  { rule: "reasoning leads to an item", source: reasoning },
]
