/**
 * Counts of tokens towards clients of Amazon Bedrock: of a request of Converse, or of a body of Anthropic's messages. Source:
 * https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_CountTokens.html
 */
import { Result } from "effect"
import type { ClientApi } from "../client/client-api.ts"
import { FieldReader, type FieldRefusal } from "../client/fields.ts"
import { isObject, type JsonObject, parseObject } from "../parse/json.ts"
import { converseApi } from "./converse-client.ts"
import { invokeApi } from "./invoke-client.ts"

const decode: ClientApi["decode"] = ({ model, input }, place) => {
  const reader = new FieldReader()
  const asked = reader.object(input, "input")
  const { converse, invokeModel } = asked
  if (Object.keys(asked).length !== 1 || (!isObject(converse) && !isObject(invokeModel))) {
    reader.refuse("input", "must be converse or invokeModel")
  }
  if (isObject(converse)) {
    return Result.flatMap(reader.result(converse), (body) =>
      inInput(converseApi.decode({ model, ...body }, place), "converse"),
    )
  }
  const body = bodyOf(reader, isObject(invokeModel) ? invokeModel : {})
  return Result.flatMap(reader.result(body), (sent) =>
    inInput(invokeApi.decode({ ...sent, model }, place), "invokeModel.body"),
  )
}

/** The body of a call, in base64. */
const bodyOf = (reader: FieldReader, { body }: JsonObject): JsonObject => {
  const read = parseObject(Buffer.from(reader.string(body, "input.invokeModel.body"), "base64").toString("utf8"))
  if (read === undefined) reader.refuse("input.invokeModel.body", "must be a JSON object in base64")
  return read ?? {}
}

/** A refusal names the field with its place. */
const inInput = <A>(read: Result.Result<A, FieldRefusal>, place: string): Result.Result<A, FieldRefusal> =>
  Result.mapError(read, ({ path, message }) => ({ path: `input.${place}.${path}`, message }))

export const bedrockCountApi: ClientApi = { ...converseApi, name: "Bedrock CountTokens", decode }
