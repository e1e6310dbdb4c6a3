/** `weir limits`: the models and tools that a subject may call, and its rates. */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { AdminDirectory } from "../../protocol/api/admin-directory.ts"
import { AdminTenants } from "../../protocol/api/admin-tenants.ts"
import { SubjectLimits } from "../../protocol/catalogue/limits.ts"
import { rateForm, rateText, readRate, type SentRate } from "../../protocol/values/rate-text.ts"
import { ask, decoded, failed, type Operator, operator, print } from "../target.ts"

const kinds = ["org", "team", "person", "app", "key"] as const
type Kind = (typeof kinds)[number]

const subject = {
  kind: Argument.Literals("kind", kinds).pipe(Argument.withDescription(`The kind of subject: ${kinds.join(", ")}`)),
  id: Argument.String("id").pipe(Argument.withDescription("Its id")),
}

interface Change {
  readonly models?: NonNullable<SubjectLimits["models"]> | null
  readonly rates?: NonNullable<SubjectLimits["rates"]> | null
  readonly tools?: NonNullable<SubjectLimits["tools"]> | null
}

const update = (target: Operator, kind: Kind, id: string, payload: Change) => {
  const params = { id }
  switch (kind) {
    case "org":
      return ask(target, AdminTenants, (client, headers) => client.adminTenants.updateOrg({ headers, params, payload }))
    case "team":
      return ask(target, AdminTenants, (client, headers) =>
        client.adminTenants.updateTeam({ headers, params, payload }),
      )
    case "person":
      return ask(target, AdminTenants, (client, headers) =>
        client.adminTenants.updateMember({ headers, params, payload }),
      )
    case "app":
      return ask(target, AdminTenants, (client, headers) => client.adminTenants.updateApp({ headers, params, payload }))
    case "key":
      return ask(target, AdminDirectory, (client, headers) =>
        client.adminDirectory.changeKey({ headers, params, payload }),
      )
  }
}

const set = Command.make(
  "set",
  {
    ...subject,
    models: Flag.String("model").pipe(
      Flag.withDescription("A model that it may call: a handle, gpt-*, or tag:cheap; may be repeated; `none` for none"),
      Flag.atMost(100),
    ),
    tools: Flag.String("tool").pipe(
      Flag.withDescription(
        "A tool that it may call: a server, weather__forecast, or the start of names with *; may be repeated; `none` for none",
      ),
      Flag.atMost(100),
    ),
    rates: Flag.String("rate").pipe(
      Flag.withDescription(`A rate, such as "600 requests per 60s"; may be repeated`),
      Flag.atMost(16),
    ),
    ...operator,
  },
  Effect.fn(function* ({ kind, id, models, tools, rates, ...target }) {
    const sent: Array<SentRate> = []
    for (const text of rates) {
      const rate = readRate(text)
      if (rate === undefined) return yield* failed(`"${text}" is no rate: write ${rateForm}`)
      sent.push(rate)
    }
    if (models.length === 0 && tools.length === 0 && sent.length === 0) {
      return yield* failed("Name a --model, a --tool or a --rate")
    }
    const limits = {
      ...(models.length > 0 && { models: listed(models) }),
      ...(tools.length > 0 && { tools: listed(tools) }),
      ...(sent.length > 0 && { rates: sent }),
    }
    const payload = yield* decoded(SubjectLimits, limits)
    yield* update(target, kind, id, payload)
    yield* print(target, { kind, id, ...limits }, () => described(id, limits))
  }),
).pipe(
  Command.withDescription("Set the models and tools that a subject may call, and its rates; what is not named stays"),
  Command.withExamples([
    { command: 'weir limits set app acme_app --model "gpt-*" --rate "600 requests per 60s" --rate "20 at a time"' },
    { command: "weir limits set team acme_research --tool weather --tool search__find" },
  ]),
)

const listed = (names: ReadonlyArray<string>): ReadonlyArray<string> =>
  names.length === 1 && names[0] === "none" ? [] : names

const clear = Command.make("clear", { ...subject, ...operator }, ({ kind, id, ...target }) =>
  Effect.andThen(
    update(target, kind, id, { models: null, rates: null, tools: null }),
    print(target, { kind, id }, () => `${id} has no limits of its own`),
  ),
).pipe(
  Command.withDescription("Remove the limits of a subject; those above it stay"),
  Command.withExamples([{ command: "weir limits clear app acme_app" }]),
)

interface Described {
  readonly models?: ReadonlyArray<string>
  readonly tools?: ReadonlyArray<string>
  readonly rates?: ReadonlyArray<SentRate>
}

const described = (id: string, { models, tools, rates = [] }: Described) =>
  [
    ...(models === undefined ? [] : [`${id} may call ${models.join(", ") || "no models"}`]),
    ...(tools === undefined ? [] : [`${id} may call ${tools.join(", ") || "no tools"}`]),
    ...rates.map((rate) => `${id} may make ${rateText(rate)}`),
  ].join("\n")

export const limits = Command.make("limits").pipe(
  Command.withDescription("Set the models and tools that subjects may call, and their rates"),
  Command.withSubcommands([set, clear]),
  Command.provide(NodeHttpClient.layerNodeHttp),
)
