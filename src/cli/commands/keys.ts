/** `weir keys`: application keys. */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { AdminDirectory } from "../../protocol/api/admin-directory.ts"
import type { KeyList, KeyMinted } from "../../protocol/control/admin-directory.ts"
import { more, ofOrg, page, queryOf } from "../lists.ts"
import { table } from "../table.ts"
import { operator, show } from "../target.ts"

const id = Argument.String("id").pipe(Argument.withDescription("The key's id"))

const listKeys = Command.make("list", { org: ofOrg, ...page, ...operator }, ({ org, limit, cursor, ...target }) =>
  show(
    target,
    AdminDirectory,
    (client, headers) => client.adminDirectory.listKeys({ headers, query: queryOf(limit, { org, cursor }) }),
    describeKeys,
  ),
).pipe(Command.withDescription("List application keys, newest first"))

const mintKey = Command.make(
  "create",
  {
    app: Argument.String("app").pipe(Argument.withDescription("The application's id")),
    id: Flag.String("id").pipe(Flag.withDescription("The key's id; generated if absent"), Flag.optional),
    name: Flag.String("name").pipe(Flag.withDescription("A name for people"), Flag.optional),
    scopes: Flag.Literals("scope", ["runtime", "control"]).pipe(
      Flag.withDescription("A scope of the key; may be given twice; runtime if absent"),
      Flag.atMost(2),
    ),
    expiresAt: Flag.String("expires-at").pipe(
      Flag.withDescription("When the key expires: a date or an instant, e.g. 2027-01-01"),
      Flag.optional,
    ),
    ...operator,
  },
  ({ app, id, name, scopes, expiresAt, ...target }) => {
    const payload = {
      app,
      ...(Option.isSome(id) && { id: id.value }),
      ...(Option.isSome(name) && { name: name.value }),
      ...(Option.isSome(expiresAt) && { expiresAt: expiresAt.value }),
      ...(scopes.length > 0 && { scopes }),
    }
    return show(
      target,
      AdminDirectory,
      (client, headers) => client.adminDirectory.mintKey({ headers, payload }),
      describeMinted,
    )
  },
).pipe(
  Command.withDescription("Create a key for an application. The secret is shown once"),
  Command.withExamples([{ command: "weir keys create acme_app --id acme_key --name Laptop" }]),
)

const rotateKey = Command.make(
  "rotate",
  {
    id,
    grace: Flag.Int("grace").pipe(
      Flag.withDescription("Seconds for which the former secret works on; a day if absent"),
      Flag.optional,
    ),
    requestId: Flag.String("request-id").pipe(
      Flag.withDescription("The same id again replaces the new secret only: for an answer that was lost"),
      Flag.optional,
    ),
    ...operator,
  },
  ({ id, grace, requestId, ...target }) =>
    show(
      target,
      AdminDirectory,
      (client, headers) =>
        client.adminDirectory.rotateKey({
          headers,
          params: { id },
          payload: {
            ...(Option.isSome(grace) && { graceS: grace.value }),
            ...(Option.isSome(requestId) && { requestId: requestId.value }),
          },
        }),
      ({ keyId, key, formerUntil }) =>
        `${keyId} has a new secret, which is shown only now:\n${key}\nThe former one ${until(formerUntil)}.`,
    ),
).pipe(
  Command.withDescription("Give a key a new secret; the former one works on for its grace"),
  Command.withExamples([{ command: "weir keys rotate acme_key --grace 3600" }]),
)

const until = (instant: string | undefined): string =>
  instant === undefined || Date.parse(instant) <= Date.now() ? "works no more" : `works until ${instant}`

const renameKey = Command.make(
  "rename",
  { id, name: Argument.String("name").pipe(Argument.withDescription("A name for people")), ...operator },
  ({ id, name, ...target }) =>
    show(
      target,
      AdminDirectory,
      (client, headers) => client.adminDirectory.changeKey({ headers, params: { id }, payload: { name } }),
      () => `${id} is called ${name}`,
    ),
).pipe(Command.withDescription("Rename a key that no catalogue declares"))

const revokeKey = Command.make("revoke", { id, ...operator }, ({ id, ...target }) =>
  show(
    target,
    AdminDirectory,
    (client, headers) => client.adminDirectory.revokeKey({ headers, params: { id } }),
    () => `${id} is revoked`,
  ),
).pipe(
  Command.withDescription("Revoke a key for good, including a key of the catalogue"),
  Command.withExamples([{ command: "weir keys revoke acme_key" }]),
)

const describeKeys = ({ data, nextCursor }: KeyList): string =>
  [
    table(
      ["id", "name", "app", "org", "scopes", "status", "made by", "created", "expires", "last used"],
      data.map(
        ({
          id,
          name = "",
          appId,
          orgId = "",
          scopes,
          status,
          origin,
          createdAt,
          expiresAt = "",
          madeBy,
          lastUsedAt = "",
        }) => [id, name, appId, orgId, scopes.join(","), status, madeBy ?? origin, createdAt, expiresAt, lastUsedAt],
      ),
      "No keys. Create one: weir keys create acme_app",
    ),
    ...more(nextCursor),
  ].join("\n")

const describeMinted = ({ keyId, key }: KeyMinted): string =>
  `${keyId}: ${key} (printed once; for clients of other APIs: ${keyId}~${key})`

export const keys = Command.make("keys").pipe(
  Command.withSubcommands([listKeys, mintKey, renameKey, rotateKey, revokeKey]),
  Command.provide(NodeHttpClient.layerNodeHttp),
)
