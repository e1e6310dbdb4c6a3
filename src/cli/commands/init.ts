/** `weir init`: writes a catalogue for the vendors whose API keys are here, or adds what an existing one lacks. */
import { existsSync } from "node:fs"
import { Clock, Console, Effect, Layer, Option, Result } from "effect"
import { Command, Flag, Prompt } from "effect/cli"
import { addressOf } from "../../catalogue/addresses.ts"
import { WeirConfig } from "../../config.ts"
import { CallDeadlines } from "../../deadlines.ts"
import { dialectOf } from "../../dialects/index.ts"
import { writeWholeFile } from "../../files/whole-file.ts"
import type { CatalogueDocument } from "../../protocol/catalogue/document.ts"
import type { PassThrough } from "../../protocol/catalogue/pass-through.ts"
import { dateOf } from "../../protocol/values/instant.ts"
import { resolveFromMachine } from "../../secrets.ts"
import type { Additions } from "../../setup/catalogue-text.ts"
import { offerOf } from "../../setup/choose-models.ts"
import { keyVariableOf, type VendorToSetUp, vendorNamed, vendorsWithKeys } from "../../setup/choose-vendors.ts"
import { isKnownApi, knownRoutes, unpricedOf } from "../../setup/known-routes.ts"
import { knownVendors } from "../../setup/known-vendors.ts"
import type { PriceFile } from "../../setup/price-file.ts"
import { modelsOf } from "../../setup/price-import.ts"
import { additionsOf, type ChosenModel, starterCatalogue } from "../../setup/starter.ts"
import { listModels } from "../../setup/vendor-models.ts"
import { VendorClient } from "../../upstream/client.ts"
import { Egress } from "../../upstream/egress.ts"
import { linesOf, readCatalogue, readMarkup, readPrices, readText, withEntries } from "../files.ts"
import { Failed, failed } from "../target.ts"
import { describeCheck } from "./vendors.ts"

const flags = {
  file: Flag.String("file").pipe(
    Flag.withDescription("The catalogue to write, or to add to"),
    Flag.withDefault("weir.yaml"),
  ),
  vendor: Flag.String("vendor").pipe(
    Flag.withDescription(
      "A vendor, such as anthropic, or local=http://127.0.0.1:8000/v1 with its key in LOCAL_API_KEY; those with an API key if absent",
    ),
    Flag.atLeast(0),
  ),
  model: Flag.String("model").pipe(
    Flag.withDescription("A model by its vendor's name; all that have a price if absent"),
    Flag.atLeast(0),
  ),
  passThrough: Flag.String("pass-through").pipe(
    Flag.withDescription("Vendors whose other routes are passed through, such as openai,anthropic"),
    Flag.optional,
  ),
  prices: Flag.String("prices").pipe(
    Flag.withDescription("A newer price file than the one that comes along: LiteLLM's, as a path or an https URL"),
    Flag.optional,
  ),
  markup: Flag.String("markup").pipe(
    Flag.withDescription("The markup on the vendors' prices, such as 10%"),
    Flag.withDefault("0%"),
  ),
  yes: Flag.Boolean("yes").pipe(
    Flag.withDescription("Do not ask: take all models, and write the file"),
    Flag.withDefault(false),
  ),
  test: Flag.Boolean("test").pipe(
    Flag.withDescription(
      "Make one small call to each vendor; with --no-test, no vendor is called, not even for its models",
    ),
    Flag.withDefault(true),
  ),
}

export const init = Command.make(
  "init",
  flags,
  Effect.fn(function* ({
    file,
    vendor: named,
    model: models,
    passThrough: apis,
    prices: priceFile,
    markup,
    yes,
    test,
  }) {
    const asks = !yes && process.stdin.isTTY === true
    const hundredths = yield* readMarkup(markup)
    const existing = existsSync(file) ? yield* readCatalogue(file) : undefined
    const known = Option.isSome(priceFile) ? undefined : yield* knownPrices
    const prices = Option.isSome(priceFile) ? yield* readPrices(priceFile.value) : (known?.prices ?? noPrices)
    const vendors = yield* chooseVendors(named, asks)
    const today = dateOf(yield* Clock.currentTimeMillis)
    const chosen = yield* Effect.provide(
      chooseModels(vendors, { wanted: models, prices, today, asks, calls: test }),
      layerClient,
    )
    if (known !== undefined && vendors.some(({ provider }) => provider !== undefined)) {
      yield* Console.log(`Prices are of ${known.date}, from LiteLLM's list; --prices FILE takes others`)
    }
    const entries = vendors.map(({ entry }) => entry)
    const passThrough = yield* chooseRoutes(Option.getOrUndefined(apis), existing?.document, entries)
    const additions = {
      ...additionsOf(existing?.document, entries, chosen, { markup: hundredths, from: today }),
      passThrough,
    }
    if (Object.values(additions).every((list) => list.length === 0)) {
      yield* Console.log(`${file} has all of them: nothing changes`)
    } else {
      const text =
        existing === undefined ? starterCatalogue(additions, today) : yield* withEntries(file, existing.text, additions)
      yield* Console.log(existing === undefined ? describeNew(file, additions) : describeAdditions(file, additions))
      if (!(yes || (asks && (yield* Prompt.Confirm({ message: `Write ${file}?`, initial: true }))))) {
        return yield* Console.log(`Nothing was written: --yes writes`)
      }
      writeWholeFile(file, text)
      yield* Console.log(`${file} is written`)
    }
    if (test) yield* testVendors(file, vendors)
    yield* Console.log(nextSteps(file, existing !== undefined, entries))
  }),
)

/** The known routes of these vendors that the catalogue lacks. */
const chooseRoutes = Effect.fnUntraced(function* (
  apis: string | undefined,
  document: CatalogueDocument | undefined,
  added: ReadonlyArray<VendorToSetUp["entry"]>,
) {
  if (apis === undefined) return []
  const vendors = new Set([...(document?.vendors ?? []), ...added].map(({ id }) => id))
  const declared = new Set((document?.passThrough ?? []).map(({ id }) => id))
  const routes: Array<PassThrough> = []
  for (const api of apis.split(",").map((each) => each.trim())) {
    if (!isKnownApi(api))
      return yield* failed(`No routes of ${api} are known; openai, anthropic, gemini and cohere are`)
    if (!vendors.has(api)) return yield* failed(`There is no vendor with the id ${api}: add it with --vendor ${api}`)
    routes.push(...knownRoutes(api).filter(({ id }) => !declared.has(id)))
  }
  const unpriced = unpricedOf(routes)
  if (unpriced.length > 0) {
    yield* Console.log(`${unpriced.length} routes cost 1 USD a call until you set their prices: ${unpriced.join(", ")}`)
  }
  return routes
})

const chooseVendors = Effect.fnUntraced(function* (named: ReadonlyArray<string>, asks: boolean) {
  if (named.length > 0) {
    const read = named.map((name) => vendorNamed(name, process.env))
    const wrong = read.find(Result.isFailure)
    if (wrong !== undefined) return yield* failed(wrong.failure)
    return read.flatMap((each) => (Result.isSuccess(each) ? [each.success] : []))
  }
  const found = vendorsWithKeys(process.env)
  if (found.length === 0) {
    const names = [...new Set(knownVendors.map(({ variables }) => variables[0]))].join(", ")
    return yield* failed(
      `No vendor has its API key here. Set one of ${names}, or the variables of a cloud (AWS_REGION, GOOGLE_CLOUD_PROJECT, AZURE_OPENAI_ENDPOINT, each with an identity); or name your own server, such as --vendor local=http://127.0.0.1:8000/v1`,
    )
  }
  if (!asks) return found
  return yield* Prompt.MultiSelect({
    message: "Vendors whose API keys are in the environment",
    choices: found.map((vendor) => ({
      title: `${vendor.entry.id} (${addressOf(vendor.entry)})`,
      value: vendor,
      selected: true,
    })),
    min: 1,
  })
})

/** Vendors are called as a gateway calls them: through the same proxies. */
const layerClient = VendorClient.layer.pipe(Layer.provide(Egress.layer), Layer.provide(WeirConfig.layer))

interface Choice {
  readonly wanted: ReadonlyArray<string>
  readonly prices: PriceFile
  readonly today: string
  readonly asks: boolean
  /** Whether vendors may be called. */
  readonly calls: boolean
}

/** Asks each vendor for its models, or reads them from the price file if it has no list, or may not be called. */
const chooseModels = Effect.fnUntraced(function* (
  vendors: ReadonlyArray<VendorToSetUp>,
  { wanted, prices, today, asks, calls }: Choice,
) {
  const client = yield* VendorClient
  const chosen: Array<ChosenModel> = []
  for (const { entry, key, provider, hasNoList } of vendors) {
    if (key === undefined && entry.credential !== undefined) {
      return yield* failed(`${entry.id}: there is no API key at ${entry.credential}`)
    }
    const baseUrl = addressOf(entry) ?? ""
    // A server of one's own has no models in the file.
    const isNamed = !hasNoList && !calls && provider === undefined
    const isRead = hasNoList || !calls
    const listed = isNamed
      ? wanted
      : isRead
        ? modelsOf(prices, provider ?? entry.id)
        : yield* Effect.mapError(
            listModels(client, { ...entry, baseUrl }, key),
            ({ message, lacksKey }) =>
              new Failed(`${entry.id}: ${message}${lacksKey === true ? `; set ${keyVariableOf(entry.id)}` : ""}`),
          )
    if (isNamed && wanted.length === 0) {
      return yield* failed(`${entry.id} is not asked for its models: name them, such as --model NAME`)
    }
    const { models, unpriced } = offerOf(
      entry.id,
      listed,
      provider,
      prices,
      today,
      (kind) => dialectOf(entry)[kind] !== undefined,
    )
    const own = wanted.length === 0 ? models : models.filter(({ model }) => wanted.includes(model))
    const counted = `${listed.length} ${listed.length === 1 ? "model" : "models"}`
    const lister = isNamed
      ? `${counted} of ${entry.id} ${listed.length === 1 ? "is" : "are"} named`
      : isRead
        ? `The price file lists ${counted} of ${entry.id}`
        : `${entry.id} lists ${counted}`
    yield* Console.log(`${lister}; ${own.length} of them can be served`)
    const missing = wanted.filter((model) => unpriced.includes(model))
    if (missing.length > 0 || (own.length === 0 && unpriced.length > 0)) {
      const which = missing.length > 0 ? missing.join(", ") : `any of ${entry.id}'s models`
      return yield* failed(`There is no price for ${which}: name a newer price file, such as --prices ${newestPrices}`)
    }
    chosen.push(
      ...(asks && own.length > 1
        ? yield* Prompt.MultiSelect({
            message: `Models of ${entry.id}`,
            choices: own.map((each) => ({ title: each.model, value: each, selected: true })),
          })
        : own),
    )
  }
  return chosen
})

const newestPrices = "https://raw.githubusercontent.com/BerriAI/litellm/main/model_prices_and_context_window.json"

const noPrices: PriceFile = { models: [], refused: new Map() }

const knownPrices = Effect.map(
  Effect.promise(() => import("../../setup/known-prices.ts")),
  ({ readKnownPrices }) => readKnownPrices(),
)

const describeNew = (file: string, { vendors = [], models = [], prices = [] }: Additions): string => {
  const free = prices.filter(({ input, output }) => input === "0" && output === "0").map(({ model }) => model)
  return [
    `${file}: ${vendors.map(({ id }) => id).join(", ")} with ${models.map(({ handle }) => handle).join(", ")}, and a first organisation with a key`,
    ...(free.length === 0 ? [] : [`No price is known for ${free.join(", ")}: enter your price`]),
  ].join("\n")
}

const describeAdditions = (file: string, additions: Additions): string =>
  `To add to ${file}; everything else stays as it is:\n${linesOf(additions)}`

/** One small call to each vendor, by the catalogue that was written. */
const testVendors = Effect.fnUntraced(function* (file: string, vendors: ReadonlyArray<VendorToSetUp>) {
  const [{ VendorCheck }, { layerStaticCatalogue }] = yield* Effect.promise(() =>
    Promise.all([import("../../setup/vendor-check.ts"), import("../../testing/static-catalogue.ts")]),
  )
  const services = VendorCheck.layer.pipe(
    Layer.provide(Layer.merge(layerClient, CallDeadlines.layer)),
    Layer.provide(layerStaticCatalogue(yield* readText(file), resolveFromMachine)),
    Layer.provide(WeirConfig.layer),
  )
  const checks = Effect.gen(function* () {
    const check = yield* VendorCheck
    return yield* Effect.forEach(vendors, ({ entry }) => check.run(entry.id, undefined))
  })
  const outcomes = yield* Effect.provide(checks, services).pipe(
    Effect.mapError((error) => new Failed(`The vendors could not be called: ${error.message}`)),
  )
  for (const outcome of outcomes) yield* Console.log(describeCheck(outcome))
  if (outcomes.some(({ ok }) => !ok)) return yield* failed(`${file} is written, but not every vendor answers`)
})

const nextSteps = (file: string, isOld: boolean, vendors: ReadonlyArray<VendorToSetUp["entry"]>): string => {
  // A key that was set for this command alone is not there when the gateway starts.
  const variables = vendors.flatMap(({ credential = "" }) => /^env:(.+)$/.exec(credential)?.[1] ?? [])
  const reads = variables.length === 0 ? "" : `It reads ${variables.join(", ")} from its environment. `
  return isOld
    ? `Next: ${inClone ? "npm run weir --" : "weir"} apply ${file} --dry-run`
    : [
        "Next:",
        `  SVC_CATALOGUE=${file} ${inClone ? "npm start" : "weir serve"}`,
        `${reads}It prints the first key, once, and SVC_ADMIN_KEY.`,
      ].join("\n")
}

/** Whether npm runs the command in a clone. */
const inClone = process.env["npm_lifecycle_event"] === "weir"
