/** The lines that a gateway prints when it is ready: its addresses; in development, keys and a command for each API. */
import type { DevelopmentHandout } from "../../development/start.ts"
import { version } from "../../protocol/version.ts"

export interface Shown {
  /** Keys whose secrets were made at this start, and which are printed once. */
  readonly keys: ReadonlyArray<DevelopmentKey>
  /** A chat model for the lines to try. */
  readonly model: string | undefined
}

type DevelopmentKey = NonNullable<DevelopmentHandout["key"]>

export const banner = (
  baseUrl: string,
  env: string,
  handout: DevelopmentHandout | undefined,
  { keys, model = "main" }: Shown = { keys: [], model: undefined },
): string => {
  const docs = handout === undefined ? "" : `, documentation at ${baseUrl}/docs`
  const blocks = [[`Weir ${version} is ready at ${baseUrl} (${env}); console at ${baseUrl}/console${docs}`]]
  if (handout?.adminKey !== undefined) blocks.push([`  export SVC_ADMIN_KEY=${handout.adminKey}`])
  if (handout?.key !== undefined) blocks.push(...forKey(baseUrl, handout.key, model))
  const [first] = keys
  if (first !== undefined) {
    blocks.push(["New keys, printed once:", ...keys.map(({ id, secret }) => `  ${id}~${secret}`)])
    blocks.push(...forKey(baseUrl, first, model))
  }
  return blocks.map((lines) => lines.join("\n")).join("\n\n")
}

const forKey = (url: string, { id, secret }: DevelopmentKey, model: string) => {
  const key = `${id}~${secret}`
  const say = (more: object) => `-d '${JSON.stringify({ model, ...more })}'`
  const json = "-H 'content-type: application/json'"
  const text = "Hello, river"
  const thread = [{ role: "user", blocks: [{ t: "text", v: text }] }]
  const messages = [{ role: "user", content: text }]
  return [
    [
      `  export SVC_KEY_ID=${id} SVC_KEY=${secret}`,
      `  twp/1        ${url}/t1`,
      `  OpenAI       ${url}/openai/v1  OPENAI_API_KEY=${key}`,
      `  Anthropic    ${url}/anthropic  ANTHROPIC_API_KEY=${key}`,
      `  Gemini       ${url}/gemini     GEMINI_API_KEY=${key}`,
    ],
    [
      "Try:",
      `  curl -N ${url}/t1/exchange -H 'x-svc-key-id: ${id}' -H 'x-svc-key: ${secret}' ${json} ${say({ stream: true, thread })}`,
      `  curl ${url}/openai/v1/chat/completions -H 'authorization: Bearer ${key}' ${json} ${say({ messages })}`,
      `  curl ${url}/anthropic/v1/messages -H 'x-api-key: ${key}' ${json} ${say({ max_tokens: 100, messages })}`,
      `  curl ${url}/gemini/v1beta/models/${model}:generateContent -H 'x-goog-api-key: ${key}' ${json} -d '${JSON.stringify({ contents: [{ role: "user", parts: [{ text }] }] })}'`,
    ],
  ]
}
