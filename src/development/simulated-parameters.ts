/**
 * Optional parameters at the simulated vendor, which supports all of them. A model called `without:seed,n` refuses the fields
 * that its name lists, as OpenAI refuses them.
 */
import { type JsonObject, objectAt, stringAt } from "../dialects/parse/json.ts"
import type { VendorCall } from "../testing/scripted-vendor.ts"
import { openaiFrame } from "../testing/vendor-replies.ts"

const prefix = "without:"

/** The first field of a request that the name of its model says to refuse. */
export const refusedField = ({ body }: VendorCall): string | undefined => {
  const model = stringAt(body, "model") ?? ""
  if (!model.startsWith(prefix)) return undefined
  return model
    .slice(prefix.length)
    .split(",")
    .find((name) => name in body)
}

export const refuseField = (call: VendorCall, param: string): void => {
  call.head(400, { "content-type": "application/json" })
  const message = `Unsupported parameter: '${param}' is not supported with this model.`
  call.end(JSON.stringify({ error: { message, type: "invalid_request_error", param, code: "unsupported_parameter" } }))
}

/** Whether a reply must show the effect of a parameter. */
export const showsParameters = ({ body }: VendorCall): boolean =>
  body["logprobs"] === true || repliesOf(body) > 1 || stringAt(body, "service_tier") !== undefined

const repliesOf = ({ n }: JsonObject): number => (typeof n === "number" && n > 1 ? Math.min(n, 8) : 1)

/** Writes the text once for each reply, with probabilities and the tier if they are asked for. */
export const answerWithParameters = async (
  call: VendorCall,
  words: ReadonlyArray<string>,
  inTokens: number,
  pauseMs: number,
): Promise<void> => {
  const { body } = call
  const n = repliesOf(body)
  const tier = stringAt(body, "service_tier")
  const base = { ...(tier !== undefined && { service_tier: tier }) }
  const outTokens = words.length * n
  const usage = { prompt_tokens: inTokens, completion_tokens: outTokens, total_tokens: inTokens + outTokens }
  const replies = Array.from({ length: n }, (_, index) => index)
  if (!call.streaming) {
    await call.wait(pauseMs)
    const choices = replies.map((index) => ({
      index,
      message: { role: "assistant", content: words.join("") },
      logprobs: logprobsOf(body, words),
      finish_reason: "stop",
    }))
    call.head(200, { "content-type": "application/json" })
    return call.end(JSON.stringify({ object: "chat.completion", ...base, choices, usage }))
  }
  call.head()
  for (const word of words) {
    await call.wait(pauseMs)
    const choices = replies.map((index) => ({
      index,
      delta: { content: word },
      logprobs: logprobsOf(body, [word]),
      finish_reason: null,
    }))
    // Vendors send a frame for each reply.
    for (const choice of choices) {
      if (!(await call.write(openaiFrame({ object: "chat.completion.chunk", ...base, choices: [choice] })))) return
    }
  }
  const ends = replies.map((index) => openaiFrame({ ...base, choices: [{ index, delta: {}, finish_reason: "stop" }] }))
  const asksForUsage = objectAt(body, "stream_options")?.["include_usage"] === true
  call.end(ends.join("") + (asksForUsage ? openaiFrame({ ...base, choices: [], usage }) : "") + openaiFrame("[DONE]"))
}

const logprobsOf = (body: JsonObject, words: ReadonlyArray<string>): object | null => {
  if (body["logprobs"] !== true) return null
  const top = typeof body["top_logprobs"] === "number" ? body["top_logprobs"] : 0
  const reckoned = (token: string, logprob: number) => ({ token, logprob, bytes: [...Buffer.from(token)] })
  return {
    content: words.map((word) => ({
      ...reckoned(word, -0.1),
      top_logprobs: Array.from({ length: top }, (_, at) => reckoned(at === 0 ? word : `${word}${at}`, -0.1 - at)),
    })),
    refusal: null,
  }
}
