/** Models that the tests of compatible routes serve beside those of the test catalogue, and how they are asked. */
import type { TestGateway } from "../../../src/testing/gateway.ts"
import type { VendorScript } from "../../../src/testing/index.ts"

interface Served {
  /** Fields of vendors by their ids, in YAML. */
  readonly vendors?: Readonly<Record<string, string>>
  /** Fields of models by their handles, in YAML. */
  readonly models: Readonly<Record<string, string>>
  /** Fields of the price of a model, in YAML. */
  readonly price?: (handle: string) => string
  /** Fields of the organisation, in YAML. */
  readonly org?: string
}

/** The test catalogue with more models, each of which has its price and is in the plan of the tests. */
export const serving = (
  catalogue: string,
  { vendors = {}, models, price = () => `input: "3", output: "15"`, org }: Served,
): string => {
  const handles = Object.keys(models)
  return catalogue
    .replace("vendors:\n", `vendors:\n${entries(vendors, (id, fields) => `id: ${id}, ${fields}`)}`)
    .replace("models:\n", `models:\n${entries(models, (handle, fields) => `handle: ${handle}, ${fields}`)}`)
    .replace(
      "prices:\n",
      `prices:\n${entries(models, (model) => `model: ${model}, currency: USD, ${price(model)}, from: 2026-01-01`)}`,
    )
    .replace("models: [main,", `models: [${handles.join(", ")}, main,`)
    .replace("name: Test,", `name: Test,${org === undefined ? "" : ` ${org},`}`)
}

const entries = (all: Readonly<Record<string, string>>, entryOf: (name: string, fields: string) => string): string =>
  Object.entries(all)
    .map(([name, fields]) => `  - { ${entryOf(name, fields)} }\n`)
    .join("")

/** One model for each vendor, by handles. @param fields all but the target, in YAML */
export const modelsAt = (vendors: Readonly<Record<string, string>>, fields: string, model = "upstream") =>
  Object.fromEntries(
    Object.entries(vendors).map(([handle, vendor]) => [handle, `${fields}, ${targetAt(vendor, model)}`]),
  )

export const targetAt = (vendor: string, model = "upstream"): string =>
  `targets: [{ vendor: ${vendor}, model: ${model} }]`

export const paths = {
  chat: () => "/openai/v1/chat/completions",
  responses: () => "/openai/v1/responses",
  messages: () => "/anthropic/v1/messages",
  generate: (model: string) => `/gemini/v1beta/models/${model}:generateContent`,
  t1: () => "/t1/exchange",
}
export type Api = keyof typeof paths

/** The same for streams. */
export const streamPaths: typeof paths = {
  ...paths,
  generate: (model) => `/gemini/v1beta/models/${model}:streamGenerateContent?alt=sse`,
}

/** Asks a model in one API. @returns the reply, with what the vendor got; undefined if it was not called */
export const askIn = async (gateway: TestGateway, script: VendorScript, api: Api, model: string, body: object) => {
  const { vendor } = gateway
  vendor.script(script)
  const before = vendor.calls.length
  const named = api === "generate" ? body : { model, ...body }
  const { status, text, warning } = await ask(gateway, paths[api](model), named)
  return { status, text, warning, sent: vendor.calls.length === before ? undefined : vendor.calls.at(-1)?.body }
}

/**
 * Posts to a gateway as its test client, of any API.
 * @returns the reply with its warnings and its cost
 */
export const ask = async (
  { baseUrl, keyId, key }: TestGateway,
  path: string,
  body: string | object,
  headers: Readonly<Record<string, string>> = {},
) => {
  const credential = path.startsWith("/t1/")
    ? { "x-svc-key-id": keyId, "x-svc-key": key }
    : { "x-api-key": `${keyId}~${key}` }
  const reply = await fetch(baseUrl + path, {
    method: "POST",
    headers: { "content-type": "application/json", ...credential, ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  })
  return {
    status: reply.status,
    warning: reply.headers.get("x-svc-warning"),
    cost: reply.headers.get("x-svc-cost"),
    text: await reply.text(),
  }
}
