/** Every field of an official SDK's request is in one of the lists, and the documentation has the lists of the code. */
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"
import { page, withLists } from "../../../../scripts/docs/field-lists.ts"
import { messagesFields } from "../../../../src/dialects/anthropic/client-request.ts"
import type { FieldTable } from "../../../../src/dialects/client/fields.ts"
import { generateFields, generationFields } from "../../../../src/dialects/gemini/client-request.ts"
import { chatFields } from "../../../../src/dialects/openai-chat/client-request.ts"
import { completionApi } from "../../../../src/dialects/openai-chat/completion-client.ts"
import { responsesFields } from "../../../../src/dialects/openai-responses/client-request.ts"

/** The fields of an interface in a declaration file. */
const fieldsOf = (file: string, name: string): ReadonlyArray<string> => {
  const text = readFileSync(fileURLToPath(new URL(`../../../../node_modules/${file}`, import.meta.url)), "utf8")
  const begin = new RegExp(`^ *export (?:declare )?interface ${name}(?: extends [^{]*)? \\{$`, "m").exec(text)
  if (begin === null) throw new Error(`${file} has no ${name}`)
  const body = text.slice(begin.index + begin[0].length)
  const end = body.search(/^ {0,4}\}$/m)
  const code = body.slice(0, end).replaceAll(/\/\*[\s\S]*?\*\//g, "")
  return [...code.matchAll(/^ {4,8}(?:readonly )?(\w+)\??:/gm)].map(([, field = ""]) => field)
}

const unlisted = (fields: ReadonlyArray<string>, table: FieldTable) =>
  fields.filter((field) => !Object.hasOwn(table, field))

describe("the lists of fields", () => {
  it.each([
    ["openai/resources/chat/completions/completions.d.ts", "ChatCompletionCreateParamsBase", chatFields, 25],
    ["openai/resources/completions.d.ts", "CompletionCreateParamsBase", completionApi.fields, 12],
    ["openai/resources/responses/responses.d.ts", "ResponseCreateParamsBase", responsesFields, 20],
    ["@anthropic-ai/sdk/resources/messages/messages.d.ts", "MessageCreateParamsBase", messagesFields, 12],
    ["@anthropic-ai/sdk/resources/beta/messages/messages.d.ts", "MessageCreateParamsBase", messagesFields, 15],
  ])("%s: every field of %s is in one", (file, name, table, least) => {
    const fields = fieldsOf(file, name)
    expect(fields.length).toBeGreaterThan(least)
    expect(unlisted(fields, table)).toEqual([])
  })

  it("every option of Google's SDK is a field in one, or is the SDK's own", () => {
    const own = ["httpOptions", "abortSignal", "automaticFunctionCalling", "automaticContinuation", "continuationToken"]
    const fields = fieldsOf("@google/genai/dist/genai.d.ts", "GenerateContentConfig")
    expect(fields.length).toBeGreaterThan(25)
    expect(
      unlisted(fields, { ...generateFields, ...generationFields }).filter((field) => !own.includes(field)),
    ).toEqual([])
  })

  it("stand in the documentation", () => {
    const text = readFileSync(page, "utf8")
    expect(withLists(text)).toBe(text)
  })
})
