/**
 * `weir doctor`: checks everything that a gateway needs here: variables, catalogue, port, directory, database and its
 * migrations, Redis; and of a running gateway, its readiness and its books.
 */

import { X509Certificate } from "node:crypto"
import { existsSync, readFileSync } from "node:fs"
import { createServer } from "node:net"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as PgClient from "@effect/sql-pg/PgClient"
import { Clock, Console, Effect, Layer, Option, Result } from "effect"
import { Command } from "effect/cli"
import { HttpClient } from "effect/http"
import { loadCatalogue } from "../../catalogue/load.ts"
import { CatalogueRefused, describeRefusal } from "../../catalogue/refusal.ts"
import { secretReferences } from "../../catalogue/secret-references.ts"
import { StoredSecrets } from "../../catalogue/stored-secrets.ts"
import { isDevelopment, lackingOf, WeirConfig } from "../../config.ts"
import { isPair } from "../../http/listener.ts"
import { Admin } from "../../protocol/api/admin.ts"
import { AdminActivity } from "../../protocol/api/admin-activity.ts"
import type { DoctorResponse } from "../../protocol/control/admin.ts"
import { storeReferenceOf } from "../../protocol/values/secret-ref.ts"
import { secretInFile } from "../../secret-files.ts"
import { resolveFromMachine } from "../../secrets.ts"
import { Redis } from "../../store/redis.ts"
import {
  blockedMigration,
  describeUpgrade,
  missingMigrations,
  newerSchema,
  schemaState,
} from "../../store/schema-state.ts"
import { serverOptions } from "../../store/server-options.ts"
import { NodeProblems } from "../../telemetry/node-problems.ts"
import { VendorClient } from "../../upstream/client.ts"
import { Egress } from "../../upstream/egress.ts"
import { describeUnknownVariables, explainError } from "../explain.ts"
import { table } from "../table.ts"
import { ask, Failed, json, optionalAdminKey, print, url } from "../target.ts"
import { type Finding, failed, ok, skipped } from "./doctor-finding.ts"
import { folderFindings } from "./doctor-folder.ts"
import { targetFindings } from "./doctor-targets.ts"

type Settings = WeirConfig["Service"]

export const doctor = Command.make(
  "doctor",
  { url, adminKey: optionalAdminKey, json },
  Effect.fn(function* ({ url, adminKey, json }) {
    const findings: Array<Finding> = [...(yield* checkNames)]
    const config = yield* Effect.result(Effect.provide(WeirConfig, WeirConfig.layer))
    if (Result.isFailure(config)) {
      findings.push(failed("variables", explainError(config.failure) ?? String(config.failure)))
    } else {
      const settings = config.success
      findings.push(
        ok("variables"),
        yield* checkCatalogue(settings),
        ...folderFindings(settings),
        ...checkKeys(settings),
      )
      findings.push(...checkCertificate(settings, yield* Clock.currentTimeMillis))
      findings.push(yield* checkPort(settings, url), yield* checkDatabase(settings), yield* checkRedis(settings))
    }
    findings.push(
      yield* checkGateway(url),
      ...(yield* checkTargets(url, adminKey)),
      ...(yield* checkBooks(url, adminKey)),
      ...(yield* checkNode(url, adminKey)),
    )
    yield* print({ json }, findings, describe)
    const wrong = findings.filter(({ result }) => result === "failed").length
    if (wrong > 0) return yield* Effect.fail(new Failed(`${wrong} of ${findings.length} checks failed`))
    if (!json) yield* Console.log("All checks passed")
  }),
).pipe(Command.provide(NodeHttpClient.layerNodeHttp))

const describe = (findings: ReadonlyArray<Finding>): string =>
  table(
    ["check", "result", "note"],
    findings.map(({ check, result, note }) => [check, result, note]),
  )

const checkNames = Effect.map(describeUnknownVariables, (lines) =>
  lines.map((note): Finding => ({ check: "variables", result: "warning", note })),
)

/** The file, and every secret that it references, by asking the stores too. */
const checkCatalogue = Effect.fnUntraced(function* (settings: Settings): Effect.fn.Return<Finding> {
  const { catalogueFile } = settings
  const check = "catalogue"
  if (catalogueFile === undefined) return skipped(check, "SVC_CATALOGUE is not set")
  if (!existsSync(catalogueFile)) return failed(check, `${catalogueFile}: there is no such file; correct SVC_CATALOGUE`)
  const loaded = loadCatalogue(readFileSync(catalogueFile, "utf8"))
  if (Result.isFailure(loaded)) {
    return failed(check, describeRefusal(catalogueFile, new CatalogueRefused({ issues: loaded.failure })))
  }
  const refs = [...secretReferences(loaded.success.document)]
  const unread = (yield* readStored(settings, refs)).map(({ ref, problem }) => `${ref} cannot be read: ${problem}`)
  if (unread.length > 0) return failed(check, unread.join("; "))
  const missing = refs.filter((ref) => storeReferenceOf(ref) === undefined && resolveFromMachine(ref) === undefined)
  if (missing.length === 0) return ok(check, catalogueFile)
  return failed(check, `${missing.join(", ")}: not set here; calls that need them will be refused`)
})

const readStored = (settings: Settings, refs: ReadonlyArray<string>) =>
  Effect.flatMap(StoredSecrets, ({ read }) => read(refs)).pipe(
    Effect.provide(
      StoredSecrets.layer.pipe(
        Layer.provide(NodeProblems.layer),
        Layer.provide(VendorClient.layer),
        Layer.provide(Egress.layer),
        Layer.provide(Layer.succeed(WeirConfig, settings)),
      ),
    ),
  )

const checkKeys = (config: Settings): ReadonlyArray<Finding> => {
  const lacking = lackingOf(config)
  if (isDevelopment(config) && lacking.length === 0) return []
  return lacking.length === 0 ? [ok("environment")] : lacking.map((note) => failed("environment", note))
}

/** The certificate of SVC_TLS_CERT: whether its key fits, and until when it is valid. */
const checkCertificate = ({ tls }: Settings, nowMs: number): ReadonlyArray<Finding> => {
  if (tls === undefined) return []
  const check = "certificate"
  const pair = { cert: secretInFile(tls.cert) ?? "", key: secretInFile(tls.key) ?? "" }
  if (!isPair(pair)) return [failed(check, `${tls.cert} and ${tls.key} are no certificate and its key in PEM`)]
  const { validTo } = new X509Certificate(pair.cert)
  const days = Math.floor((Date.parse(validTo) - nowMs) / 86_400_000)
  if (days < 0) return [failed(check, `${tls.cert} is valid until ${validTo}: renew it`)]
  return [{ check, result: days < 14 ? "warning" : "ok", note: `valid for ${days} more days` }]
}

const checkPort = ({ host, port }: Settings, url: string): Effect.Effect<Finding, never, HttpClient.HttpClient> => {
  const check = `port ${port}`
  if (port === 0) return Effect.succeed(ok(check, "any free port"))
  return Effect.flatMap(listens(host, port), (error) => {
    if (error === undefined) return Effect.succeed(ok(check, `free on ${host}`))
    const taken = failed(check, `${error.message}; stop what listens there, or set SVC_PORT to another port`)
    if (error.code !== "EADDRINUSE") return Effect.succeed(taken)
    return Effect.map(answers(`${url}/healthz`), (isWeir) => (isWeir ? ok(check, "Weir listens there already") : taken))
  })
}

const listens = (host: string, port: number): Effect.Effect<NodeJS.ErrnoException | undefined> =>
  Effect.callback((resume) => {
    const server = createServer()
    server.once("error", (error: NodeJS.ErrnoException) => resume(Effect.succeed(error)))
    server.listen(port, host, () => server.close(() => resume(Effect.undefined)))
  })

const answers = (place: string): Effect.Effect<boolean, never, HttpClient.HttpClient> =>
  HttpClient.get(place).pipe(
    Effect.timeout("5 seconds"),
    Effect.match({ onSuccess: ({ status }) => status === 200, onFailure: () => false }),
  )

const checkDatabase = ({ databaseUrl, migrates }: Settings): Effect.Effect<Finding> => {
  const check = "postgres"
  if (databaseUrl === undefined) return Effect.succeed(ok(check, "embedded"))
  const client = PgClient.layer({
    ...serverOptions(databaseUrl),
    applicationName: "weir-doctor",
    maxConnections: 1,
    connectTimeout: "5 seconds",
  })
  return schemaState.pipe(
    Effect.map((state) => {
      const { missing, unknown, isUsable, isEmpty } = state
      if (unknown !== undefined && !isUsable) return failed(check, newerSchema(unknown).message)
      if (unknown !== undefined) return ok(check, `reached, of a newer version (${unknown}) that this one can use`)
      if (missing.length === 0) return ok(check, "reached, up to date")
      if (isEmpty && migrates) return ok(check, "reached, empty: the next start creates the schema")
      const blocked = blockedMigration(state)
      if (blocked !== undefined) return failed(check, blocked.message)
      return migrates
        ? ok(check, `reached; ${describeUpgrade(state)}`)
        : failed(check, `${missingMigrations(missing).message}; ${describeUpgrade(state)}`)
    }),
    Effect.provide(client),
    Effect.catch((error) => Effect.succeed(failed(check, explainError(error) ?? String(error)))),
  )
}

const checkRedis = (config: Settings): Effect.Effect<Finding> => {
  const check = "redis"
  if (config.redisUrl === undefined) return Effect.succeed(ok(check, "not configured: a single node"))
  return Effect.flatMap(Redis, ({ ping }) => ping).pipe(
    Effect.as(ok(check, "reached")),
    Effect.provide(Layer.fresh(Redis.layer).pipe(Layer.provide(Layer.succeed(WeirConfig, config)))),
    Effect.catch((error) => Effect.succeed(failed(check, explainError(error) ?? String(error)))),
  )
}

const checkGateway = (url: string): Effect.Effect<Finding, never, HttpClient.HttpClient> =>
  HttpClient.get(`${url}/readyz`).pipe(
    Effect.timeout("5 seconds"),
    Effect.match({
      onSuccess: ({ status }) =>
        status === 200 ? ok("gateway", `${url} is ready`) : failed("gateway", `${url}/readyz answers ${status}`),
      onFailure: () => skipped("gateway", `no gateway answers at ${url}`),
    }),
  )

/** Targets that their vendor refuses, or that cool down. */
const checkTargets = (url: string, adminKey: Option.Option<string>) => {
  const check = "targets"
  if (Option.isNone(adminKey)) return Effect.succeed([skipped(check, "needs the admin key (SVC_ADMIN_KEY)")])
  const target = { url, adminKey: adminKey.value }
  return ask(target, AdminActivity, (client, headers) => client.adminActivity.listTargets({ headers })).pipe(
    Effect.map((targets) => targetFindings(targets).map((finding): Finding => ({ check, ...finding }))),
    Effect.catch(({ message }) => Effect.succeed([failed(check, message)])),
  )
}

/** Problems of the node that answers, although it serves calls; nothing without the admin key. */
const checkNode = (url: string, adminKey: Option.Option<string>) => {
  if (Option.isNone(adminKey)) return Effect.succeed([])
  return ask({ url, adminKey: adminKey.value }, AdminActivity, (client, headers) =>
    client.adminActivity.listProblems({ headers }),
  ).pipe(
    Effect.map(({ data }) => data.map(({ what, problem, since }) => failed(what, `${problem} (since ${since})`))),
    // Other checks report that it does not answer.
    Effect.catch(() => Effect.succeed([])),
  )
}

/** Every inconsistency of the books, each with the id that it concerns. */
const checkBooks = (url: string, adminKey: Option.Option<string>) => {
  if (Option.isNone(adminKey)) return Effect.succeed([skipped("ledger", "needs the admin key (SVC_ADMIN_KEY)")])
  const report = ask({ url, adminKey: adminKey.value }, Admin, (client, headers) => client.admin.doctor({ headers }))
  return report.pipe(
    Effect.tap(({ checked, isComplete }) =>
      isComplete ? Effect.void : Console.error(`ledger: ${checked} organisations checked so far`),
    ),
    Effect.repeat({ until: ({ isComplete }) => isComplete }),
    Effect.map(({ findings, nodes, shards, checked, lostJobs, identities }) => [
      ...(findings.length === 0
        ? [ok("ledger", `consistent: ${checked} organisations${describeShards(shards)}${describeNodes(nodes)}`)]
        : findings.map(({ finding, id }) => failed("ledger", `${finding}: ${id}`))),
      ...lostJobs.map(describeLost),
      ...identities.map(({ vendor, problem }) => failed("identities", `${vendor}: ${problem}`)),
    ]),
    Effect.catch(({ message }) => Effect.succeed([failed("ledger", message)])),
  )
}

const describeLost = ({ org, ref, model, at }: DoctorResponse["lostJobs"][number]): Finding => ({
  check: "jobs",
  result: "warning",
  note: `${ref} of ${org} asked for a job of ${model} at ${at}, and its gateway died: the vendor may work on it without a bill`,
})

/** The shards and their servers; empty if the books are on one server. */
const describeShards = (shards: DoctorResponse["shards"]): string =>
  shards.length === 1
    ? ""
    : [...Map.groupBy(shards, ({ server }) => server)]
        .map(([server, own]) => {
          const organisations = own.reduce((sum, shard) => sum + shard.organisations, 0)
          return `; ${server} has ${own.map(({ shard }) => shard).join(", ")} with ${organisations} organisations`
        })
        .join("")

const describeNodes = (nodes: DoctorResponse["nodes"]): string => {
  const each = nodes.map(({ node, allotments, since, isAlive }) => {
    const seconds = Math.max(0, Math.round((Date.now() - Date.parse(since)) / 1000))
    return `${node} has ${allotments} allotments, up to ${seconds} s old${isAlive ? "" : ", and its lease has run out"}`
  })
  return each.map((text) => `; ${text}`).join("")
}
