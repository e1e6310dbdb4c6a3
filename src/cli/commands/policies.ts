/** `weir policies`: the content policies in force, and the trial of a text against them. */
import { readFileSync } from "node:fs"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { AdminPolicies } from "../../protocol/api/admin-policies.ts"
import { mostTried, type PolicyList, type PolicyTestReply } from "../../protocol/control/policies.ts"
import { givenOf } from "../lists.ts"
import { table } from "../table.ts"
import { Failed, failed, operator, show } from "../target.ts"

const list = Command.make("list", operator, (target) =>
  show(
    target,
    AdminPolicies,
    (client, headers) => client.adminPolicies.policies({ headers }),
    ({ data }) =>
      table(
        ["policy", "direction", "match", "action", "streams", "text waits", "price", "named by", "problem"],
        data.map((policy) => [
          policy.id,
          policy.direction,
          // The names of entities are short.
          policy.match.startsWith("entities: ") ? policy.match : shortened(policy.match),
          policy.action,
          policy.direction === "inbound" ? "" : policy.streams,
          describeWait(policy.waits),
          describePrice(policy.price),
          describeNames(policy),
          policy.problem ?? "",
        ]),
        "No policies yet. Add them to the catalogue, under policies",
      ),
  ),
).pipe(Command.withDescription("List the policies of the catalogue, and the subjects that name them"))

const mostShown = 40

const shortened = (text: string): string => (text.length > mostShown ? `${text.slice(0, mostShown - 1)}…` : text)

type Row = PolicyList["data"][number]

const describeWait = (waits: Row["waits"]): string => {
  if (waits === undefined) return ""
  if (waits.until === "characters") return `at most ${waits.characters} characters`
  return waits.until === "match" ? "from where a match begins" : "until its engine answers"
}

const describePrice = (price: Row["price"]): string => {
  if (price === undefined) return ""
  const { currency, perCall, perThousandCharacters, paidBy } = price
  const amounts = [
    ...(perCall === undefined ? [] : [`${perCall} a call`]),
    ...(perThousandCharacters === undefined ? [] : [`${perThousandCharacters} a thousand characters`]),
  ]
  return `${currency} ${amounts.join(" and ")}, paid by the ${paidBy}`
}

const describeNames = ({ forAll, namedBy: { orgs, apps, keys } }: Row): string =>
  [
    ...(forAll ? ["everyone"] : []),
    ...nameOf("organisation", orgs),
    ...nameOf("application", apps),
    ...nameOf("key", keys),
  ].join("; ") || "nobody"

const nameOf = (kind: string, { count, ids }: Row["namedBy"]["orgs"]): ReadonlyArray<string> => {
  if (count === 0) return []
  return [count === 1 ? `${kind} ${ids[0]}` : `${count} ${kind}s`]
}

const direction = Flag.Literals("direction", ["inbound", "outbound"]).pipe(
  Flag.withDescription("Only policies that review requests (inbound) or replies (outbound)"),
  Flag.optional,
)
const org = Flag.String("org").pipe(
  Flag.withDescription("The policies in force for this organisation; those of the whole catalogue if absent"),
  Flag.optional,
)
const app = Flag.String("app").pipe(
  Flag.withDescription("The policies in force for this application, with those of its organisation"),
  Flag.optional,
)
const policy = Flag.String("policy").pipe(Flag.withDescription("Only this policy"), Flag.optional)
const file = Argument.String("file").pipe(Argument.withDescription("A file with the text; - for the standard input"))

const test = Command.make(
  "test",
  { file, org, app, direction, policy, ...operator },
  ({ file, org, app, direction, policy, ...target }) =>
    Effect.flatMap(readTried(file), (text) =>
      show(
        target,
        AdminPolicies,
        (client, headers) =>
          client.adminPolicies.testPolicies({
            headers,
            payload: {
              text,
              ...givenOf({ org, app, policy }),
              ...(Option.isSome(direction) && { direction: direction.value }),
            },
          }),
        (reply) => describeTest(text, reply),
      ),
    ),
).pipe(
  Command.withDescription("Try a text against the policies in force, and print each finding. Nothing is stored"),
  Command.withExamples([{ command: "echo 'Write to ada@example.com' | weir policies test - --org acme" }]),
)

const readTried = Effect.fnUntraced(function* (file: string): Effect.fn.Return<string, Failed> {
  const name = file === "-" ? "the standard input" : file
  const bytes = yield* Effect.try({
    try: () => readFileSync(file === "-" ? 0 : file),
    catch: (cause) => new Failed(`${name} cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`),
  })
  const text = yield* Effect.try({
    try: () => new TextDecoder("utf-8", { fatal: true }).decode(bytes),
    catch: () => new Failed(`${name} is not text in UTF-8`),
  })
  if (text === "") return yield* failed(`${name} is empty: a text to try is required`)
  if (text.length > mostTried) {
    return yield* failed(`${name} has ${text.length} characters, and ${mostTried} can be tried at once`)
  }
  return text
})

const describeTest = (text: string, { policies, masked }: PolicyTestReply): string => {
  if (policies.length === 0) return "No policy is in force there"
  const rows = policies.flatMap((tried) => {
    const { id, direction, action, reason, did, count, findings, failure } = tried
    const common = [id, direction, action, did]
    if (failure !== undefined) return [[...common, "", "", describeFailure(failure)]]
    if (findings.length === 0) return [[...common, "", "", count === 0 ? "" : reason]]
    const reviewed = tried.reviewed === "masked" ? (masked ?? text) : text
    const found = findings
      .slice(0, mostRows)
      .map(({ start, end, label }) => [...common, `${start}-${end}`, label, shortened(reviewed.slice(start, end))])
    const rest = count - found.length
    return rest > 0 ? [...found, [...common, "", "", `and ${rest} more`]] : found
  })
  const lines = table(["policy", "direction", "action", "did", "place", "label", "found"], rows)
  return masked === undefined ? lines : `${lines}\n\nMasked:\n${masked.trimEnd()}`
}

/** The findings of one policy that are printed. */
const mostRows = 50

type Failure = NonNullable<PolicyTestReply["policies"][number]["failure"]>

const describeFailure = ({ engine, reason, status, problem, onFailure }: Failure): string => {
  const cause = [
    reason,
    ...(status === undefined ? [] : [`HTTP ${status}`]),
    ...(problem === undefined ? [] : [problem]),
  ]
  return `${engine} gave no verdict (${cause.join(", ")}): a call would be ${onFailure === "deny" ? "denied" : "allowed"}`
}

export const policies = Command.make("policies").pipe(
  Command.withSubcommands([list, test]),
  Command.provide(NodeHttpClient.layerNodeHttp),
)
