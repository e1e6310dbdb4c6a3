/**
 * `node scripts/known-prices.ts FILE DATE`: writes the prices that `weir init` uses without a price file to
 * src/setup/known-prices.json: entries of LiteLLM's `model_prices_and_context_window.json` (MIT) of the vendors that `weir init`
 * knows, with the fields that are read. Numbers become texts, because a price never passes through a float.
 */
import { execFileSync } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { isObject } from "../src/dialects/parse/json.ts"
import { knownVendors } from "../src/setup/known-vendors.ts"
import { parsePrices, readPriceEntries } from "../src/setup/price-file.ts"

const [file = "", date = ""] = process.argv.slice(2)
const text = readFileSync(file, "utf8")
const providers = new Set(knownVendors.map(({ provider }) => provider))
const isOurs = (provider: string): boolean =>
  providers.has(provider) || (provider === "bedrock_converse" && providers.has("bedrock"))

const fields =
  /cost|pricing|^(mode|litellm_provider|max_tokens|max_input_tokens|max_output_tokens|deprecation_date)$|^supports_(function_calling|vision|pdf_input|reasoning|prompt_caching)$/

const all = parsePrices(text)
const entriesOfAll = isObject(all) ? all : {}
const { models } = readPriceEntries(entriesOfAll)
const served = new Set(
  models
    .filter(({ provider, deprecatedAt }) => isOurs(provider) && (deprecatedAt === undefined || deprecatedAt > date))
    .map(({ name }) => name),
)
const entries = Object.entries(entriesOfAll)
  .filter(([name]) => served.has(name))
  .map(([name, entry]) => [
    name,
    Object.fromEntries(
      Object.entries(isObject(entry) ? entry : {}).filter(
        ([field, value]) => fields.test(field) && !field.endsWith("_batches") && value !== null,
      ),
    ),
  ])

const target = fileURLToPath(new URL("../src/setup/known-prices.json", import.meta.url))
const source = "https://github.com/BerriAI/litellm/blob/main/model_prices_and_context_window.json"
const lines = entries.map((entry) => `    ${JSON.stringify(entry[0])}: ${JSON.stringify(entry[1])}`)
writeFileSync(
  target,
  `{\n  "date": ${JSON.stringify(date)},\n  "source": ${JSON.stringify(source)},\n  "licence": "MIT, Copyright (c) 2023 Berri AI",\n  "models": {\n${lines.join(",\n")}\n  }\n}\n`,
)
execFileSync(fileURLToPath(new URL("../node_modules/.bin/biome", import.meta.url)), ["format", "--write", target])
console.log(`${entries.length} models`)
