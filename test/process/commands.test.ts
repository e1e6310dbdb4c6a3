/** The table of commands: the listed commands are the loaded ones, and errors come with an example. */
import { spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import { describe, expect, it } from "vitest"
import { commandsOf } from "../../src/cli/commands.ts"
import { knownVendors } from "../../src/setup/known-vendors.ts"
import { useCommands } from "../support/use-commands.ts"
import { withVariables } from "../support/variables.ts"

const noKeys = Object.fromEntries(knownVendors.flatMap(({ variables }) => variables.map((name) => [name, ""])))

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
    "apps",
    "exports",
    "jobs",
    "keys",
    "models",
    "orgs",
    "responses",
    "teams",
    "tools",
    "users",
    "vendors",
    "webhooks",
  ])("%s has the verb list", async (command) => {
    const { text } = await run([command, "list", "--admin-key", "x", "--unheard"])
    expect(text).toContain("Unrecognized flag: --unheard")
    expect(text).not.toContain("Unknown subcommand")
  })

  it("say that a key cannot be sent, without the key", async () => {
    const { code, text } = await run(["orgs", "--url", "http://127.0.0.1:9", "--admin-key", "ключ"])
    expect([code, text]).toEqual([1, "The key has a character that no HTTP header can have\n"])
  })

  it.runIf(existsSync("/dev/full"))("fail if their output cannot be written, and not if its reader has enough", () => {
    const start = `${process.execPath} src/main.ts config`
    const into = (rest: string) => spawnSync("sh", ["-c", `${start} ${rest}`], { encoding: "utf8" })
    expect(into("> /dev/full")).toMatchObject({ status: 1, stderr: expect.stringContaining("could not be written") })
    expect(into("| true; exit $?").stderr).toBe("")
  })

  it.each([
    [["ledger"], "org is missing: The organisation's id", "For example: weir ledger acme"],
    [
      ["orgs", "create", "--name", "A", "--admin-key", "x"],
      "--currency is missing: e.g. USD",
      "For example: weir orgs create --id acme",
    ],
    [["orgs", "list"], "--admin-key is missing: The admin key (SVC_ADMIN_KEY)", "it is printed at start"],
    [["chat", "--\u001b[31m"], "Unrecognized flag: --\ufffd[31m", "weir chat"],
    [["keys", "mnt"], 'Unknown subcommand "mnt"', "weir keys create acme_app"],
    [["chat", "--modl", "x"], "Unrecognized flag: --modl", 'weir chat "Hello, river"'],
    [["usage", "o", "--limit", "many", "--admin-key", "x"], "limit", "weir usage acme"],
  ])("%j: the error names what is wrong, beside an example", async (args, error, example) => {
    const { code, text } = await run(args)
    expect(code).toBe(1)
    expect(text).toContain(error)
    expect(text).toContain(example)
  })
})

describe("the verbs", () => {
  const verbs = ["list", "show", "create", "update", "remove", "revoke"]

  it.each(["keys", "licence", "users", "orgs", "apps", "teams", "budgets", "models"])(
    "%s: list, show, create, update, remove and revoke, and what has no such name",
    async (name) => {
      const others = ["issue", "mint", "add", "delete", "role"]
      const [command] = await commandsOf([name])
      const found = command?.subcommands.flatMap(({ commands }) => commands.map((each) => each.name)) ?? []
      expect(found.some((each) => verbs.includes(each))).toBe(true)
      expect(found.filter((each) => others.includes(each))).toEqual([])
    },
  )

  it("have former names that work", async () => {
    expect((await run(["keys", "mint"])).text).toContain("weir keys create acme_app")
    expect((await run(["users", "add", "--admin-key", "x"])).text).toContain("weir users create")
    expect((await run(["orgs", "delete", "--admin-key", "x"])).text).toContain("weir orgs remove")
    expect((await run(["orgs", "create", "--help"])).text).toContain("weir orgs create")
  })
})

describe("with --json", () => {
  const { serve } = useCommands()

  it.each([
    [["orgs"]],
    [["apps"]],
    [["teams"]],
    [["users", "list"]],
    [["keys", "list"]],
    [["licence", "list", "org_development"]],
    [["ledger", "org_development"]],
    [["budgets", "org_development"]],
    [["usage", "org_development"]],
    [["jobs", "list"]],
    [["exports", "list"]],
    [["webhooks", "list"]],
    [["webhooks", "deliveries"]],
    [["models"]],
    [["models", "list"]],
    [["vendors"]],
    [["vendors", "list"]],
    [["vendors", "keys", "org_development"]],
    [["revisions", "list"]],
    [["config"]],
  ])("%j prints JSON alone", async (args) => {
    const gateway = await serve()
    const { code, stdout, stderr } = await gateway.run(...args, "--json")
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    expect(typeof JSON.parse(stdout)).toBe("object")
  })

  it("models and vendors are those of the catalogue in force", async () => {
    const gateway = await serve()
    expect((await gateway.run("models")).text).toMatch(/^HANDLE +KIND .*\nmain +chat +128000 +\d+ +simulated\/\S+/)
    expect((await gateway.run("vendors")).text).toMatch(/^VENDOR +DIALECT .*\nsimulated +\S+ +http\S+ +main /)
  })

  it.each([
    [["orgs", "show", "nobody"], "The organisation does not exist"],
    [["keys", "create", "nothing"], "The application does not exist"],
  ])("%j says what does not exist", async (args, message) => {
    const gateway = await serve()
    expect(await gateway.run(...args)).toMatchObject({ code: 1, text: `not_found: ${message}\n` })
  })

  it("an error is JSON on the standard error, and nothing is on the standard output", async () => {
    const gateway = await serve()
    const refused = await gateway.run("ledger", "org_unheard", "--json")
    expect(refused).toMatchObject({ code: 1, stdout: "" })
    expect(JSON.parse(refused.stderr)).toMatchObject({ error: { code: "not_found", message: expect.any(String) } })
    const unreached = await run(["orgs", "--json", "--admin-key", "x", "--url", "http://127.0.0.1:1"])
    expect(unreached).toMatchObject({ code: 1, stdout: "" })
    expect(JSON.parse(unreached.stderr).error.message).toContain("could not be reached")
    const wrong = await run(["ledger", "--json"])
    expect(wrong).toMatchObject({ code: 1, stdout: "" })
    expect(JSON.parse(wrong.stderr)).toEqual({
      error: {
        message: "org is missing: The organisation's id\nFor example: weir ledger acme",
      },
    })
  })
})

describe("a start with the simulated vendor", () => {
  const { serve } = useCommands()
  const line = "OPENAI_API_KEY is set: npm run weir -- init, then SVC_CATALOGUE=weir.yaml npm start"

  it.each([
    ["sk-mine", 1],
    ["", 0],
  ])("names the way to a vendor whose key is set: %j", async (key, lines) => {
    const back = withVariables({ ...noKeys, OPENAI_API_KEY: key })
    const { output } = await serve()
    back()
    expect(output.text.split("\n").filter((each) => each.endsWith("npm start"))).toEqual(lines === 0 ? [] : [line])
  })
})
