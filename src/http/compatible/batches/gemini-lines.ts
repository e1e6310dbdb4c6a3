/** Requests of Gemini's batches, in a list or in a file. Source: https://ai.google.dev/gemini-api/docs/batch-api */
import { Result } from "effect"
import type { SentLine } from "../../../batches/admit-batch.ts"
import { linesOf } from "../../../batches/lines-of.ts"
import type { ListIn } from "../../../batches/list-in.ts"
import { geminiName } from "../../../batches/result-form.ts"
import { isObject } from "../../../dialects/parse/json.ts"
import { parseBody } from "../../../protocol/json/json-body.ts"
import { JsonSource } from "../../../protocol/json/json-source.ts"

const mostKeyLength = 512

/** The list of requests in a body. @param path of each */
export async function* listedRequests(list: ListIn, path: string): AsyncGenerator<SentLine> {
  let at = 0
  for await (const text of list.elements()) {
    const json = Result.getOrUndefined(parseBody(Buffer.from(text)))
    const source = new JsonSource(text)
    const number = ++at
    if (!isObject(json) || !isObject(json["request"])) {
      yield refused(number, `requests[${number - 1}]`, "has an object 'request'")
      continue
    }
    const metadata = json["metadata"] === undefined ? undefined : source.textAt(["metadata"])
    yield { number, line: { id: geminiName.inList(number, metadata), path, body: source.textAt(["request"]) ?? "{}" } }
  }
}

/** The requests in a file: `{"key":…,"request":…}`. */
export async function* filedRequests(
  chunks: AsyncIterable<Uint8Array>,
  path: string,
  mostBytes: number,
): AsyncGenerator<SentLine> {
  for await (const { number, text } of linesOf(chunks, mostBytes)) {
    const where = `line ${number}`
    if (text === undefined) {
      yield refused(number, where, `is longer than ${mostBytes} bytes, or not UTF-8`)
      continue
    }
    const json = Result.getOrUndefined(parseBody(Buffer.from(text)))
    if (!isObject(json) || !isObject(json["request"]))
      yield refused(number, where, "is no JSON with an object 'request'")
    else {
      const { key } = json
      const name = typeof key === "string" ? key : `request-${number}`
      if (name.length > mostKeyLength)
        yield refused(number, where, `has a key of more than ${mostKeyLength} characters`)
      else {
        const body = new JsonSource(text).textAt(["request"]) ?? "{}"
        yield { number, line: { id: geminiName.inFile(name), path, body } }
      }
    }
  }
}

const refused = (number: number, param: string, message: string): SentLine => ({
  number,
  problem: { code: "invalid_request", message, param },
})
