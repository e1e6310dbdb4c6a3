/** A gateway whose models are at vendors and on clouds: each client's API is tried with all of them. */
import { type GatewayOptions, newTestIds, testCatalogue } from "../../../src/testing/index.ts"

const clouds = ["bedrock", "bedrock-claude", "vertex", "vertex-claude"]

/** Models by what serves them. */
export const served: ReadonlyArray<string> = ["main", "claude", "responses", "gemini", ...clouds]

const google = "google: { project: my-project, location: global }"
const credential = 'credential: "env:WEIR_TEST_VENDOR"'
const capabilities = "capabilities: [tools, images, files, reasoning, cache], maxOutput: 2000"

export const onClouds = (): GatewayOptions => {
  const ids = newTestIds()
  return {
    ids,
    catalogue: (urls) =>
      testCatalogue(urls, ids)
        .replace(
          "vendors:\n",
          `vendors:
  - { id: aws, dialect: bedrock, baseUrl: "${urls.vendor}", ${credential} }
  - { id: aws-claude, dialect: anthropic, profile: bedrock, baseUrl: "${urls.vendor}", ${credential}, aws: { region: us-east-1 } }
  - { id: gcp, dialect: gemini, profile: vertex, baseUrl: "${urls.vendor}", ${credential}, ${google} }
  - { id: gcp-claude, dialect: anthropic, profile: vertex, baseUrl: "${urls.vendor}", ${credential}, ${google} }
`,
        )
        .replace(
          "models:\n",
          `models:
  - { handle: bedrock, ${capabilities}, targets: [{ vendor: aws, model: "us.anthropic.claude-sonnet-4-5-20250929-v1:0" }] }
  - { handle: bedrock-claude, ${capabilities}, targets: [{ vendor: aws-claude, model: "anthropic.claude-sonnet-4-5-20250929-v1:0" }] }
  - { handle: vertex, ${capabilities}, targets: [{ vendor: gcp, model: gemini-3-test }] }
  - { handle: vertex-claude, ${capabilities}, targets: [{ vendor: gcp-claude, model: "claude-sonnet-4-5@20250929" }] }
`,
        )
        .replace(
          "prices:\n",
          `prices:\n${clouds
            .map(
              (model) =>
                `  - { model: ${model}, currency: USD, input: "3", output: "15", cacheRead: "0.3", from: 2026-01-01 }`,
            )
            .join("\n")}\n`,
        )
        .replace("models: [main,", `models: [${clouds.join(", ")}, main,`),
  }
}
