/** The page of all commands: the help of each, as the command prints it. */
import { Console, Effect } from "effect"
import { weir } from "../../src/cli/weir.ts"

const subcommand = /^ {2}([a-z][\w-]*) {2,}\S/gm

/** The help of a command. @param args its names, e.g. `vendors`, `test` */
const helpOf = async (args: ReadonlyArray<string>): Promise<string> => {
  const lines: Array<string> = []
  const print = (...parts: ReadonlyArray<unknown>) => lines.push(parts.join(" "))
  const capturing: Console.Console = Object.assign(Object.create(console), { log: print, error: print })
  await Effect.runPromise(Effect.provideService(weir([...args, "--help"]), Console.Console, capturing))
  return lines.join("\n")
}

interface Section {
  readonly name: string
  readonly text: string
}

/** The sections of a help by their titles in capitals. */
const sectionsOf = (help: string): ReadonlyArray<Section> =>
  help.split(/^(?=[A-Z][A-Z ]+$)/m).map((part) => {
    const [name = "", ...lines] = part.split("\n")
    return { name: name.trim(), text: lines.join("\n").trimEnd() }
  })

const writeCommand = async (args: ReadonlyArray<string>): Promise<ReadonlyArray<string>> => {
  const sections = sectionsOf(await helpOf(args))
  const textOf = (name: string) => sections.find((section) => section.name === name)?.text ?? ""
  const unindented = (text: string) => text.replaceAll(/^ {2}/gm, "")
  const block = [textOf("USAGE"), textOf("ARGUMENTS"), textOf("FLAGS"), textOf("EXAMPLES")]
    .filter((text) => text !== "")
    .map(unindented)
    .join("\n\n")
  const subcommands = [...textOf("SUBCOMMANDS").matchAll(subcommand)].map(([, name = ""]) => name)
  const below: Array<string> = []
  for (const name of subcommands) below.push(...(await writeCommand([...args, name])))
  const level = args.length === 1 ? "##" : "###"
  const own = [
    `${level} weir ${args.join(" ")}`,
    "",
    `${unindented(textOf("DESCRIPTION"))}.`,
    "",
    "```text",
    block,
    "```",
    "",
  ]
  return args.length === 0 ? below : [...own, ...below]
}

export const commandsPage = async (): Promise<string> =>
  [
    "# Commands",
    "",
    "In a clone, `npm run -s weir -- COMMAND` runs a command; the package installs it as `weir`. Commands that ask a gateway take its address",
    "from `--url` or `SVC_BASE_URL`, else the port `SVC_PORT` (8080) of this machine, and the admin key from `--admin-key` or `SVC_ADMIN_KEY`;",
    "in development `npm start` prints it. A second gateway on a machine needs an `SVC_PORT` and an `SVC_DATA_DIR` of its own",
    "([variables](variables.md)). `--json` prints the gateway's reply.",
    "",
    'With `--json` the standard output is JSON alone; an error is JSON on the standard error: `{"error": {"code", "message", "detail"}}` as the',
    'gateway sent it, or `{"error": {"message"}}`. The exit code is 0 for success, 1 for a command that failed or was refused, and 2 for wrong',
    "arguments.",
    "",
    ...(await writeCommand([])),
  ].join("\n")
