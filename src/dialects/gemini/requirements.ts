/** The requirements of Gemini, on every platform. */
import { Result } from "effect"
import type { Message } from "../../protocol/block.ts"
import { JsonText } from "../../protocol/json/json-text.ts"
import { lacksOutput, type VendorRequest } from "../chat-dialect.ts"
import type { JsonObject } from "../parse/json.ts"
import { makersName } from "../vendor/family.ts"
import { levelRequirement } from "../vendor/model-rules.ts"
import { mends, type Requirement, refuses } from "../vendor/requirements.ts"
import { geminiBypass } from "../vendor/signature.ts"
import { pairCalls } from "../vendor/tool-loops.ts"
import type { EncodeRefusal } from "../wire.ts"
import { budgetsOf, budgetWithin, geminiModels, thinkingDocs } from "./models.ts"

const docs = "https://ai.google.dev/api/generate-content"
const calling = "https://ai.google.dev/gemini-api/docs/function-calling"
const signing = "https://ai.google.dev/gemini-api/docs/thought-signatures"
const outputs = "https://ai.google.dev/gemini-api/docs/structured-output"

/** Models up to 2.5. */
export const isOld = (model: string): boolean => /gemini-[12]/.test(model)

/** Whether calls must have the signatures that they came with, as the model's name says. */
export const needsSignatures = (model: string): boolean =>
  /gemini-([3-9]|\d\d|(pro|flash|flash-lite)-latest)/.test(model)

const threadRefusal = ({ thread }: VendorRequest): EncodeRefusal | undefined => {
  const turns = thread.filter(({ role }) => role !== "system")
  const [first] = turns
  if (first === undefined) return { capability: "thread", message: "this model needs a message" }
  if (turns.at(-1)?.role === "assistant") {
    return { capability: "prefill", message: "this model does not go on with what a thread makes it say" }
  }
  const calls = ({ role, blocks }: Message) => role === "assistant" && blocks.some(({ t }) => t === "tool_call")
  return calls(first)
    ? { capability: "thread", message: "this model calls tools only after its user spoke" }
    : undefined
}

const withBudget = (request: VendorRequest): VendorRequest => {
  const { reasoningBudget } = request
  const budgets = budgetsOf(request)
  if (reasoningBudget === undefined || budgets === undefined) return request
  const budget = budgetWithin(reasoningBudget, budgets)
  return budget === reasoningBudget ? request : { ...request, reasoningBudget: budget }
}

const functionName = /^[a-zA-Z_]/

const namesRefusal = ({ tools }: VendorRequest): EncodeRefusal | undefined => {
  const name = tools.find((tool) => !functionName.test(tool.name))?.name
  return name === undefined
    ? undefined
    : {
        capability: "tools",
        message: `this model takes names of tools that begin with a letter, not ${JSON.stringify(name)}`,
      }
}

const mostStops = 5
const largestSeed = 2_147_483_647

const paramsRefusal = ({ stop, extras }: VendorRequest): EncodeRefusal | undefined => {
  if (stop.length > mostStops) return { capability: "stops", message: `this model takes at most ${mostStops} stops` }
  return Math.abs(extras?.seed ?? 0) > largestSeed
    ? { capability: "seed", message: "this model takes seeds of 32 bits" }
    : undefined
}

export interface Content {
  readonly role: "user" | "model"
  readonly parts: ReadonlyArray<JsonObject | JsonText>
}

/** The first call of each step has a signature: calls of other vendors have none, and some clients cannot keep one. */
export const withSignatures = (contents: ReadonlyArray<Content>, model: string): ReadonlyArray<Content> =>
  isOld(model)
    ? contents
    : contents.map((content) => {
        const first = content.parts.findIndex((part) => "functionCall" in part)
        const part = content.parts[first]
        if (part === undefined || part instanceof JsonText || "thoughtSignature" in part) return content
        return { ...content, parts: content.parts.with(first, { ...part, thoughtSignature: geminiBypass }) }
      })

const levels = levelRequirement(geminiModels, thinkingDocs)

export const geminiRequirements: ReadonlyArray<Requirement> = [
  { rule: "as many results as calls", source: calling, meet: pairCalls },
  // pairCalls refuses others.
  { rule: "results of calls only", source: calling },
  { rule: "the end of a thread", source: docs, meet: refuses(threadRefusal) },
  // threadRefusal looks at these too.
  { rule: "some contents", source: docs },
  { rule: "calls after a user", source: calling },
  { rule: "names of functions", source: calling, meet: refuses(namesRefusal) },
  { rule: "five stops", source: docs, ofModel: true, meet: refuses(paramsRefusal) },
  {
    rule: "a schema or functions",
    source: outputs,
    ofModel: true,
    meet: refuses((request) => {
      const { output, anyJson, tools } = request
      const isJson = output !== undefined || anyJson === true
      return isJson && tools.length > 0 && isOld(makersName(request)) ? lacksOutput : undefined
    }),
  },
  {
    ...levels,
    // A budget is used instead, also for models that have levels.
    meet: (request) =>
      (request.reasoningBudget ?? 0) > 0
        ? Result.succeed(request)
        : (levels.meet?.(request) ?? Result.succeed(request)),
  },
  { rule: "thinking of a model", source: thinkingDocs, ofModel: true, meet: mends(withBudget) },
  // The writer of the request meets these; it has withSignatures from here.
  { rule: "signatures of calls", source: signing },
  { rule: "signatures are its own", source: signing },
  { rule: "results are not interpreted", source: calling },
  { rule: "some parts", source: docs },
  { rule: "two roles", source: docs },
  { rule: "names of functions differ", source: calling },
  { rule: "a choice needs tools", source: calling },
  { rule: "a schema needs JSON", source: outputs },
]
