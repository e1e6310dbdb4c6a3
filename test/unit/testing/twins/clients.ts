/** Clients of five APIs, as far as a conversation needs them: they say, append replies as the official SDKs do, and give results. */
import { type JsonObject, objectAt, objectsAt } from "../../../../src/dialects/parse/json.ts"
import type { ClientName } from "./through-weir.ts"

export interface Settings {
  readonly system: string | undefined
  readonly tools: ReadonlyArray<{ readonly name: string; readonly schema: object }>
  readonly choice: "auto" | "none" | "required" | { readonly name: string } | undefined
  readonly maxTokens: number
  readonly temperature: number | undefined
  readonly topP: number | undefined
  readonly stops: ReadonlyArray<string>
  readonly effort: "low" | "high" | undefined
  readonly output: "json" | object | undefined
  readonly isParallel: boolean | undefined
}

export interface ToolAnswer {
  readonly id: string
  readonly name: string
  readonly text: string
  readonly hasPicture: boolean
  readonly isError: boolean
}

export interface Client {
  readonly say: (text: string, hasPicture: boolean) => ReadonlyArray<object>
  readonly append: (reply: JsonObject) => ReadonlyArray<object>
  readonly answer: (answers: ReadonlyArray<ToolAnswer>) => ReadonlyArray<object>
  readonly body: (settings: Settings, history: ReadonlyArray<object>) => object
}

const png = "iVBORw0KGgo="
const pngUrl = `data:image/png;base64,${png}`
const when = (condition: boolean, fields: object): object => (condition ? fields : {})

const sampling = ({ temperature, topP }: Settings): object => ({
  ...(temperature !== undefined && { temperature }),
  ...(topP !== undefined && { top_p: topP }),
})

const openaiChat: Client = {
  say: (text, hasPicture) => [
    {
      role: "user",
      content: hasPicture
        ? [
            { type: "text", text },
            { type: "image_url", image_url: { url: pngUrl } },
          ]
        : text,
    },
  ],
  append: (reply) => [objectAt(objectsAt(reply, "choices")[0], "message") ?? {}],
  answer: (answers) => answers.map(({ id, text }) => ({ role: "tool", tool_call_id: id, content: text })),
  body: (settings, history) => {
    const { system, tools, choice, output, effort, isParallel } = settings
    return {
      model: "main",
      messages: [...(system === undefined ? [] : [{ role: "system", content: system }]), ...history],
      max_tokens: settings.maxTokens,
      ...sampling(settings),
      ...when(settings.stops.length > 0, { stop: settings.stops }),
      ...when(effort !== undefined, { reasoning_effort: effort }),
      ...when(output !== undefined, {
        response_format:
          output === "json"
            ? { type: "json_object" }
            : { type: "json_schema", json_schema: { name: "answer", schema: output } },
      }),
      ...when(tools.length > 0, {
        tools: tools.map(({ name, schema }) => ({ type: "function", function: { name, parameters: schema } })),
        ...(choice !== undefined && {
          tool_choice: typeof choice === "object" ? { type: "function", function: choice } : choice,
        }),
        ...(isParallel !== undefined && { parallel_tool_calls: isParallel }),
      }),
    }
  },
}

const openaiResponses: Client = {
  say: (text, hasPicture) => [
    {
      role: "user",
      content: [
        { type: "input_text", text },
        ...(hasPicture ? [{ type: "input_image", image_url: pngUrl, detail: "auto" }] : []),
      ],
    },
  ],
  append: (reply) => objectsAt(reply, "output"),
  answer: (answers) =>
    answers.map(({ id, text, hasPicture }) => ({
      type: "function_call_output",
      call_id: id,
      output: hasPicture
        ? [
            { type: "input_text", text },
            { type: "input_image", image_url: pngUrl, detail: "auto" },
          ]
        : text,
    })),
  body: (settings, history) => {
    const { system, tools, choice, output, effort, isParallel } = settings
    return {
      model: "main",
      input: history,
      store: false,
      include: ["reasoning.encrypted_content"],
      max_output_tokens: settings.maxTokens,
      ...(system !== undefined && { instructions: system }),
      ...sampling(settings),
      ...when(effort !== undefined, { reasoning: { effort, summary: "auto" } }),
      ...when(output !== undefined, {
        text: {
          format: output === "json" ? { type: "json_object" } : { type: "json_schema", name: "answer", schema: output },
        },
      }),
      ...when(tools.length > 0, {
        tools: tools.map(({ name, schema }) => ({ type: "function", name, parameters: schema, strict: false })),
        ...(choice !== undefined && {
          tool_choice: typeof choice === "object" ? { type: "function", ...choice } : choice,
        }),
        ...(isParallel !== undefined && { parallel_tool_calls: isParallel }),
      }),
    }
  },
}

const claudePicture = { type: "image", source: { type: "base64", media_type: "image/png", data: png } }

const anthropic: Client = {
  say: (text, hasPicture) => [
    { role: "user", content: [{ type: "text", text }, ...(hasPicture ? [claudePicture] : [])] },
  ],
  append: (reply) => [{ role: "assistant", content: reply["content"] }],
  answer: (answers) => [
    {
      role: "user",
      content: answers.map(({ id, text, hasPicture, isError }) => ({
        type: "tool_result",
        tool_use_id: id,
        content: hasPicture ? [{ type: "text", text: text === "" ? "-" : text }, claudePicture] : text,
        ...(isError && { is_error: true }),
      })),
    },
  ],
  body: (settings, history) => {
    const { system, tools, choice, output, effort } = settings
    const word = choice === "required" ? "any" : choice
    return {
      model: "main",
      messages: history,
      max_tokens: settings.maxTokens,
      ...(system !== undefined && { system }),
      ...sampling(settings),
      ...when(settings.stops.length > 0, { stop_sequences: settings.stops }),
      ...when(effort !== undefined && settings.maxTokens > 1024, {
        thinking: { type: "enabled", budget_tokens: 1024 },
      }),
      ...when(output !== undefined && output !== "json", {
        output_config: { format: { type: "json_schema", schema: output } },
      }),
      ...when(tools.length > 0, {
        tools: tools.map(({ name, schema }) => ({ name, input_schema: schema })),
        ...(word !== undefined && {
          tool_choice: typeof word === "object" ? { type: "tool", ...word } : { type: word },
        }),
      }),
    }
  },
}

const gemini: Client = {
  say: (text, hasPicture) => [
    { role: "user", parts: [{ text }, ...(hasPicture ? [{ inlineData: { mimeType: "image/png", data: png } }] : [])] },
  ],
  append: (reply) => [objectAt(objectsAt(reply, "candidates")[0], "content") ?? {}],
  answer: (answers) => [
    {
      role: "user",
      parts: answers.map(({ id, name, text, hasPicture, isError }) => ({
        functionResponse: {
          ...(id !== "" && { id }),
          name,
          response: isError ? { error: text } : { output: text },
          ...when(hasPicture, { parts: [{ inlineData: { mimeType: "image/png", data: png } }] }),
        },
      })),
    },
  ],
  body: (settings, history) => {
    const { system, tools, choice, output, effort } = settings
    const mode = typeof choice === "object" ? "ANY" : { auto: "AUTO", none: "NONE", required: "ANY" }[choice ?? "auto"]
    return {
      contents: history,
      ...(system !== undefined && { systemInstruction: { parts: [{ text: system }] } }),
      generationConfig: {
        maxOutputTokens: settings.maxTokens,
        ...(settings.temperature !== undefined && { temperature: settings.temperature }),
        ...(settings.topP !== undefined && { topP: settings.topP }),
        ...when(settings.stops.length > 0, { stopSequences: settings.stops }),
        ...when(effort !== undefined, { thinkingConfig: { thinkingBudget: 2048, includeThoughts: true } }),
        ...when(output !== undefined, {
          responseMimeType: "application/json",
          ...(output !== "json" && { responseJsonSchema: output }),
        }),
      },
      ...when(tools.length > 0, {
        tools: [{ functionDeclarations: tools.map(({ name, schema }) => ({ name, parametersJsonSchema: schema })) }],
        ...(choice !== undefined && {
          toolConfig: {
            functionCallingConfig: { mode, ...(typeof choice === "object" && { allowedFunctionNames: [choice.name] }) },
          },
        }),
      }),
    }
  },
}

const t1: Client = {
  say: (text, hasPicture) => [
    {
      role: "user",
      blocks: [{ t: "text", v: text }, ...(hasPicture ? [{ t: "image", mime: "image/png", data: png }] : [])],
    },
  ],
  append: ({ blocks }) => (Array.isArray(blocks) && blocks.length > 0 ? [{ role: "assistant", blocks }] : []),
  answer: (answers) => [
    {
      role: "tool",
      blocks: answers.map(({ id, text, hasPicture, isError }) => ({
        t: "tool_result",
        id,
        ...(hasPicture
          ? {
              blocks: [
                { t: "text", v: text },
                { t: "image", mime: "image/png", data: png, detail: "low" },
              ],
            }
          : { v: text }),
        ...(isError && { isError }),
      })),
    },
  ],
  body: (settings, history) => {
    const { system, tools, choice, output, effort, isParallel, temperature, topP, stops } = settings
    return {
      model: "main",
      thread: [...(system === undefined ? [] : [{ role: "system", blocks: [{ t: "text", v: system }] }]), ...history],
      ...when(tools.length > 0, { tools: tools.map(({ name, schema }) => ({ name, inputSchema: schema })) }),
      params: {
        maxTokens: settings.maxTokens,
        ...(temperature !== undefined && { temperature }),
        ...(topP !== undefined && { topP }),
        ...when(stops.length > 0, { stop: stops }),
        ...(effort !== undefined && { reasoning: effort }),
        ...when(output !== undefined, { output: output === "json" ? "json" : { schema: output } }),
        ...when(tools.length > 0 && choice !== undefined, { toolChoice: choice }),
        ...when(tools.length > 0 && isParallel !== undefined, { parallelToolCalls: isParallel }),
      },
    }
  },
}

export const clients: Readonly<Record<ClientName, Client>> = {
  "openai-chat": openaiChat,
  "openai-responses": openaiResponses,
  anthropic,
  gemini,
  t1,
}
