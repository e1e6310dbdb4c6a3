/** The table of commands: the listed commands are the loaded ones, and errors come with an example. */
import { describe, expect, it } from "vitest"
import { commandsOf } from "../../src/cli/commands.ts"
import { useCommands } from "../support/use-commands.ts"

const { run } = useCommands()

describe("the commands", () => {
  it("are listed by name, each is loaded by it, and all of them for completions", async () => {
    const listed = await commandsOf([])
    expect(listed.length).toBeGreaterThan(20)
    for (const { name, description } of listed) {
      const loaded = await commandsOf([name, "--help"])
      expect(loaded.map((command) => [command.name, command.description])).toEqual([[name, description]])
      expect(loaded[0]?.examples[0]?.command).toContain(`weir ${name}`)
    }
    expect((await commandsOf(["--completions", "bash"])).map(({ name }) => name)).toEqual(
      listed.map(({ name }) => name),
    )
    expect(await commandsOf(["constructor"])).toHaveLength(listed.length)
  })

  it.each([
    [["ledger"], "Missing required argument: org", "weir ledger acme"],
    [
      ["orgs", "create", "--name", "A", "--admin-key", "x"],
      "Missing required flag: --currency",
      "weir orgs create --id acme",
    ],
    [["keys", "mnt"], 'Unknown subcommand "mnt"', "weir keys mint acme_app"],
    [["chat", "--modl", "x"], "Unrecognized flag: --modl", 'weir chat "Hello, river"'],
    [["usage", "o", "--limit", "many", "--admin-key", "x"], "limit", "weir usage acme"],
  ])("%j: the error names what is wrong, beside an example", async (args, error, example) => {
    const { code, text } = await run(args)
    expect(code).toBe(1)
    expect(text).toContain(error)
    expect(text).toContain(example)
  })
})
