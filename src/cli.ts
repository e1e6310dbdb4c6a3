#!/usr/bin/env node
/** The command line: `weir serve | apply | migrate`. It speaks the admin routes; only migrations touch the database. */
import { readFileSync } from "node:fs"
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { Cause, Config, Console, Effect, Layer, Option, Result, Schema } from "effect"
import { Argument, CliError, Command, Flag } from "effect/cli"
import { FetchHttpClient, HttpClient, HttpClientRequest, HttpServerError } from "effect/http"
import { HttpApiClient } from "effect/http-api"
import { SqlError } from "effect/sql"
import { CatalogueRefused } from "./catalogue/catalogue.ts"
import { loadCatalogue } from "./catalogue/load.ts"
import { resolveFromMachine, sha256 } from "./catalogue/secrets.ts"
import { describeRefusal } from "./catalogue/watch.ts"
import { WeirConfig } from "./config.ts"
import { layerGateway } from "./main.ts"
import type { ApplyResponse } from "./protocol/admin.ts"
import { Api } from "./protocol/api.ts"
import { ErrorEnvelope } from "./protocol/error.ts"
import { layerMigratedDatabase } from "./services.ts"
import { StoreUnavailable } from "./store/unavailable.ts"

const serve = Command.make("serve", {}, () => Layer.launch(layerGateway).pipe(Effect.provide(WeirConfig.layer))).pipe(
  Command.withDescription("Run the gateway"),
)

const migrate = Command.make("migrate", {}, () =>
  Effect.scoped(Layer.build(layerMigratedDatabase)).pipe(
    Effect.andThen(Console.log("The database is up to date")),
    Effect.provide(WeirConfig.layer),
  ),
).pipe(Command.withDescription("Apply missing migrations, and stop"))

const url = Flag.String("url").pipe(
  Flag.withDescription("Base URL of the gateway (SVC_BASE_URL)"),
  Flag.withFallbackConfig(Config.String("SVC_BASE_URL").pipe(Config.withDefault("http://127.0.0.1:8080"))),
)
const adminKey = Flag.String("admin-key").pipe(
  Flag.withDescription("The admin key (SVC_ADMIN_KEY); in development it is printed at start"),
  Flag.withFallbackConfig(Config.String("SVC_ADMIN_KEY")),
)

const apply = Command.make(
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
  Effect.fn(function* ({ file, dryRun, url: baseUrl, adminKey: key }) {
    const client = yield* HttpApiClient.make(Api, {
      transformClient: HttpClient.mapRequest(HttpClientRequest.prependUrl(baseUrl)),
    })
    const text = yield* Effect.try({
      try: () => readFileSync(file, "utf8"),
      catch: () => new Failed(`${file}: the file cannot be read`),
    })
    const applied = yield* client.admin
      .applyCatalogue({ headers: { "x-svc-admin-key": key }, payload: { text, dryRun, keySha256: keyDigests(text) } })
      .pipe(Effect.mapError((error) => new Failed(describeApplyError(file, baseUrl, error))))
    yield* Console.log(describeApplied(applied, dryRun))
  }),
).pipe(Command.withDescription("Apply a catalogue to a running gateway"), Command.provide(FetchHttpClient.layer))

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
class Failed extends Error {
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

const describeApplyError = (file: string, baseUrl: string, error: unknown): string => {
  const envelope = Option.getOrUndefined(decodeEnvelope(error))
  if (envelope === undefined) return `The gateway at ${baseUrl} could not be reached; is it running?`
  const issues = Option.getOrUndefined(decodeIssues(envelope.error.detail))
  return issues === undefined
    ? `${envelope.error.code}: ${envelope.error.message}`
    : describeRefusal(file, new CatalogueRefused(issues))
}

/** One clear line for what can go wrong at start, and the whole cause for what should not. */
const explain = (cause: Cause.Cause<unknown>): string => {
  const error = Cause.squash(cause)
  if (error instanceof Failed) return error.message
  if (error instanceof CatalogueRefused) return describeRefusal(process.env["SVC_CATALOGUE"] ?? "catalogue", error)
  if (error instanceof StoreUnavailable) return `${error.store} cannot be reached: ${reasonOf(error.cause)}`
  if (SqlError.isSqlError(error)) return `postgres cannot be reached: ${reasonOf(error)}`
  if (error instanceof HttpServerError.ServeError)
    return `Weir cannot listen: ${reasonOf(error.cause)} (SVC_HOST, SVC_PORT)`
  if (error instanceof Config.ConfigError) return `A variable is wrong: ${error.message}`
  return Cause.pretty(cause)
}

const reasonOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))

Command.make("weir").pipe(
  Command.withDescription("A gateway in front of model and search vendors"),
  Command.withSubcommands([serve, apply, migrate]),
  Command.run({ version: "0.1.0" }),
  Effect.provide(NodeServices.layer),
  Effect.tapCause((cause) => {
    if (Cause.hasInterruptsOnly(cause) || CliError.isCliError(Cause.squash(cause))) return Effect.void
    return Console.error(explain(cause))
  }),
  NodeRuntime.runMain({ disableErrorReporting: true }),
)
