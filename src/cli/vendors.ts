/** `weir vendors`: trying vendors out, and the upstream keys that organisations bring. */
import { Config, Console, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { FetchHttpClient } from "effect/http"
import type { TrialResponse, UpstreamKeysResponse } from "../protocol/admin.ts"
import { adminKey, connect, describeError, Failed, url } from "./operator.ts"

const vendor = Argument.String("vendor").pipe(Argument.withDescription("A vendor's id in the catalogue"))
const org = Argument.String("org").pipe(Argument.withDescription("An organisation's id"))

const test = Command.make(
  "test",
  {
    vendor,
    model: Flag.String("model").pipe(
      Flag.withDescription("The vendor's own name of a model; one of the catalogue when absent"),
      Flag.optional,
    ),
    url,
    adminKey,
  },
  Effect.fn(function* ({ vendor, model, ...target }) {
    const { client, headers } = yield* connect(target)
    const payload = Option.match(model, { onNone: () => ({}), onSome: (model) => ({ model }) })
    const outcome = yield* client.adminVendors
      .testVendor({ headers, params: { vendor }, payload })
      .pipe(Effect.mapError((error) => new Failed(describeError(error, target.url))))
    if (!outcome.ok) return yield* Effect.fail(new Failed(describeTrial(outcome)))
    yield* Console.log(describeTrial(outcome))
  }),
).pipe(Command.withDescription("Make one small real call to a vendor, and print what came back"))

const describeTrial = ({
  vendor,
  dialect,
  model,
  millis,
  firstFrameMs,
  text,
  stop,
  usage,
  error,
}: TrialResponse): string =>
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
  ].join("\n")

const setKey = Command.make(
  "set-key",
  {
    org,
    vendor,
    key: Flag.String("key").pipe(
      Flag.withDescription("The key (SVC_UPSTREAM_KEY, which keeps it out of the shell's history)"),
      Flag.withFallbackConfig(Config.String("SVC_UPSTREAM_KEY")),
    ),
    baseUrl: Flag.String("base-url").pipe(
      Flag.withDescription("An address of the organisation's own; HTTPS and public"),
      Flag.optional,
    ),
    url,
    adminKey,
  },
  Effect.fn(function* ({ org, vendor, key, baseUrl, ...target }) {
    const { client, headers } = yield* connect(target)
    const payload = { key, ...(Option.isSome(baseUrl) && { baseUrl: baseUrl.value }) }
    const kept = yield* client.adminVendors
      .setUpstreamKey({ headers, params: { org, vendor }, payload })
      .pipe(Effect.mapError((error) => new Failed(describeError(error, target.url))))
    yield* Console.log(describeKeys(org, kept))
  }),
).pipe(Command.withDescription("Keep an organisation's own key for a vendor, sealed"))

const keys = Command.make(
  "keys",
  { org, url, adminKey },
  Effect.fn(function* ({ org, ...target }) {
    const { client, headers } = yield* connect(target)
    const kept = yield* client.adminVendors
      .listUpstreamKeys({ headers, params: { org } })
      .pipe(Effect.mapError((error) => new Failed(describeError(error, target.url))))
    yield* Console.log(describeKeys(org, kept))
  }),
).pipe(Command.withDescription("List the upstream keys that an organisation brought"))

const removeKey = Command.make(
  "remove-key",
  { org, vendor, url, adminKey },
  Effect.fn(function* ({ org, vendor, ...target }) {
    const { client, headers } = yield* connect(target)
    const kept = yield* client.adminVendors
      .removeUpstreamKey({ headers, params: { org, vendor } })
      .pipe(Effect.mapError((error) => new Failed(describeError(error, target.url))))
    yield* Console.log(describeKeys(org, kept))
  }),
).pipe(Command.withDescription("Forget an organisation's own key for a vendor"))

const describeKeys = (org: string, { keys }: UpstreamKeysResponse): string =>
  keys.length === 0
    ? `${org} has no upstream keys of its own`
    : keys
        .map(
          ({ vendor, baseUrl = "the vendor's own address", hint, updatedAt }) =>
            `${vendor.padEnd(16)}  …${hint}  ${baseUrl}  ${updatedAt}`,
        )
        .join("\n")

export const vendors = Command.make("vendors").pipe(
  Command.withDescription("Try vendors out, and keep the upstream keys that organisations bring"),
  Command.withSubcommands([test, keys, setKey, removeKey]),
  Command.provide(FetchHttpClient.layer),
)
