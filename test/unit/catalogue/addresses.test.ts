/** Addresses that follow from a region or a location, and those that are given. */
import { Result } from "effect"
import { expect, it } from "vitest"
import { loadCatalogue } from "../../../src/catalogue/load.ts"
import { makeSnapshot } from "../../../src/catalogue/snapshot.ts"

const aws = (region: string) => `dialect: bedrock, credential: env:K, aws: { region: ${region} }`
const google = (location: string) =>
  `dialect: gemini, profile: vertex, credential: env:K, google: { project: p, location: ${location} }`

it.each([
  [aws("eu-central-1"), "https://bedrock-runtime.eu-central-1.amazonaws.com"],
  [aws("us-gov-west-1"), "https://bedrock-runtime.us-gov-west-1.amazonaws.com"],
  [aws("cn-north-1"), "https://bedrock-runtime.cn-north-1.amazonaws.com.cn"],
  [google("europe-west4"), "https://europe-west4-aiplatform.googleapis.com"],
  [google("global"), "https://aiplatform.googleapis.com"],
  [`${google("global")}, baseUrl: "http://127.0.0.1:1/private"`, "http://127.0.0.1:1/private"],
  [`${aws("us-east-1")}, baseUrl: "https://vpce.test"`, "https://vpce.test"],
])("%s is at %s", (fields, address) => {
  const text = `version: 1
vendors: [{ id: a, ${fields} }]
models: [{ handle: m, targets: [{ vendor: a, model: x }] }]
`
  const { document } = Result.getOrThrow(loadCatalogue(text))
  const [target] = makeSnapshot(document, 1n, "", () => "secret").model("m")?.targets ?? []
  expect(target?.vendor.baseUrl).toBe(address)
})
