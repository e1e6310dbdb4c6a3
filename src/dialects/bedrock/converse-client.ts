/** Amazon Bedrock's Converse towards clients. */
import { messagesApi } from "../anthropic/client.ts"
import type { ClientApi } from "../client/client-api.ts"
import { parseObject } from "../parse/json.ts"
import { bedrockErrors } from "./client-errors.ts"
import { failureFrame, inFrames } from "./client-frames.ts"
import { ConverseEvents, wholeConverse } from "./converse-reply.ts"
import { converseFields, decodeConverse } from "./converse-request.ts"
import { writeFrame } from "./event-stream.ts"

export const converseApi: ClientApi = {
  ...bedrockErrors,
  name: "Bedrock Converse",
  fields: converseFields,
  decode: decodeConverse,
  events: (context) => new ConverseEvents(context),
  whole: wholeConverse,
  ...(messagesApi.omittedFeatures !== undefined && { omittedFeatures: messagesApi.omittedFeatures }),
  framing: inFrames(({ type, data }) =>
    type === "error" ? failureFrame(parseObject(data)?.["message"]) : writeFrame("event", type, data),
  ),
  fieldNames: [
    ["thread", "messages"],
    ["tools", "toolConfig.tools"],
    ["params.maxTokens", "inferenceConfig.maxTokens"],
    ["params.temperature", "inferenceConfig.temperature"],
    ["params.topP", "inferenceConfig.topP"],
    ["params.stop", "inferenceConfig.stopSequences"],
    ["params.toolChoice", "toolConfig.toolChoice"],
    ["params.reasoningBudget", "additionalModelRequestFields.thinking.budget_tokens"],
    ["params.reasoning", "additionalModelRequestFields.thinking"],
    ["params.topK", "additionalModelRequestFields.top_k"],
    ["params.effort", "additionalModelRequestFields.output_config.effort"],
    ["params.serviceTier", "serviceTier.type"],
    ["params.output", "outputConfig.textFormat"],
    ["params.", ""],
  ],
}
