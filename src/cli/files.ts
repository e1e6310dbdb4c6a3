/** Files that commands read and add to; a fault is one line, or a line for each error of the file. */
import { readFileSync } from "node:fs"
import { Effect, Result } from "effect"
import { type CatalogueIssue, loadCatalogue } from "../catalogue/load.ts"
import { CatalogueRefused, describeRefusal } from "../catalogue/refusal.ts"
import type { CatalogueDocument } from "../protocol/catalogue/document.ts"
import { type Additions, addEntries, entryLine } from "../setup/catalogue-text.ts"
import { parseMarkup } from "../setup/markup.ts"
import { type PriceFile, readPriceFile } from "../setup/price-file.ts"
import { Failed, failed } from "./target.ts"

export const readText = (path: string): Effect.Effect<string, Failed> =>
  Effect.try({ try: () => readFileSync(path, "utf8"), catch: () => new Failed(`${path}: the file cannot be read`) })

export interface CatalogueFile {
  readonly text: string
  readonly document: CatalogueDocument
}

export const readCatalogue = Effect.fnUntraced(function* (path: string): Effect.fn.Return<CatalogueFile, Failed> {
  const text = yield* readText(path)
  const loaded = loadCatalogue(text)
  if (Result.isFailure(loaded)) return yield* failed(describeIssues(path, loaded.failure))
  return { text, document: loaded.success.document }
})

/** A price file, see {@link readPriceFile}. @param path of the file, or its https URL */
export const readPrices = (path: string): Effect.Effect<PriceFile, Failed> =>
  Effect.flatMap(/^https:\/\//.test(path) ? download(path) : readText(path), (text) =>
    Effect.mapError(
      Effect.fromResult(readPriceFile(text)),
      (reason) => new Failed(`${path} is no price file: ${reason}`),
    ),
  )

/** Price lists are some megabytes. */
const mostBytes = 32 * 1024 * 1024

const download = (url: string): Effect.Effect<string, Failed> =>
  Effect.tryPromise({
    try: async (signal) => {
      const reply = await fetch(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(60_000)]) })
      if (!reply.ok) throw new Error(`it answered ${reply.status}`)
      const parts: Array<Uint8Array> = []
      let bytes = 0
      for await (const part of reply.body ?? []) {
        bytes += part.length
        if (bytes > mostBytes) throw new Error(`it has more than ${mostBytes} bytes`)
        parts.push(part)
      }
      return Buffer.concat(parts).toString("utf8")
    },
    catch: (cause) => new Failed(`${url}: ${cause instanceof Error ? cause.message : String(cause)}`),
  })

/** A percentage, in hundredths of a percent. */
export const readMarkup = (text: string): Effect.Effect<bigint, Failed> => {
  const markup = parseMarkup(text)
  return markup === undefined
    ? failed(`${text} is no markup: write a percentage, such as --markup 10%`)
    : Effect.succeed(markup)
}

/** The text of a catalogue with more entries. */
export const withEntries = (path: string, text: string, additions: Additions): Effect.Effect<string, Failed> =>
  Effect.mapError(Effect.fromResult(Result.map(addEntries(text, additions), (added) => added.text)), (refusal) =>
    refusal._tag === "Invalid"
      ? new Failed(describeIssues(path, refusal.issues))
      : new Failed(
          `${path}: ${refusal.sections.join(", ")} must be lists with one entry a line; add these yourself:\n${linesOf(additions)}`,
        ),
  )

/** Entries to add, as a difference. */
export const linesOf = (additions: Additions): string =>
  Object.entries(additions)
    .flatMap(([section, entries]) =>
      entries === undefined || entries.length === 0
        ? []
        : [`  ${section}:`, ...entries.map((entry) => `+   ${entryLine(entry)}`)],
    )
    .join("\n")

const describeIssues = (path: string, issues: ReadonlyArray<CatalogueIssue>): string =>
  describeRefusal(path, new CatalogueRefused({ issues }))
