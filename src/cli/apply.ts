/** `weir apply`: applies a catalogue through the gateway. */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Effect, Result } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { loadCatalogue } from "../catalogue/load.ts"
import { resolveFromMachine, sha256 } from "../catalogue/secrets.ts"
import type { ApplyResponse } from "../protocol/admin.ts"
import { Admin } from "../protocol/api/admin.ts"
import { readText } from "./files.ts"
import { ask, operator, print } from "./target.ts"

export const apply = Command.make(
  "apply",
  {
    file: Argument.String("file").pipe(Argument.withDescription("A catalogue in YAML")),
    dryRun: Flag.Boolean("dry-run").pipe(
      Flag.withDescription("Print what would change, without changing anything"),
      Flag.withDefault(false),
    ),
    prune: Flag.Boolean("prune").pipe(
      Flag.withDescription(
        "Remove organisations, people, teams, applications, keys and budgets that the file no longer contains",
      ),
      Flag.withDefault(false),
    ),
    ...operator,
  },
  Effect.fn(function* ({ file, dryRun, prune, ...target }) {
    const text = yield* readText(file)
    const payload = { text, dryRun, prune, keySha256: keyDigests(text) }
    const applied = yield* ask(
      target,
      Admin,
      (client, headers) => client.admin.applyCatalogue({ headers, payload }),
      file,
    )
    yield* print(target, applied, (reply) => describeApplied(reply, { dryRun, prune }))
  }),
).pipe(Command.provide(NodeHttpClient.layerNodeHttp))

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

/** The first lines of a long list. */
const mostDropped = 50

const describeDropped = (dropped: ApplyResponse["dropped"], prune: boolean): ReadonlyArray<string> => {
  if (dropped.length === 0) return []
  const lines = dropped.slice(0, mostDropped).map(({ entry, balances = [] }) => {
    const money = balances.map(({ currency, available, held }) => `${available} ${currency} available, ${held} held`)
    return `    ${entry}${money.length === 0 ? "" : ` (${money.join("; ")})`}`
  })
  return [
    prune
      ? "No longer in the file, removed:"
      : "No longer in the file; these stay as they are, and --prune removes them:",
    ...lines,
    ...(dropped.length > mostDropped ? [`    and ${dropped.length - mostDropped} more`] : []),
  ]
}

const describeApplied = (
  { changes, dropped, credited, minted, revision, warnings }: ApplyResponse,
  { dryRun, prune }: { readonly dryRun: boolean; readonly prune: boolean },
): string =>
  [
    ...changes.flatMap(({ entry, change, fields = [] }) => [
      `${{ added: "+", changed: "~", removed: "-" }[change]} ${entry}`,
      ...fields.map(
        ({ path, before, after }) =>
          `    ${path === "" ? "" : `${path}: `}${before ?? "nothing"} → ${after ?? "nothing"}`,
      ),
    ]),
    ...(changes.length === 0 ? ["Nothing changes"] : []),
    ...describeDropped(dropped, prune),
    ...credited.map((id) => `credited ${id}`),
    ...minted.map(({ keyId, secret }) => `${keyId}: ${secret} (printed once)`),
    ...warnings.map((warning) => `warning: ${warning}`),
    dryRun ? "Dry run: nothing was applied" : `Revision ${revision} is in force`,
  ].join("\n")
