/** The vendors on clouds that `weir init` offers, by the variables that the clouds' own tools read. */
import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { loadCatalogue } from "../../../src/catalogue/load.ts"
import { vendorsWithKeys } from "../../../src/setup/choose-vendors.ts"
import { readPriceFile } from "../../../src/setup/price-file.ts"
import { findPriced, modelsOf } from "../../../src/setup/price-import.ts"
import { starterCatalogue } from "../../../src/setup/starter.ts"

const other = { id: "other", dialect: "openai-chat", baseUrl: "http://127.0.0.1:1/v1" } as const
const served = { handle: "m", targets: [{ vendor: "other", model: "m" }] }
const free = { model: "m", currency: "USD", input: "1", output: "1", from: "2026-01-01" }
const keys = { AWS_ACCESS_KEY_ID: "AKID", AWS_SECRET_ACCESS_KEY: "secret" }

describe("vendors on clouds", () => {
  it.each([
    ["a region alone", { AWS_REGION: "eu-west-1" }, {}],
    ["keys without a region", keys, {}],
    [
      "access keys",
      { ...keys, AWS_REGION: "eu-west-1", AWS_SESSION_TOKEN: "t" },
      {
        bedrock: {
          aws: {
            region: "eu-west-1",
            accessKeyId: "env:AWS_ACCESS_KEY_ID",
            secretAccessKey: "env:AWS_SECRET_ACCESS_KEY",
            sessionToken: "env:AWS_SESSION_TOKEN",
          },
        },
      },
    ],
    [
      "a pod's web identity",
      { AWS_DEFAULT_REGION: "us-west-2", AWS_WEB_IDENTITY_TOKEN_FILE: "/token" },
      { bedrock: { aws: { region: "us-west-2", credentials: "default" } } },
    ],
    [
      "a Bedrock API key, and its region",
      { AWS_BEARER_TOKEN_BEDROCK: "k", AWS_REGION: "eu-north-1", ...keys },
      { bedrock: { aws: { region: "eu-north-1" }, credential: "env:AWS_BEARER_TOKEN_BEDROCK" } },
    ],
    [
      "a project and a file of Google's",
      { GOOGLE_CLOUD_PROJECT: "p-1", GOOGLE_CLOUD_LOCATION: "europe-west4", GOOGLE_APPLICATION_CREDENTIALS: "/a.json" },
      {
        vertex: { google: { project: "p-1", location: "europe-west4", credentials: "default" } },
        "claude-vertex": { google: { project: "p-1", location: "europe-west4", credentials: "default" } },
      },
    ],
    [
      "an application of Entra",
      {
        AZURE_OPENAI_ENDPOINT: "https://x.openai.azure.com/",
        AZURE_TENANT_ID: "t",
        AZURE_CLIENT_ID: "c",
        AZURE_CLIENT_SECRET: "s",
      },
      {
        azure: {
          baseUrl: "https://x.openai.azure.com",
          azure: { tenantId: "t", clientId: "c", clientSecret: "env:AZURE_CLIENT_SECRET" },
        },
      },
    ],
    [
      "a resource and its key",
      { AZURE_OPENAI_ENDPOINT: "https://x.openai.azure.com", AZURE_OPENAI_API_KEY: "k" },
      { azure: { baseUrl: "https://x.openai.azure.com", credential: "env:AZURE_OPENAI_API_KEY" } },
    ],
  ])("with %s", (_what, env, expected) => {
    const found = vendorsWithKeys(env)
    expect(Object.fromEntries(found.map(({ entry }) => [entry.id, entry]))).toMatchObject(expected)
    expect(found.map(({ entry }) => entry.id).sort()).toEqual(Object.keys(expected).sort())
    // The text for the file is a catalogue.
    const loaded = loadCatalogue(
      starterCatalogue(
        { vendors: [...found.map(({ entry }) => entry), other], models: [served], prices: [free] },
        "2026-01-01",
      ),
    )
    expect(Result.isSuccess(loaded) || loaded.failure).toBe(true)
    for (const secret of ["AKID", '"secret"']) expect(JSON.stringify(found)).not.toContain(secret)
  })
})

describe("their prices", () => {
  const file = readPriceFile(
    JSON.stringify({
      "anthropic.claude-sonnet-4-5-20250929-v1:0": priced("bedrock_converse"),
      "amazon.titan-embed-text-v2:0": { ...priced("bedrock"), mode: "embedding" },
      "bedrock/us-gov-west-1/anthropic.claude-v2": priced("bedrock"),
      "vertex_ai/claude-opus-4-5": priced("vertex_ai-anthropic_models"),
      "gemini-2.5-pro": priced("vertex_ai-language-models"),
      "gemini/gemini-2.5-pro": priced("gemini"),
      "azure/gpt-5": priced("azure"),
    }),
  )
  const prices = Result.getOrThrow(file)

  it.each([
    ["bedrock", ["anthropic.claude-sonnet-4-5-20250929-v1:0", "amazon.titan-embed-text-v2:0"]],
    ["vertex_ai-anthropic_models", ["claude-opus-4-5"]],
    ["vertex_ai-language-models", ["gemini-2.5-pro"]],
    ["gemini", ["gemini-2.5-pro"]],
    ["azure", ["gpt-5"]],
  ])("of %s are found by the names that the vendor has", (provider, names) => {
    expect(modelsOf(prices, provider)).toEqual(names)
    for (const name of names) expect(findPriced(prices, provider, name)).toBeDefined()
  })
})

function priced(litellm_provider: string) {
  return { litellm_provider, mode: "chat", input_cost_per_token: 0.000003, output_cost_per_token: 0.000015 }
}
