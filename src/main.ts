#!/usr/bin/env node
/**
 * The command line. `weir --help` lists the commands; `weir --completions bash` (zsh, fish) prints shell completions.
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Cause, Console, Effect, Exit, Runtime } from "effect"
import { CliError, Command } from "effect/cli"
import { explain } from "./cli/explain.ts"

/**
 * Each command in its own module, loaded only when it runs: the commands share little, and loading all takes a second.
 */
const commands = {
  serve: async () => (await import("./cli/serve.ts")).serve,
  migrate: async () => (await import("./cli/migrate.ts")).migrate,
  apply: async () => (await import("./cli/operator.ts")).apply,
  orgs: async () => (await import("./cli/orgs.ts")).orgs,
  users: async () => (await import("./cli/users.ts")).users,
  keys: async () => (await import("./cli/keys.ts")).keys,
  licence: async () => (await import("./cli/licences.ts")).licence,
  topup: async () => (await import("./cli/operator.ts")).topup,
  ledger: async () => (await import("./cli/operator.ts")).ledger,
  budgets: async () => (await import("./cli/budgets.ts")).budgets,
  usage: async () => (await import("./cli/orgs.ts")).usage,
  vendors: async () => (await import("./cli/vendors.ts")).vendors,
  audit: async () => (await import("./cli/audit.ts")).audit,
  doctor: async () => (await import("./cli/doctor.ts")).doctor,
  timeouts: async () => (await import("./cli/timeouts.ts")).timeouts,
  chat: async () => (await import("./cli/chat.ts")).chat,
  conformance: async () => (await import("./cli/conformance.ts")).conformance,
  login: async () => (await import("./cli/login.ts")).login,
  me: async () => (await import("./cli/login.ts")).me,
  logout: async () => (await import("./cli/login.ts")).logout,
}

const isCommand = (name: string | undefined): name is keyof typeof commands =>
  name !== undefined && Object.hasOwn(commands, name)

/** The named command; all of them for `--help`, completions, and names that do not exist. */
const [, , name] = process.argv
const loaded = await Promise.all((isCommand(name) ? [commands[name]] : Object.values(commands)).map((load) => load()))

Command.make("weir").pipe(
  Command.withDescription("A gateway in front of model and search vendors"),
  Command.withSubcommands(loaded),
  Command.run({ version: "0.1.0" }),
  Effect.provide(NodeServices.layer),
  Effect.tapCause((cause) => {
    if (Cause.hasInterruptsOnly(cause) || CliError.isCliError(Cause.squash(cause))) return Effect.void
    return Console.error(explain(cause))
  }),
  NodeRuntime.runMain({
    disableErrorReporting: true,
    // An interrupted gateway has drained and settled: that is a success.
    teardown: (exit, onExit) =>
      Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause) ? onExit(0) : Runtime.defaultTeardown(exit, onExit),
  }),
)
