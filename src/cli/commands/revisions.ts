/** `weir revisions`: the catalogue's history, the differences between two revisions, and applying one again. */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { AdminActivity } from "../../protocol/api/admin-activity.ts"
import type { CatalogueRevision } from "../../protocol/control/activity.ts"
import { more, page, queryOf } from "../lists.ts"
import { table } from "../table.ts"
import { ask, failed, type Operator, operator, print, show } from "../target.ts"
import { applyText, describeChanges, dryRun, prune } from "./apply.ts"

const list = Command.make("list", { ...page, ...operator }, ({ limit, cursor, ...target }) =>
  show(
    target,
    AdminActivity,
    (client, headers) => client.adminActivity.catalogueRevisions({ headers, query: queryOf(limit, { cursor }) }),
    ({ data, nextCursor }) =>
      [
        table(
          ["revision", "applied", "by", "fingerprint"],
          data.map(({ revision, appliedAt, appliedBy, fingerprint }) => [
            revision,
            appliedAt,
            appliedBy ?? "",
            fingerprint.slice(0, 16),
          ]),
          "No revisions yet. Apply a catalogue: weir apply weir.yaml",
        ),
        ...more(nextCursor),
      ].join("\n"),
  ),
).pipe(Command.withDescription("List revisions, newest first"))

const revision = Argument.String("revision").pipe(Argument.withDescription("The revision's number"))
const from = Flag.String("from").pipe(
  Flag.withDescription("The revision with which it is compared; the one in force if absent"),
  Flag.optional,
)

const read = (client: Operator, revision: string, against: Option.Option<string>) =>
  ask(client, AdminActivity, ({ adminActivity }, headers) =>
    adminActivity.catalogueRevision({
      headers,
      params: { revision },
      query: Option.isSome(against) ? { against: against.value } : {},
    }),
  )

const diff = Command.make("diff", { revision, from, ...operator }, ({ revision, from, ...target }) =>
  Effect.flatMap(read(target, revision, from), (found) => print(target, found, describeDiff)),
).pipe(Command.withDescription("Show the changes of a revision from another, or the changes if it were applied again"))

const describeDiff = ({ revision, against, changes }: CatalogueRevision): string =>
  [
    `From revision ${against} to revision ${revision}:`,
    ...(changes === undefined ? ["This version cannot read one of them"] : describeChanges(changes)),
  ].join("\n")

const restore = Command.make(
  "restore",
  { revision, dryRun, prune, ...operator },
  Effect.fn(function* ({ revision, dryRun, prune, ...target }) {
    const { text } = yield* read(target, revision, Option.none())
    if (text === undefined) return yield* failed(`The text of revision ${revision} is not stored any more`)
    yield* applyText(target, { text, dryRun, prune }, `revision ${revision}`)
  }),
).pipe(Command.withDescription("Apply the text of an earlier revision again, as a new revision"))

export const revisions = Command.make("revisions").pipe(
  Command.withSubcommands([list, diff, restore]),
  Command.provide(NodeHttpClient.layerNodeHttp),
)
