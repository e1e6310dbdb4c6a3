/** The commands of operators; they speak the admin routes, and nothing reaches the database behind the service's back. */
import { readFileSync } from "node:fs"
import { Config, Console, Effect, Option, Result, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { FetchHttpClient, HttpClient, HttpClientRequest } from "effect/http"
import { HttpApiClient } from "effect/http-api"
import { CatalogueRefused } from "../catalogue/catalogue.ts"
import { loadCatalogue } from "../catalogue/load.ts"
import { resolveFromMachine, sha256 } from "../catalogue/secrets.ts"
import { describeRefusal } from "../catalogue/watch.ts"
import type { ApplyResponse } from "../protocol/admin.ts"
import { Api } from "../protocol/api.ts"
import { ErrorEnvelope } from "../protocol/error.ts"

export const url = Flag.String("url").pipe(
  Flag.withDescription("Base URL of the gateway (SVC_BASE_URL)"),
  Flag.withFallbackConfig(Config.String("SVC_BASE_URL").pipe(Config.withDefault("http://127.0.0.1:8080"))),
)
export const adminKey = Flag.String("admin-key").pipe(
  Flag.withDescription("The admin key (SVC_ADMIN_KEY); in development it is printed at start"),
  Flag.withFallbackConfig(Config.String("SVC_ADMIN_KEY")),
)

export const apply = Command.make(
  "apply",
  {
    file: Argument.String("file").pipe(Argument.withDescription("A catalogue in YAML")),
    dryRun: Flag.Boolean("dry-run").pipe(
      Flag.withDescription("Print what would change, and change nothing"),
      Flag.withDefault(false),
    ),
    url,
    adminKey,
  },
  Effect.fn(function* ({ file, dryRun, ...target }) {
    const text = yield* Effect.try({
      try: () => readFileSync(file, "utf8"),
      catch: () => new Failed(`${file}: the file cannot be read`),
    })
    const { client, headers } = yield* connect(target)
    const applied = yield* client.admin
      .applyCatalogue({ headers, payload: { text, dryRun, keySha256: keyDigests(text) } })
      .pipe(Effect.mapError((error) => new Failed(describeError(error, target.url, file))))
    yield* Console.log(describeApplied(applied, dryRun))
  }),
).pipe(Command.withDescription("Apply a catalogue to a running gateway"), Command.provide(FetchHttpClient.layer))

const orgArgument = Argument.String("org").pipe(Argument.withDescription("The organisation's id"))

export const topup = Command.make(
  "topup",
  {
    org: orgArgument,
    amount: Argument.String("amount").pipe(
      Argument.withDescription("e.g. 100 or 12.50, in the organisation's currency"),
    ),
    id: Flag.String("id").pipe(Flag.withDescription("An id of yours: the same id credits once")),
    url,
    adminKey,
  },
  Effect.fn(function* ({ org, amount, id, ...target }) {
    const { client, headers } = yield* connect(target)
    const { credited, balance, currency } = yield* client.admin
      .topup({ headers, payload: { id, org, amount } })
      .pipe(Effect.mapError((error) => new Failed(describeError(error, target.url))))
    yield* Console.log(`${credited ? "Credited" : "This id was credited before"}; ${org} has ${balance} ${currency}`)
  }),
).pipe(Command.withDescription("Credit an organisation, once an id"), Command.provide(FetchHttpClient.layer))

export const ledger = Command.make(
  "ledger",
  { org: orgArgument, url, adminKey },
  Effect.fn(function* ({ org, ...target }) {
    const { client, headers } = yield* connect(target)
    const { balances, entries } = yield* client.admin
      .ledger({ headers, params: { org } })
      .pipe(Effect.mapError((error) => new Failed(describeError(error, target.url))))
    for (const { currency, available, held } of balances) {
      yield* Console.log(`${org}: ${available} ${currency} available, ${held} held`)
    }
    for (const { at, kind, account, amount, currency, ref } of entries) {
      yield* Console.log(`${at}  ${kind.padEnd(7)}  ${account.padEnd(9)}  ${amount.padStart(18)} ${currency}  ${ref}`)
    }
  }),
).pipe(
  Command.withDescription("Print an organisation's balances and newest entries"),
  Command.provide(FetchHttpClient.layer),
)

export const doctor = Command.make(
  "doctor",
  { url, adminKey },
  Effect.fn(function* (target) {
    const { client, headers } = yield* connect(target)
    const { findings } = yield* client.admin
      .doctor({ headers })
      .pipe(Effect.mapError((error) => new Failed(describeError(error, target.url))))
    if (findings.length === 0) return yield* Console.log("The books are sound")
    return yield* Effect.fail(new Failed(findings.map(({ finding, id }) => `${finding}: ${id}`).join("\n")))
  }),
).pipe(
  Command.withDescription("Check the books; fails with the ids of what is wrong"),
  Command.provide(FetchHttpClient.layer),
)

export const connect = ({ url: baseUrl, adminKey: key }: { readonly url: string; readonly adminKey: string }) =>
  Effect.map(
    HttpApiClient.make(Api, { transformClient: HttpClient.mapRequest(HttpClientRequest.prependUrl(baseUrl)) }),
    (client) => ({ client, headers: { "x-svc-admin-key": key } }),
  )

/** Digests of the key secrets that this machine knows: the secrets themselves stay here. */
const keyDigests = (text: string): Record<string, string> => {
  const loaded = loadCatalogue(text)
  const digests: Record<string, string> = {}
  if (Result.isFailure(loaded)) return digests
  for (const { secret: ref } of loaded.success.document.keys ?? []) {
    const secret = ref === undefined ? undefined : resolveFromMachine(ref)
    if (ref !== undefined && secret !== undefined) digests[ref] = sha256(secret).toString("hex")
  }
  return digests
}

/** A failure with a line for people. */
export class Failed extends Error {
  readonly _tag = "Failed"
}

const describeApplied = ({ changes, credited, minted, revision, warnings }: ApplyResponse, dryRun: boolean): string =>
  [
    ...changes.map(({ entry, change }) => `${{ added: "+", changed: "~", removed: "-" }[change]} ${entry}`),
    ...(changes.length === 0 ? ["Nothing changes"] : []),
    ...credited.map((id) => `credited ${id}`),
    ...minted.map(({ keyId, secret }) => `${keyId}: ${secret} (told once)`),
    ...warnings.map((warning) => `warning: ${warning}`),
    dryRun ? "Dry run: nothing was applied" : `Revision ${revision} is in force`,
  ].join("\n")

const Issues = Schema.Struct({
  issues: Schema.Array(Schema.Struct({ path: Schema.String, line: Schema.Int, message: Schema.String })),
})
const decodeEnvelope = Schema.decodeUnknownOption(ErrorEnvelope)
const decodeIssues = Schema.decodeUnknownOption(Issues)

/** @param file names the lines of a catalogue's issues */
export const describeError = (error: unknown, baseUrl: string, file = "catalogue"): string => {
  const envelope = Option.getOrUndefined(decodeEnvelope(error))
  if (envelope === undefined) return `The gateway at ${baseUrl} could not be reached; is it running?`
  const issues = Option.getOrUndefined(decodeIssues(envelope.error.detail))
  return issues === undefined
    ? `${envelope.error.code}: ${envelope.error.message}`
    : describeRefusal(file, new CatalogueRefused(issues))
}
