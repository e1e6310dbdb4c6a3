/** `weir prices`: copies exact prices from the file that the community maintains into a catalogue. */
import { Clock, Config, Console, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { writeWholeFile } from "../../files/whole-file.ts"
import { dateOf, dayMs, parseInstant } from "../../protocol/values/instant.ts"
import { entryLine } from "../../setup/catalogue-text.ts"
import { knownVendorOf } from "../../setup/known-vendors.ts"
import type { PriceFile } from "../../setup/price-file.ts"
import { importPrices, type PriceChange, type PriceImport } from "../../setup/price-import.ts"
import { readCatalogue, readMarkup, readPrices, withEntries } from "../files.ts"
import { table } from "../table.ts"
import { failed } from "../target.ts"

const file = Argument.String("file").pipe(
  Argument.withDescription("LiteLLM's model_prices_and_context_window.json; the PyPI package litellm contains it"),
)

const importCommand = Command.make(
  "import",
  {
    file,
    vendor: Flag.String("vendor").pipe(Flag.withDescription("The vendor in the catalogue whose models are priced")),
    provider: Flag.String("provider").pipe(
      Flag.withDescription("The vendor as the file calls it; known for vendors that weir init knows"),
      Flag.optional,
    ),
    catalogue: Flag.String("catalogue").pipe(
      Flag.withDescription("The catalogue file (SVC_CATALOGUE, or weir.yaml)"),
      Flag.withFallbackConfig(Config.String("SVC_CATALOGUE").pipe(Config.withDefault("weir.yaml"))),
    ),
    markup: Flag.String("markup").pipe(
      Flag.withDescription("The markup on the vendor's prices, such as 10% or 2.5%"),
      Flag.withDefault("0%"),
    ),
    from: Flag.String("from").pipe(
      Flag.withDescription(
        "The time from which the prices hold: a date or an instant; tomorrow if absent, or today if there is no price yet",
      ),
      Flag.optional,
    ),
    write: Flag.Boolean("write").pipe(
      Flag.withDescription("Add the prices to the catalogue file; without it, they are only printed"),
      Flag.withDefault(false),
    ),
  },
  Effect.fn(function* ({ file, vendor: vendorId, provider: named, catalogue, markup, from: given, write }) {
    const { text, document } = yield* readCatalogue(catalogue)
    const vendor = document.vendors?.find(({ id }) => id === vendorId)
    if (vendor === undefined) return yield* failed(`${catalogue} has no vendor ${vendorId}`)
    const provider = Option.getOrUndefined(named) ?? knownVendorOf(vendor)?.provider
    if (provider === undefined) {
      return yield* failed(`The file's name is not known of ${vendorId}: name it, such as --provider openai`)
    }
    const hundredths = yield* readMarkup(markup)
    const nowMs = yield* Clock.currentTimeMillis
    const from = Option.getOrElse(given, () => dateOf(nowMs + dayMs))
    const firstFrom = Option.getOrElse(given, () => dateOf(nowMs))
    const fromMs = parseInstant(from)
    if (fromMs === undefined || fromMs < nowMs) {
      return yield* failed(`Prices must begin in the future: ${from} is none; write a date, such as --from 2027-01-01`)
    }
    const prices = yield* readPrices(file)
    const found = importPrices(document, prices, { vendor: vendorId, provider, markup: hundredths, from, firstFrom })
    yield* Console.log(describeImport(found, from))
    if (found.changes.length === 0) return
    const entries = found.changes.map(({ entry }) => entry)
    if (!write) {
      return yield* Console.log(
        [
          "",
          `To add to ${catalogue} (--write does):`,
          "prices:",
          ...entries.map((entry) => `  ${entryLine(entry)}`),
        ].join("\n"),
      )
    }
    writeWholeFile(catalogue, yield* withEntries(catalogue, text, { prices: entries }))
    yield* Console.log(`${entries.length} prices were added to ${catalogue}`)
  }),
).pipe(
  Command.withDescription("Compare a vendor's prices with a price file, and add those that differ"),
  Command.withExamples([
    { command: "weir prices import model_prices_and_context_window.json --vendor openai --markup 10%" },
  ]),
)

const show = Command.make(
  "show",
  {
    file,
    provider: Flag.String("provider").pipe(Flag.withDescription("Only of this vendor"), Flag.optional),
  },
  Effect.fn(function* ({ file, provider }) {
    const { models, refused } = yield* readPrices(file)
    const listed = models.filter(({ provider: own }) => Option.isNone(provider) || own === provider.value)
    const left = new Map<string, number>()
    for (const each of listed.flatMap(({ left }) => left)) left.set(each, (left.get(each) ?? 0) + 1)
    yield* Console.log(
      [
        `${listed.length} models have prices that carry over`,
        ...counts(left).map(([what, count]) => `  ${count} of them also have ${what}, which do not`),
        ...(Option.isSome(provider) ? [] : describeRefused(refused)),
      ].join("\n"),
    )
  }),
).pipe(
  Command.withDescription("Count the prices of a file that can be imported, and the reasons why others cannot"),
  Command.withExamples([{ command: "weir prices show model_prices_and_context_window.json --provider openai" }]),
)

const describeRefused = (refused: PriceFile["refused"]): ReadonlyArray<string> => {
  const reasons = new Map([...refused].map(([why, names]) => [why, names.length]))
  const all = [...reasons.values()].reduce((sum, count) => sum + count, 0)
  return [`${all} entries do not carry over`, ...counts(reasons).map(([why, count]) => `  ${count}: ${why}`)]
}

const counts = (of: ReadonlyMap<string, number>) => [...of].sort(([, a], [, b]) => b - a)

const describeImport = ({ changes, same, later, secondary, unknown }: PriceImport, from: string): string =>
  [
    ...(changes.length === 0
      ? ["No price changes"]
      : [
          table(
            [
              "model",
              "input",
              "output",
              "cache read",
              "cache write",
              "above",
              "tiers",
              "in force",
              "from",
              "kept",
              "left out",
            ],
            changes.map(changeRow),
            "No prices changed",
          ),
        ]),
    ...(same.length === 0 ? [] : [`Unchanged: ${same.join(", ")}`]),
    ...(later.length === 0 ? [] : [`Left alone, because a price from ${from} or later is there: ${later.join(", ")}`]),
    ...(secondary.length === 0 ? [] : [`Left alone, because another vendor serves first: ${secondary.join(", ")}`]),
    ...(unknown.length === 0 ? [] : [`Not in the file: ${unknown.join(", ")}`]),
  ].join("\n")

const changeRow = ({ entry, before, priced, kept }: PriceChange): ReadonlyArray<string> => [
  entry.model,
  entry.input ?? "",
  entry.output ?? "",
  entry.cacheRead ?? "",
  entry.cacheWrite ?? "",
  (entry.above ?? []).map(({ tokens, input, output }) => `${tokens}: ${input ?? "="} / ${output ?? "="}`).join("; "),
  Object.entries(entry.tiers ?? {})
    .map(([tier, factor]) => `${tier}: ${factor}`)
    .join("; "),
  before === undefined ? "none" : `${before.input ?? ""} / ${before.output ?? ""}`,
  entry.from,
  kept.join("; "),
  priced.left.join("; "),
]

export const prices = Command.make("prices").pipe(Command.withSubcommands([importCommand, show]))
