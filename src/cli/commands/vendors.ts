/** `weir vendors`: lists vendors, checks them with a real call, and manages organisations' upstream keys. */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Effect, Option, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { AdminVendors } from "../../protocol/api/admin-vendors.ts"
import type { FieldOutcome, UpstreamKeysResponse, VendorCheckResponse } from "../../protocol/control/admin.ts"
import { OwnIdentity } from "../../protocol/control/own-identity.ts"
import { readText } from "../files.ts"
import { org } from "../lists.ts"
import { table } from "../table.ts"
import { ask, Failed, failed, type Operator, operator, print, secretOfFlag, show } from "../target.ts"
import { catalogueInForce } from "./models.ts"

const vendor = Argument.String("vendor").pipe(Argument.withDescription("A vendor's id in the catalogue"))

const test = Command.make(
  "test",
  {
    vendor,
    model: Flag.String("model").pipe(
      Flag.withDescription("The vendor's own name of a model; one of the catalogue if absent"),
      Flag.optional,
    ),
    fields: Flag.Boolean("fields").pipe(
      Flag.withDescription("Also try each optional parameter, with one small call each"),
      Flag.withDefault(false),
    ),
    ...operator,
  },
  Effect.fn(function* ({ vendor, model, fields, ...target }) {
    const payload = { ...(Option.isSome(model) && { model: model.value }), ...(fields && { fields }) }
    const outcome = yield* ask(target, AdminVendors, (client, headers) =>
      client.adminVendors.testVendor({ headers, params: { vendor }, payload }),
    )
    if (!outcome.ok) return yield* Effect.fail(new Failed(describeCheck(outcome)))
    yield* print(target, outcome, describeCheck)
  }),
).pipe(
  Command.withDescription("Make one small real call to a vendor and print the result"),
  Command.withExamples([
    { command: "weir vendors test openai --model gpt-5" },
    { command: "weir vendors test openai --fields" },
  ]),
)

export const describeCheck = ({
  vendor,
  dialect,
  model,
  millis,
  firstFrameMs,
  text,
  stop,
  usage,
  error,
  fields = [],
}: VendorCheckResponse): string =>
  [
    `${vendor} (${dialect}, ${model}): ${error === undefined ? "works" : "failed"} after ${millis} ms`,
    ...(firstFrameMs === undefined ? [] : [`  first frame   ${firstFrameMs} ms`]),
    ...(text === "" ? [] : [`  text          ${JSON.stringify(text)}`]),
    ...(stop === undefined ? [] : [`  stop          ${stop}`]),
    ...(usage === undefined
      ? error === undefined
        ? ["  usage         none reported: it will be estimated"]
        : []
      : [`  usage         ${usage.inTokens} in, ${usage.outTokens} out, ${usage.cacheReadTokens} read from a cache`]),
    ...(error === undefined ? [] : [`  error         ${error.code} ${JSON.stringify(error.detail ?? {})}`]),
    ...(error?.advice === undefined ? [] : [`  advice        ${error.advice}`]),
    ...describeFields(fields),
  ].join("\n")

const outcomes: Readonly<Record<FieldOutcome, string>> = {
  honoured: "honoured: the reply shows it",
  accepted: "accepted: a reply cannot show it",
  ignored: "ignored: the reply should show it",
  refused: "refused by the vendor",
  lacking: "not in the vendor's API: the next target of a model is asked",
}

/** A line for each parameter, and the parameters that the model's profile should remove. */
const describeFields = (fields: NonNullable<VendorCheckResponse["fields"]>): ReadonlyArray<string> => {
  const stripped = fields.filter(({ outcome }) => outcome === "refused" || outcome === "ignored")
  return [
    ...fields.map(
      ({ name, outcome, status }) =>
        `  ${name.padEnd(18)}${outcomes[outcome]}${status === undefined ? "" : ` (${status})`}`,
    ),
    ...(stripped.length === 0
      ? []
      : [
          "For the model in the catalogue, so that calls with these parameters are served without them and get a warning:",
          `  params: { ${stripped.map(({ name }) => `${name}: { strip: true }`).join(", ")} }`,
        ]),
  ]
}

const setKey = Command.make(
  "set-key",
  {
    org,
    vendor,
    key: Flag.String("key").pipe(
      Flag.withDescription("The key; prefer SVC_UPSTREAM_KEY, which keeps it out of the shell's history"),
      Flag.withFallbackConfig(secretOfFlag("SVC_UPSTREAM_KEY")),
      Flag.optional,
    ),
    identity: Flag.String("identity").pipe(
      Flag.withDescription(
        'Instead of a key, a file with an identity at a cloud: {"aws": …}, {"google": …} or {"azure": …}',
      ),
      Flag.optional,
    ),
    baseUrl: Flag.String("base-url").pipe(
      Flag.withDescription("The organisation's own base URL; HTTPS and public"),
      Flag.optional,
    ),
    ...operator,
  },
  Effect.fn(function* ({ org, vendor, key, identity, baseUrl, ...target }) {
    const address = Option.isSome(baseUrl) ? { baseUrl: baseUrl.value } : {}
    const brought = Option.isSome(identity)
      ? yield* readIdentity(identity.value)
      : Option.isSome(key)
        ? { key: key.value }
        : yield* failed("Set SVC_UPSTREAM_KEY, or name a file with --identity")
    const payload = { ...brought, ...address }
    yield* show(
      target,
      AdminVendors,
      (client, headers) => client.adminVendors.setUpstreamKey({ headers, params: { org, vendor }, payload }),
      (kept) => describeKeys(org, kept),
    )
  }),
).pipe(
  Command.withDescription("Set an organisation's own key for a vendor"),
  Command.withExamples([{ command: "SVC_UPSTREAM_KEY=… weir vendors set-key acme openai" }]),
)

const readIdentity = Effect.fnUntraced(function* (file: string) {
  const found = Schema.decodeUnknownOption(Schema.fromJsonString(OwnIdentity))(yield* readText(file))
  return Option.isSome(found)
    ? found.value
    : yield* failed(
        `${file} has no identity: {"aws": {accessKeyId, secretAccessKey}}, {"google": {credentials}} or {"azure": {tenantId, clientId, clientSecret}}`,
      )
})

const keys = Command.make("keys", { org, ...operator }, ({ org, ...target }) =>
  show(
    target,
    AdminVendors,
    (client, headers) => client.adminVendors.listUpstreamKeys({ headers, params: { org } }),
    (kept) => describeKeys(org, kept),
  ),
).pipe(Command.withDescription("List an organisation's upstream keys"))

const removeKey = Command.make("remove-key", { org, vendor, ...operator }, ({ org, vendor, ...target }) =>
  show(
    target,
    AdminVendors,
    (client, headers) => client.adminVendors.removeUpstreamKey({ headers, params: { org, vendor } }),
    (kept) => describeKeys(org, kept),
  ),
).pipe(Command.withDescription("Remove an organisation's own key for a vendor"))

const describeKeys = (org: string, { keys }: UpstreamKeysResponse): string =>
  keys.length === 0
    ? `${org} has no upstream keys of its own`
    : table(
        ["vendor", "key", "address", "stored since"],
        keys.map(({ vendor, baseUrl = "the vendor's own", hint, updatedAt }) => [
          vendor,
          `…${hint}`,
          baseUrl,
          updatedAt,
        ]),
      )

const listVendors = Effect.fnUntraced(function* (target: Operator) {
  const { document, encoded } = yield* catalogueInForce(target)
  const served = (id: string) =>
    (document.models ?? []).filter(({ targets = [] }) => targets.some(({ vendor }) => vendor === id))
  yield* print(target, { vendors: encoded.vendors ?? [] }, () =>
    table(
      ["vendor", "dialect", "base url", "models"],
      (document.vendors ?? []).map(({ id, dialect, baseUrl = "" }) => [
        id,
        dialect,
        baseUrl,
        served(id)
          .map(({ handle }) => handle)
          .join(" "),
      ]),
      "No vendors yet. Add one to the catalogue: weir init writes a first one",
    ),
  )
})

const list = Command.make("list", operator, listVendors).pipe(
  Command.withDescription("List the vendors of the catalogue in force, and the models that they serve"),
)

export const vendors = Command.make("vendors", operator, listVendors).pipe(
  Command.withSubcommands([list, test, keys, setKey, removeKey]),
  Command.provide(NodeHttpClient.layerNodeHttp),
)
