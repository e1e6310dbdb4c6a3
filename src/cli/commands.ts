/**
 * The commands, each in its own module, loaded only when it runs: the commands share little, and loading all takes most of a
 * second. Their descriptions and examples are here, for `weir --help`.
 */
import { Command } from "effect/cli"

const command = <Name extends string, Input, Context, E, R>(
  description: string,
  example: string,
  load: () => Promise<Command.Command<Name, Input, Context, E, R>>,
) => ({
  description,
  load: async () =>
    (await load()).pipe(Command.withDescription(description), Command.withExamples([{ command: example }])),
})

const commands = {
  serve: command(
    "Run the gateway; variables configure it, such as SVC_PORT: weir config prints them",
    "SVC_CATALOGUE=weir.yaml weir serve",
    async () => (await import("./commands/serve.ts")).serve,
  ),
  init: command(
    "Write a catalogue for the vendors whose API keys are in the environment, or add to one",
    "OPENAI_API_KEY=… weir init --prices model_prices_and_context_window.json",
    async () => (await import("./commands/init.ts")).init,
  ),
  migrate: command(
    "Apply missing migrations and exit",
    "SVC_DATABASE_URL=postgres://… weir migrate",
    async () => (await import("./commands/migrate.ts")).migrate,
  ),
  db: command(
    "Show or distribute the ledger's database (Citus)",
    "SVC_DATABASE_URL=postgres://… weir db distribute --shards 8 --apply",
    async () => (await import("./commands/db.ts")).db,
  ),
  apply: command(
    "Apply a catalogue to a running gateway",
    "weir apply weir.yaml --dry-run",
    async () => (await import("./commands/apply.ts")).apply,
  ),
  revisions: command(
    "List revisions of the catalogue, compare two, and bring one back",
    "weir revisions restore 7 --dry-run",
    async () => (await import("./commands/revisions.ts")).revisions,
  ),
  prices: command(
    "Import prices of models from LiteLLM's price file",
    "weir prices import model_prices_and_context_window.json --vendor openai --markup 10%",
    async () => (await import("./commands/prices.ts")).prices,
  ),
  orgs: command(
    "List organisations with their balances, by id; or create and change one",
    "weir orgs --search ac",
    async () => (await import("./commands/orgs.ts")).orgs,
  ),
  apps: command(
    "List applications, by id; or create and change one",
    "weir apps --org acme",
    async () => (await import("./commands/apps.ts")).apps,
  ),
  teams: command(
    "List teams, by id; or create and change one",
    "weir teams --org acme",
    async () => (await import("./commands/apps.ts")).teams,
  ),
  users: command(
    "List, add and disable people",
    "weir users list --org acme",
    async () => (await import("./commands/users.ts")).users,
  ),
  scim: command(
    "Let an organisation's directory provision people, by SCIM 2.0",
    "weir scim enable acme",
    async () => (await import("./commands/scim.ts")).scim,
  ),
  limits: command(
    "Set the models and tools that subjects may call, and their rates",
    'weir limits set app acme_app --rate "600 requests per 60s"',
    async () => (await import("./commands/limits.ts")).limits,
  ),
  keys: command(
    "List, create, rotate and revoke application keys",
    "weir keys create acme_app",
    async () => (await import("./commands/keys.ts")).keys,
  ),
  licence: command(
    "List, create and revoke licences of applications",
    "weir licence create acme acme_app",
    async () => (await import("./commands/licences.ts")).licence,
  ),
  topup: command(
    "Top up an organisation. Idempotent by `id`",
    "weir topup acme 20 --id acme-1",
    async () => (await import("./commands/money.ts")).topup,
  ),
  ledger: command(
    "Print an organisation's balances and newest entries",
    "weir ledger acme",
    async () => (await import("./commands/money.ts")).ledger,
  ),
  budgets: command(
    "List an organisation's budgets and what is left of them",
    "weir budgets acme",
    async () => (await import("./commands/budgets.ts")).budgets,
  ),
  usage: command(
    "List an organisation's usage records, newest first",
    "weir usage acme",
    async () => (await import("./commands/orgs.ts")).usage,
  ),
  jobs: command(
    "List, show and cancel jobs, such as videos",
    "weir jobs list --open",
    async () => (await import("./commands/jobs.ts")).jobs,
  ),
  responses: command(
    "List and erase the responses that an organisation keeps",
    "weir responses list acme",
    async () => (await import("./commands/responses.ts")).responses,
  ),
  files: command(
    "List and erase the files that clients of an organisation keep",
    "weir files list acme",
    async () => (await import("./commands/files.ts")).files,
  ),
  batches: command(
    "List and cancel the batches that clients of an organisation have made",
    "weir batches list acme --open",
    async () => (await import("./commands/batches.ts")).batches,
  ),
  exports: command(
    "List exports of records to files, and write files again",
    "weir exports list",
    async () => (await import("./commands/exports.ts")).exports,
  ),
  webhooks: command(
    "List webhooks and their deliveries, test them, and send again",
    "weir webhooks list",
    async () => (await import("./commands/webhooks.ts")).webhooks,
  ),
  policies: command(
    "List content policies, and try a text against them",
    "weir policies test prompt.txt --org acme",
    async () => (await import("./commands/policies.ts")).policies,
  ),
  cache: command(
    "Show reply-cache statistics; clear the cache",
    "weir cache clear acme --model main",
    async () => (await import("./commands/cache.ts")).cache,
  ),
  models: command(
    "List the models of the catalogue in force",
    "weir models",
    async () => (await import("./commands/models.ts")).models,
  ),
  routes: command(
    "List the routes of vendors that are passed through, with their prices",
    "weir routes",
    async () => (await import("./commands/routes.ts")).routes,
  ),
  tools: command(
    "List servers of tools, agree to changed tools, and try one",
    "weir tools list",
    async () => (await import("./commands/tools.ts")).tools,
  ),
  vendors: command(
    "List and check vendors, and manage organisations' upstream keys",
    "weir vendors test openai",
    async () => (await import("./commands/vendors.ts")).vendors,
  ),
  audit: command("Verify the audit log", "weir audit verify", async () => (await import("./commands/audit.ts")).audit),
  doctor: command(
    "Check variables, catalogue, port, stores and migrations, and the books of a running gateway",
    "SVC_ADMIN_KEY=… weir doctor",
    async () => (await import("./commands/doctor.ts")).doctor,
  ),
  config: command(
    "Print each variable: default, value in force, source and meaning",
    "weir config",
    async () => (await import("./commands/config.ts")).config,
  ),
  timeouts: command(
    "Show observed times of each timeout tier, how many calls it ended, and a suggested value",
    "weir timeouts --from 2026-01-01",
    async () => (await import("./commands/timeouts.ts")).timeouts,
  ),
  chat: command(
    "Chat with a model; Ctrl-D quits",
    'weir chat "Hello, river"',
    async () => (await import("./commands/chat.ts")).chat,
  ),
  conformance: command(
    "Check a deployment against the contract; makes about twenty small exchanges, which are billed",
    "weir conformance http://127.0.0.1:8080 --key-id … --key …",
    async () => (await import("./commands/conformance.ts")).conformance,
  ),
  login: command(
    "Log in through a browser, on this machine or another",
    "weir login --url https://weir.example.com",
    async () => (await import("./commands/login.ts")).login,
  ),
  me: command(
    "Print who is logged in, with organisations and roles",
    "weir me",
    async () => (await import("./commands/login.ts")).me,
  ),
  invitations: command(
    "Accept or decline an organisation's invitation; weir me lists them",
    "weir invitations accept acme",
    async () => (await import("./commands/login.ts")).invitations,
  ),
  logout: command(
    "Log out, here and at the gateway",
    "weir logout",
    async () => (await import("./commands/login.ts")).logout,
  ),
}

type Name = keyof typeof commands
const isName = (name: string | undefined): name is Name => name !== undefined && Object.hasOwn(commands, name)

const loaded = (name: Name) => commands[name].load()

/** A command in the list of commands: only its name and description. */
const named = (name: Name) => Command.withDescription(Command.make(name), commands[name].description)

const names = Object.keys(commands).filter(isName)

/** Former names of subcommands. They work, and help does not list them. */
const formerNames: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  keys: { mint: "create" },
  licence: { issue: "create" },
  users: { add: "create", role: "update" },
  orgs: { delete: "remove" },
  apps: { delete: "remove" },
  teams: { delete: "remove" },
}

/** The arguments with the name of a subcommand as it is now. */
export const withPresentName = ([command, subcommand, ...rest]: ReadonlyArray<string>): ReadonlyArray<string> => {
  if (command === undefined || subcommand === undefined) return command === undefined ? [] : [command]
  const names = Object.hasOwn(formerNames, command) ? (formerNames[command] ?? {}) : {}
  return [command, (Object.hasOwn(names, subcommand) ? names[subcommand] : undefined) ?? subcommand, ...rest]
}

/** The command that is called; for `weir --help` all by name, and whole for completions. */
export const commandsOf = async (args: ReadonlyArray<string>) => {
  const [first] = args
  if (isName(first)) return [await loaded(first)]
  if (args.includes("--completions") || args.includes("--wizard")) return Promise.all(names.map(loaded))
  return names.map(named)
}
