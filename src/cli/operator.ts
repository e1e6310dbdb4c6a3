/** Commands of operators. They call the admin routes; nothing reaches the database except through the gateway. */
import { readFileSync } from "node:fs"
import { Effect, Option, Result } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { FetchHttpClient } from "effect/http"
import { loadCatalogue } from "../catalogue/load.ts"
import { resolveFromMachine, sha256 } from "../catalogue/secrets.ts"
import type { ApplyResponse, LedgerResponse } from "../protocol/admin.ts"
import { table } from "./table.ts"
import { ask, Failed, operator, print, show } from "./target.ts"

export const apply = Command.make(
  "apply",
  {
    file: Argument.String("file").pipe(Argument.withDescription("A catalogue in YAML")),
    dryRun: Flag.Boolean("dry-run").pipe(
      Flag.withDescription("Print what would change, without changing anything"),
      Flag.withDefault(false),
    ),
    ...operator,
  },
  Effect.fn(function* ({ file, dryRun, ...target }) {
    const text = yield* Effect.try({
      try: () => readFileSync(file, "utf8"),
      catch: () => new Failed(`${file}: the file cannot be read`),
    })
    const payload = { text, dryRun, keySha256: keyDigests(text) }
    const applied = yield* ask(target, (client, headers) => client.admin.applyCatalogue({ headers, payload }), file)
    yield* print(target, applied, (reply) => describeApplied(reply, dryRun))
  }),
).pipe(Command.withDescription("Apply a catalogue to a running gateway"), Command.provide(FetchHttpClient.layer))

/** An organisation's id. */
export const org = Argument.String("org").pipe(Argument.withDescription("The organisation's id"))

/** Filters a list by one organisation. */
export const ofOrg = Flag.String("org").pipe(Flag.withDescription("Only of this organisation"), Flag.optional)
export const queryOf = (org: Option.Option<string>) => (Option.isSome(org) ? { org: org.value } : {})

export const topup = Command.make(
  "topup",
  {
    org,
    amount: Argument.String("amount").pipe(
      Argument.withDescription("e.g. 100 or 12.50, in the organisation's currency"),
    ),
    id: Flag.String("id").pipe(Flag.withDescription("Your id of the top-up; an id is credited once")),
    ...operator,
  },
  ({ org, amount, id, ...target }) =>
    show(
      target,
      (client, headers) => client.admin.topup({ headers, payload: { id, org, amount } }),
      ({ credited, balance, currency }) =>
        `${credited ? "Credited" : "This id was credited before"}; ${org} has ${balance} ${currency}`,
    ),
).pipe(Command.withDescription("Top up an organisation. Idempotent by `id`"), Command.provide(FetchHttpClient.layer))

export const ledger = Command.make("ledger", { org, ...operator }, ({ org, ...target }) =>
  show(
    target,
    (client, headers) => client.admin.ledger({ headers, params: { org } }),
    (reply) => describeLedger(org, reply),
  ),
).pipe(
  Command.withDescription("Print an organisation's balances and newest entries"),
  Command.provide(FetchHttpClient.layer),
)

const describeLedger = (org: string, { balances, allotments, entries }: LedgerResponse): string =>
  [
    ...balances.map(
      ({ currency, available, held, allotted, spent }) =>
        `${org}: ${available} ${currency} available, ${held} held, ${spent} spent; ${allotted} allotted to nodes`,
    ),
    table(
      ["node", "allotted", "currency", "since", "lease"],
      allotments.map(({ node, amount, currency, since, isAlive }) => [
        node,
        amount,
        currency,
        since,
        isAlive ? "running" : "run out",
      ]),
    ),
    table(
      ["at", "kind", "account", "amount", "currency", "ref"],
      entries.map(({ at, kind, account, amount, currency, ref }) => [at, kind, account, amount, currency, ref]),
    ),
  ].join("\n")

/** Digests of the key secrets that this machine can resolve; the secrets are not sent. */
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

const describeApplied = ({ changes, credited, minted, revision, warnings }: ApplyResponse, dryRun: boolean): string =>
  [
    ...changes.map(({ entry, change }) => `${{ added: "+", changed: "~", removed: "-" }[change]} ${entry}`),
    ...(changes.length === 0 ? ["Nothing changes"] : []),
    ...credited.map((id) => `credited ${id}`),
    ...minted.map(({ keyId, secret }) => `${keyId}: ${secret} (printed once)`),
    ...warnings.map((warning) => `warning: ${warning}`),
    dryRun ? "Dry run: nothing was applied" : `Revision ${revision} is in force`,
  ].join("\n")
