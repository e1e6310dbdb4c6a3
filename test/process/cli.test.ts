/** The commands against a running gateway. */
import { existsSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { hello } from "../../src/testing/index.ts"
import { Browser } from "../support/browser.ts"
import { eventually } from "../support/gateway.ts"
import { useCommands } from "../support/use-commands.ts"
import { useProcesses } from "../support/use-processes.ts"

describe("commands of operators", () => {
  const { serve } = useCommands()

  it("orgs, users, keys, licence, usage: tables for people, JSON for machines, one line for what is refused", async () => {
    const { exchange, run } = await serve()
    await exchange(hello)
    expect((await run("orgs")).text).toMatch(/^ID +NAME +PLAN .*\norg_development +Development +development +99\.\d+/)
    expect((await run("users", "list", "--org", "org_development")).text).toMatch(
      /usr_development +ada@example.com +invited/,
    )
    const minted = await run("keys", "mint", "app_development", "--id", "extra", "--scope", "runtime")
    expect(minted.text).toMatch(/^extra: (wk_\S+) \(printed once; for clients of other APIs: extra~\1\)\n$/)
    expect(await run("keys", "mint", "app_development", "--id", "extra")).toMatchObject({
      code: 1,
      text: "conflict: This id already exists, or the key of this request was rotated\n",
    })
    expect(await run("topup", "org_development", "5", "--id", "a\u0001b")).toMatchObject({
      code: 1,
      text: "id: well-formed Unicode without control or invisible characters is required\n",
    })
    const secret = /^extra has a new secret, which is shown only now:\nwk_\S+\nThe former one works/
    expect((await run("keys", "rotate", "extra", "--grace", "60")).text).toMatch(secret)
    expect((await run("keys", "rotate", "extra", "--grace", "0")).text).toMatch(/\nThe former one works no more\.\n$/)
    expect((await run("keys", "revoke", "extra")).text).toBe("extra is revoked\n")
    const listed = await run("keys", "list", "--json")
    expect(JSON.parse(listed.text).data[0]).toMatchObject({ id: "extra", status: "revoked" })
    expect((await run("licence", "issue", "org_development", "app_development")).text).toMatch(
      /: lic_\S+ \(printed once\)/,
    )
    expect((await run("licence", "list", "org_development")).text).toMatch(/app_development +issued +0/)
    expect((await run("usage", "org_development")).text).toMatch(/app_development +main +\d+ +\d+ +0\.\d+ +USD +end/)
    expect(await run("users", "disable", "usr_unheard")).toMatchObject({ code: 1 })
    expect((await run("budgets", "org_development")).text).toMatch(
      /^ID +SOURCE +SCOPE .*\nplan:development +plan +org +org_development +tokens +day +enforce +\d+ +\d+ /,
    )
    const terms = ["--scope", "key", "--unit", "money", "--period", "day", "--warn-at", "0.8"]
    expect((await run("budgets", "set", "org_development", "daily", ...terms, "--limit", "5")).text).toMatch(
      /^id +daily\nscope +key\nunit +money\nperiod +day\nlimit +5\nwarnAt +\[0\.8\]\n$/,
    )
    expect(await run("budgets", "set", "org_development", "daily", ...terms, "--limit", "5 USD")).toMatchObject({
      code: 1,
      text: 'limit: "5 USD" is not an amount such as 12.50\n',
    })
    expect((await run("budgets", "remove", "org_development", "daily")).text).toBe("daily is removed\n")
    expect(await run("budgets", "remove", "org_development", "daily")).toMatchObject({ code: 1 })
    expect((await run("budgets", "list", "org_development", "--json")).text).toMatch(/^\{\n {2}"budgets": \[/)
    expect(await run("budgets", "org_unheard")).toMatchObject({
      code: 1,
      text: "not_found: The organisation does not exist\n",
    })
    const made = await run("orgs", "create", "--id", "acme", "--name", "Acme", "--currency", "USD", "--model", "main")
    expect(made.text).toMatch(
      /^id +acme\nname +Acme\ncurrency +USD\nmodels +\["main"\]\ndeclared +false\nstatus +active\n/,
    )
    expect((await run("orgs", "disable", "acme")).text).toMatch(/\nstatus +disabled\n/)
    expect((await run("orgs", "update", "acme", "--name", "Ace")).text).toMatch(/\nname +Ace\n/)
    expect((await run("orgs", "--search", "AC")).text).toMatch(/^ID .*\nacme +Ace .* disabled\n$/)
    expect((await run("apps", "create", "--org", "acme", "--id", "acme_app", "--rpm", "5")).text).toContain('{"rpm":5}')
    expect((await run("apps", "--org", "acme")).text).toMatch(/\nacme_app +acme +active +no +5\n$/)
    const rates = ["600 requests per 60s", "200000 uncached tokens per 1h of ma*", "20 at a time"]
    const limits = ["limits", "set", "app", "acme_app", "--model", "ma*", ...rates.flatMap((rate) => ["--rate", rate])]
    expect((await run(...limits)).text).toBe(
      `acme_app may call ma*\n${rates.map((rate) => `acme_app may make ${rate}\n`).join("")}`,
    )
    expect((await run("limits", "set", "app", "acme_app", "--rate", "5 tokens per 800h")).text).toBe(
      'rates.0.per: "800h" is not a duration from 1s to 744h\n',
    )
    const added = await run("users", "add", "bo@example.com", "--org", "acme", "--role", "owner", "--json")
    const { id } = JSON.parse(added.text)
    expect((await run("users", "role", id, "--role", "admin")).text).toBe("conflict: The last owner cannot leave\n")
    expect((await run("teams", "create", "--org", "acme", "--member", id)).text).toContain(id)
    expect((await run("orgs", "delete", "acme")).text).toBe("acme is closed; its books stay\n")
    expect((await run("orgs", "show", "acme")).text).toMatch(/\nstatus +closed\n/)
    expect((await run("orgs", "update", "org_development", "--name", "x")).text).toBe(
      "conflict: The catalogue file declares it; change it there\n",
    )
    expect((await run("--completions", "bash")).text).toContain("licence")
  }, 90_000)
})

describe("weir login", () => {
  const { dir, serve, weir } = useProcesses()

  it("waits for a browser, stores the login in a private file, and logs out", async () => {
    const { output: log, ready } = await serve()
    const env = { SVC_BASE_URL: ready.baseUrl }
    const nobody = weir(["me"], env)
    expect(await nobody.exit).toBe(1)
    expect(nobody.output.text).toContain("run weir login")

    const login = weir(["login"], env)
    await eventually(() => login.output.text.includes("code"), 15_000)
    const browser = new Browser()
    await browser.visit(/http\S+/.exec(login.output.text)?.[0] ?? "")
    await browser.submit("/login", { email: "ada@example.com" })
    await eventually(() => /Your code to log in is \d{6}/.test(log.text))
    await browser.submit("/login/code", { code: /Your code to log in is (\d{6})/.exec(log.text)?.[1] ?? "" })
    await browser.submit("/activate", { decision: "approve" })
    expect(await login.exit).toBe(0)
    expect(login.output.text).toContain("Logged in as ada@example.com")

    const file = join(dir(), ".config", "weir", "credentials.json")
    expect(statSync(file).mode & 0o777).toBe(0o600)
    const me = weir(["me"], env)
    expect(await me.exit).toBe(0)
    expect(me.output.text).toMatch(/^ada@example.com \(usr_development\)\n.*\norg_development +Development +owner/)
    const logout = weir(["logout"], env)
    expect(await logout.exit).toBe(0)
    expect(readFileSync(file, "utf8")).not.toContain("rt_")
    expect(existsSync(`${file}.lock`)).toBe(false)
  }, 90_000)
})
