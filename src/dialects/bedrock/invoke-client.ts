/**
 * Anthropic's messages towards clients of Amazon Bedrock: the same bodies, in Bedrock's frames and with its errors.
 * Sources: AWS, "InvokeModel", "InvokeModelWithResponseStream"; Anthropic, "Claude on Amazon Bedrock".
 */
import { Result } from "effect"
import { betasCarried, messagesApi } from "../anthropic/client.ts"
import type { ClientApi } from "../client/client-api.ts"
import { isObject, parseObject } from "../parse/json.ts"
import { betasIn } from "./betas.ts"
import { bedrockErrors } from "./client-errors.ts"
import { failureFrame, inFrames, type TextEvent } from "./client-frames.ts"
import { writeFrame } from "./event-stream.ts"

const frameOf = ({ type, data }: TextEvent): Uint8Array => {
  if (type !== "error") {
    return writeFrame("event", "chunk", JSON.stringify({ bytes: Buffer.from(data).toString("base64") }))
  }
  const error = parseObject(data)?.["error"]
  return failureFrame(isObject(error) ? error["message"] : undefined)
}

export const invokeApi: ClientApi = {
  ...messagesApi,
  ...bedrockErrors,
  name: "Anthropic messages at Bedrock",
  ...(messagesApi.carried !== undefined && {
    carried: {
      ...messagesApi.carried,
      betas: (headers, body) =>
        betasCarried([...betasIn(body), ...(messagesApi.carried?.betas?.(headers, body) ?? [])]),
    },
  }),
  decode: ({ anthropic_beta: names, ...body }, place) =>
    Result.map(messagesApi.decode(body, place), (read) => ({
      ...read,
      context: { ...read.context, features: betasIn({ anthropic_beta: names }) },
    })),
  framing: inFrames(frameOf),
}
