/** `weir apply`: applies a catalogue through the gateway. */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Effect, Result } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { loadCatalogue } from "../../catalogue/load.ts"
import { Admin } from "../../protocol/api/admin.ts"
import type { ApplyResponse } from "../../protocol/control/admin.ts"
import { resolveFromMachine, sha256 } from "../../secrets.ts"
import { readText } from "../files.ts"
import { ask, type Operator, operator, print } from "../target.ts"

export const dryRun = Flag.Boolean("dry-run").pipe(
  Flag.withDescription("Print what would change, without changing anything"),
  Flag.withDefault(false),
)
export const prune = Flag.Boolean("prune").pipe(
  Flag.withDescription(
    "Remove organisations, people, teams, applications, keys and budgets that the text no longer contains",
  ),
  Flag.withDefault(false),
)

export const apply = Command.make(
  "apply",
  {
    file: Argument.String("file").pipe(Argument.withDescription("A catalogue in YAML")),
    dryRun,
    prune,
    ...operator,
  },
  Effect.fn(function* ({ file, dryRun, prune, ...target }) {
    const text = yield* readText(file)
    yield* applyText(target, { text, dryRun, prune }, file)
  }),
).pipe(Command.provide(NodeHttpClient.layerNodeHttp))

interface Asked {
  readonly text: string
  readonly dryRun: boolean
  readonly prune: boolean
}

/** Applies a text and prints what changes. @param name the name of the text in its errors */
export const applyText = (target: Operator, asked: Asked, name: string) => {
  const payload = { ...asked, keySha256: keyDigests(asked.text) }
  const applied = ask(target, Admin, (client, headers) => client.admin.applyCatalogue({ headers, payload }), name)
  return Effect.flatMap(applied, (reply) => print(target, reply, () => describeApplied(reply, asked)))
}

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

export const describeChanges = (changes: ApplyResponse["changes"]): ReadonlyArray<string> =>
  changes.length === 0
    ? ["Nothing changes"]
    : changes.flatMap(({ entry, change, fields = [] }) => [
        `${{ added: "+", changed: "~", removed: "-" }[change]} ${entry}`,
        ...fields.map(
          ({ path, before, after }) =>
            `    ${path === "" ? "" : `${path}: `}${before ?? "nothing"} → ${after ?? "nothing"}`,
        ),
      ])

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
  { dryRun, prune }: Asked,
): string =>
  [
    ...describeChanges(changes),
    ...describeDropped(dropped, prune),
    ...credited.map((id) => `credited ${id}`),
    ...minted.map(({ keyId, secret }) => `${keyId}: ${secret} (printed once)`),
    ...warnings.map((warning) => `warning: ${warning}`),
    dryRun ? "Dry run: nothing was applied" : `Revision ${revision} is in force`,
  ].join("\n")
