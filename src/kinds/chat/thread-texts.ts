/** The messages of an exchange's thread as texts of JSON, which are kept and sent again unchanged. */
import type { JsonPath } from "../../protocol/json/json-edit.ts"
import { JsonSource } from "../../protocol/json/json-source.ts"

/** @param body a request that was read @param from the first message that is returned @param place of the exchange in the body */
export const messagesFrom = (body: string | Uint8Array, from: number, place: JsonPath = []): ReadonlyArray<string> => {
  const source = new JsonSource(body)
  const texts: Array<string> = []
  for (let at = from; ; at++) {
    const text = source.textAt([...place, "thread", at])
    if (text === undefined) return texts
    texts.push(text)
  }
}
