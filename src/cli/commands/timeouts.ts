/** `weir timeouts`: observed times of the timeout tiers, how many calls each ended, and suggested values. */
import { readFileSync } from "node:fs"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Clock, Config, Console, Effect, Option, Result, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import { HttpClient } from "effect/http"
import { writeWholeFile } from "../../files/whole-file.ts"
import { Admin } from "../../protocol/api/admin.ts"
import { type Tier, tiers } from "../../protocol/timeout-tiers.ts"
import { Millis } from "../../protocol/values/duration.ts"
import { didYouMean } from "../../protocol/values/nearest-name.ts"
import { countIn } from "../../telemetry/buckets.ts"
import { judge } from "../../telemetry/timeouts/judge.ts"
import { addUp, type Observed, since, storedObservation } from "../../telemetry/timeouts/observed.ts"
import { readTiers } from "../../telemetry/timeouts/scrape.ts"
import { ask, Failed, failed, json, optionalAdminKey, url } from "../target.ts"
import { describeTimeouts } from "./timeouts-report.ts"

export const timeouts = Command.make(
  "timeouts",
  {
    url,
    metrics: Flag.String("metrics").pipe(
      Flag.withDescription(
        "A node's metrics, as a URL or a saved page; may be given for each; /metrics of --url when absent",
      ),
      Flag.atMost(256),
    ),
    since: Flag.String("since").pipe(
      Flag.withDescription("A file of earlier metrics: only later observations count"),
      Flag.optional,
    ),
    from: Flag.String("from").pipe(
      Flag.withDescription("Read usage records from this date or instant on, instead of metrics; needs the admin key"),
      Flag.optional,
    ),
    to: Flag.String("to").pipe(Flag.withDescription("Up to this date or instant; now if absent"), Flag.optional),
    adminKey: optionalAdminKey,
    save: Flag.String("save").pipe(Flag.withDescription("Save the metrics to this file, for --since"), Flag.optional),
    tries: Flag.String("try").pipe(
      Flag.withDescription("A timeout to evaluate, e.g. ttfb=40s; may be given for each tier"),
      Flag.atMost(tiers.length),
    ),
    vendor: Flag.String("vendor").pipe(Flag.withDescription("Only of this vendor"), Flag.optional),
    env: Flag.String("env").pipe(
      Flag.withDescription("The environment of the suggested profile (SVC_ENV)"),
      Flag.withFallbackConfig(Config.String("SVC_ENV").pipe(Config.withDefault("production"))),
    ),
    all: Flag.Boolean("all").pipe(
      Flag.withDescription(
        "Targets without calls too. Reads usage records: of the last 7 days without --from; needs the admin key",
      ),
      Flag.withDefault(false),
    ),
    json,
  },
  Effect.fn(function* ({ tries, vendor, env, all, json, ...source }) {
    const candidates = yield* Effect.forEach(tries, candidateOf)
    const observed = yield* Option.isSome(source.from) || all ? fromStore(source, all) : fromMetrics(source)
    if (Option.isSome(vendor)) yield* checkVendor(vendor.value, observed)
    const judged = inOrder(observed)
      .filter((row) => Option.isNone(vendor) || row.vendor === vendor.value)
      .map((row) => judge(row, candidates.find(([tier]) => tier === row.tier)?.[1]))
    yield* Console.log(json ? JSON.stringify(judged, undefined, 2) : describeTimeouts(judged, env))
  }),
).pipe(Command.provide(NodeHttpClient.layerNodeHttp))

const fromMetrics = Effect.fnUntraced(function* (source: {
  readonly url: string
  readonly metrics: ReadonlyArray<string>
  readonly since: Option.Option<string>
  readonly save: Option.Option<string>
  readonly adminKey: Option.Option<string>
}) {
  const places = source.metrics.length === 0 ? [`${source.url}/metrics`] : source.metrics
  const pages = yield* Effect.forEach(places, (place) => readPage(place, keyFor(place, source)), { concurrency: 8 })
  if (Option.isSome(source.save)) writeWholeFile(source.save.value, pages.join("\n"))
  const now = addUp(pages.map(readTiers))
  return Option.isSome(source.since) ? since(now, readTiers(yield* readPage(source.since.value, Option.none()))) : now
})

/** @param all whether targets without calls are listed too */
const fromStore = Effect.fnUntraced(function* (
  source: {
    readonly url: string
    readonly adminKey: Option.Option<string>
    readonly from: Option.Option<string>
    readonly to: Option.Option<string>
  },
  all: boolean,
) {
  if (Option.isNone(source.adminKey))
    return yield* Effect.fail(new Failed(`${all ? "--all" : "--from"} needs the admin key (SVC_ADMIN_KEY)`))
  const target = { url: source.url, adminKey: source.adminKey.value }
  const weekAgo = new Date((yield* Clock.currentTimeMillis) - 7 * 86_400_000).toISOString()
  const query = {
    from: Option.getOrElse(source.from, () => weekAgo),
    ...(Option.isSome(source.to) && { to: source.to.value }),
    ...(all && { all: "true" as const }),
  }
  const { data } = yield* ask(target, Admin, (client, headers) => client.admin.tierTimes({ headers, query }))
  return data.map(storedObservation)
})

/** The admin key is for the gateway that the command names, not for other places. */
const keyFor = (place: string, { url, adminKey }: { url: string; adminKey: Option.Option<string> }) =>
  Option.filter(adminKey, () => place === `${url}/metrics`)

/** Metrics from a URL, or from a saved file. */
const readPage = (
  place: string,
  adminKey: Option.Option<string>,
): Effect.Effect<string, Failed, HttpClient.HttpClient> =>
  Effect.gen(function* () {
    if (!/^https?:\/\//.test(place)) {
      const unreadable = () => new Failed(`${place}: the file cannot be read`)
      return yield* Effect.try({ try: () => readFileSync(place, "utf8"), catch: unreadable })
    }
    const unreached = () => new Failed(`${place} cannot be reached`)
    const headers = Option.match(adminKey, { onNone: () => ({}), onSome: (key) => ({ "x-svc-admin-key": key }) })
    const response = yield* Effect.mapError(HttpClient.get(place, { headers }), unreached)
    if (response.status === 401) return yield* failed(`${place} needs the admin key: set --admin-key (SVC_ADMIN_KEY)`)
    if (response.status !== 200) return yield* Effect.fail(new Failed(`${place} answered ${response.status}`))
    return yield* Effect.mapError(response.text, unreached)
  })

/** A vendor without observations is probably misspelled. */
const checkVendor = (vendor: string, observed: ReadonlyArray<Observed>): Effect.Effect<void, Failed> => {
  const known = new Set(observed.map((row) => row.vendor))
  if (known.size === 0 || known.has(vendor)) return Effect.void
  return failed(
    `--vendor ${vendor}: no calls to it have been observed; observed are ${[...known].sort().join(", ")}${didYouMean(vendor, known)}`,
  )
}

const decodeMillis = Schema.decodeUnknownResult(Millis)

const candidateOf = (text: string): Effect.Effect<readonly [Tier, number], Failed> => {
  const [name, ...rest] = text.split("=")
  const tier = tiers.find((candidate) => candidate === name)
  const limitMs = decodeMillis(rest.join("="))
  return tier === undefined || Result.isFailure(limitMs)
    ? Effect.fail(new Failed(`--try ${text}: a tier (${tiers.join(", ")}) and a duration are needed, e.g. ttfb=40s`))
    : Effect.succeed([tier, limitMs.success])
}

/** In the order in which a call passes the tiers; within a tier, the busiest first. */
const inOrder = (observed: ReadonlyArray<Observed>): ReadonlyArray<Observed> =>
  [...observed].sort((a, b) => tiers.indexOf(a.tier) - tiers.indexOf(b.tier) || countIn(b.buckets) - countIn(a.buckets))
