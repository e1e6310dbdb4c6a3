/** The messages of Google's Live API in a session. Pure. */
import { objectAt, objectsAt, parseObject, stringAt } from "../parse/json.ts"
import type { RealtimeMessages } from "../realtime-dialect.ts"
import { isPlainSound, readLiveMessage } from "./client-messages.ts"
import { liveRates } from "./sound.ts"
import type { UsageNames } from "./usage.ts"
import { LiveReader } from "./vendor-reader.ts"

/** @param names of the counts that the client reads */
export const liveMessages = (names: UsageNames): RealtimeMessages => ({
  api: "google",
  rates: liveRates,
  isSound: isPlainSound,
  readClient: readLiveMessage,
  makeReader: (seal) => new LiveReader(seal, names),
  // A message of content ends the response that runs, and without turns it adds nothing.
  cancel: () => JSON.stringify({ clientContent: { turnComplete: false } }),
  wordsOf: (bytes) => {
    const content = objectAt(parseObject(bytes.toString("utf8")), "serverContent")
    const parts = objectsAt(objectAt(content, "modelTurn"), "parts").map((part) => stringAt(part, "text") ?? "")
    return ["", [stringAt(objectAt(content, "outputTranscription"), "text") ?? "", ...parts].join("")]
  },
  joinsRequests: true,
  refusedCode: 1007,
})
