/** The thread of the guide: making the OpenAPI document takes a second, and streams must not wait. */
import { parentPort, workerData } from "node:worker_threads"
import { OpenApi } from "effect/http-api"
import { Api } from "../../protocol/api.ts"
import { type Guide, makeGuide } from "./guide.ts"
import { type Answer, isGuideData, isQuestion, type Question } from "./guide-protocol.ts"

const data: unknown = workerData
const url = isGuideData(data) ? data.serverUrl : "/"
const document = OpenApi.fromApi(
  Api.annotateMerge(OpenApi.annotations({ servers: [{ url, description: "This gateway" }] })),
)
// Pages take longer than the document, which does not wait for them.
let made: Guide | undefined
const guide = (): Guide => (made ??= makeGuide(document))

const textOf = ({ ask, text }: Question): string | undefined => {
  switch (ask) {
    case "path":
      return guide().show(text)
    case "search":
      return guide().search(text)
    case "document":
      return JSON.stringify(document)
  }
}

parentPort?.on("message", (message: unknown) => {
  if (!isQuestion(message)) return
  const answer: Answer = { id: message.id, text: textOf(message) ?? null }
  parentPort?.postMessage(answer)
})
