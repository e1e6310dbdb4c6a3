/** The messages of an exchange's thread as texts of JSON, which are kept and sent again unchanged. */
import { JsonSource } from "../../protocol/json/json-source.ts"

/** @param body a request that was read, @param from the first message that is returned */
export const messagesFrom = (body: string | Uint8Array, from: number): ReadonlyArray<string> => {
  const source = new JsonSource(body)
  const texts: Array<string> = []
  for (let at = from; ; at++) {
    const text = source.textAt(["thread", at])
    if (text === undefined) return texts
    texts.push(text)
  }
}
