/** The fields of the catalogue's forms, and the entries that their values make. */
import type { DraftEntries, KnownVendors } from "../../../protocol/control/draft.ts"
import type { Field, Values } from "../../ui/form.ts"

type Entry<Section extends keyof DraftEntries> = NonNullable<DraftEntries[Section]>[number]

const optional = (name: string, label: string, more: Partial<Field> = {}): Field => ({
  name,
  label,
  isOptional: true,
  ...more,
})

const vendorField = (vendors: ReadonlyArray<string>): Field => ({
  name: "vendor",
  label: "Vendor",
  suggestions: vendors,
  value: vendors[0] ?? "",
})

export const vendorFields = (known: KnownVendors["data"]): ReadonlyArray<Field> => [
  {
    name: "known",
    label: "Vendor",
    options: [
      ...known.map(({ id, hasKey }) => [id, hasKey ? `${id} (its key is here)` : id] as const),
      ["", "Another server with OpenAI's chat completions"],
    ],
  },
  optional("id", "Name in the catalogue", { hint: "The vendor's own if empty" }),
  optional("baseUrl", "Address", { hint: "The vendor's own if empty" }),
  optional("credential", "Reference of its API key", {
    hint: "env:NAME, file:PATH or a reference to a store, never the key itself",
  }),
]

export const vendorOf = (
  { known: chosen = "", id = "", baseUrl = "", credential = "" }: Values,
  known: KnownVendors["data"],
): DraftEntries => {
  const usual = known.find((vendor) => vendor.id === chosen)
  const entry: Entry<"vendors"> =
    usual === undefined
      ? { id, dialect: "openai-chat", profile: "generic", baseUrl, ...(credential !== "" && { credential }) }
      : {
          id: id || usual.id,
          dialect: usual.dialect,
          ...(usual.profile !== undefined && { profile: usual.profile }),
          ...addressIn(baseUrl, usual),
          ...accessIn(credential, usual),
        }
  return { vendors: [entry] }
}

type Known = KnownVendors["data"][number]

/** The address of a cloud follows from its region or its location. */
const addressIn = (baseUrl: string, { baseUrl: usual, aws, google }: Known) =>
  baseUrl === "" && (aws ?? google) !== undefined ? {} : { baseUrl: baseUrl || usual }

const accessIn = (credential: string, { credential: usual, aws, google, azure }: Known) => {
  const key = credential || usual
  return {
    ...(key !== undefined && { credential: key }),
    ...(aws !== undefined && { aws: credential === "" ? aws : { region: aws.region } }),
    ...(google !== undefined && { google }),
    ...(azure !== undefined && credential === "" && { azure }),
  }
}

/** The fields of a price: per million tokens, from a day on. */
const priceTerms = (today: string): ReadonlyArray<Field> => [
  { name: "input", label: "Price of input" },
  { name: "output", label: "Price of output" },
  optional("cacheRead", "Price of input read from a cache"),
  optional("cacheWrite", "Price of input written to a cache"),
  optional("aboveTokens", "Input tokens above which other prices hold", { type: "number" }),
  optional("aboveInput", "Price of input above them"),
  optional("aboveOutput", "Price of output above them"),
  optional("aboveCacheRead", "Price of input read from a cache above them"),
  optional("aboveCacheWrite", "Price of input written to a cache above them"),
  {
    name: "currency",
    label: "Currency",
    options: [
      ["USD", "USD"],
      ["CNY", "CNY"],
    ],
  },
  { name: "from", label: "From", type: "date", value: today },
]

const priceEntry = (model: string, values: Values): Entry<"prices"> => {
  const { currency = "", input = "", output = "", cacheRead = "", cacheWrite = "", from = "" } = values
  return {
    model,
    currency: currency === "CNY" ? "CNY" : "USD",
    input,
    output,
    ...(cacheRead !== "" && { cacheRead }),
    ...(cacheWrite !== "" && { cacheWrite }),
    ...aboveOf(values),
    from,
  }
}

/** The prices of long inputs, if one was given. */
const aboveOf = ({
  aboveTokens = "",
  aboveInput: input = "",
  aboveOutput: output = "",
  aboveCacheRead: cacheRead = "",
  aboveCacheWrite: cacheWrite = "",
}: Values): Pick<Entry<"prices">, "above"> => {
  const stated = Object.fromEntries(
    Object.entries({ input, output, cacheRead, cacheWrite }).filter(([, amount]) => amount !== ""),
  )
  if (aboveTokens === "" && Object.keys(stated).length === 0) return {}
  return { above: [{ tokens: Number(aboveTokens), ...stated }] }
}

export const modelFields = (vendors: ReadonlyArray<string>, today: string): ReadonlyArray<Field> => [
  vendorField(vendors),
  { name: "model", label: "The vendor's own name of the model" },
  { name: "handle", label: "Handle", hint: "The name that clients use" },
  optional("contextWindow", "Context window, tokens", { type: "number" }),
  optional("maxOutput", "Longest answer, tokens", { type: "number" }),
  ...priceTerms(today),
]

export const modelOf = (values: Values): DraftEntries => {
  const { vendor = "", model = "", handle = "", contextWindow = "", maxOutput = "" } = values
  const entry: Entry<"models"> = {
    handle,
    ...(contextWindow !== "" && { contextWindow: Number(contextWindow) }),
    ...(maxOutput !== "" && { maxOutput: Number(maxOutput) }),
    targets: [{ vendor, model }],
  }
  return { models: [entry], prices: [priceEntry(handle, values)] }
}

export const priceFields = (models: ReadonlyArray<string>, today: string): ReadonlyArray<Field> => [
  { name: "model", label: "Model", suggestions: models },
  ...priceTerms(today),
]

export const priceOf = (values: Values): DraftEntries => ({ prices: [priceEntry(values["model"] ?? "", values)] })

export const planFields: ReadonlyArray<Field> = [
  { name: "id", label: "Name" },
  optional("concurrency", "Exchanges at once", { type: "number" }),
  optional("perMinute", "Requests a minute", { type: "number" }),
  optional("dailyTokens", "Tokens a day", { type: "number" }),
]

export const planOf = ({ id = "", concurrency = "", perMinute = "", dailyTokens = "" }: Values): DraftEntries => ({
  plans: [
    {
      id,
      ...(concurrency !== "" && { concurrency: Number(concurrency) }),
      ...(perMinute !== "" && { perMinute: Number(perMinute) }),
      ...(dailyTokens !== "" && { dailyTokens: Number(dailyTokens) }),
    },
  ],
})

export const testFields = (vendors: ReadonlyArray<string>): ReadonlyArray<Field> => [
  vendorField(vendors),
  optional("model", "The vendor's name of the model", { hint: "The first model in the text if empty" }),
]
