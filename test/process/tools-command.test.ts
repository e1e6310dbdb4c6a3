/** `weir tools` against a running gateway, and its server of tools for development. */
import { expect, it } from "vitest"
import { useCommands } from "../support/use-commands.ts"

const { serve } = useCommands()

it("lists servers and tools, tries one, and says what is wrong", async () => {
  const { run, ready } = await serve({})
  const tools = (...args: ReadonlyArray<string>) => run("tools", ...args)
  const list = (await tools("list")).text
  expect(list).toMatch(/^SERVER +KIND +ADDRESS +VERSION +TOOLS +HELD BACK +PROBLEM\n/)
  expect(list).toMatch(/^river +url +http:\/\/127\.0\.0\.1:\d+\/tools +2026-07-28 +2 +0$/m)
  const shown = (await tools("show", "river")).text
  expect(shown).toMatch(/^river__level +offered +USD 1000 calls +The level of a river today/m)
  expect(shown).toMatch(/^river__words +offered +USD 500 calls, 10 words, at most 0.01 a call/m)
  expect(await tools("show", "lake")).toMatchObject({ code: 1, text: "not_found: There is no such server of tools\n" })
  expect((await tools("changes")).text).toBe("No tool waits for agreement.\n")
  expect((await tools("agree", "river")).text).toBe("No tool waits for agreement.\n")
  expect(await tools("agree", "river", "level")).toMatchObject({ code: 1, text: expect.stringContaining("conflict: ") })
  expect((await tools("refresh", "river")).text).toContain("fresh lists of river")
  await run("apps", "create", "--org", "org_development", "--id", "app_narrow")
  const narrow = (...tools: ReadonlyArray<string>) =>
    run("limits", "set", "app", "app_narrow", ...tools.flatMap((tool) => ["--tool", tool]))
  expect((await narrow("river__level", "lake*")).text).toBe("app_narrow may call river__level, lake*\n")
  expect((await narrow("none")).text).toBe("app_narrow may call no tools\n")
  expect((await narrow()).text).toBe("Name a --model, a --tool or a --rate\n")
  const key = ["--key-id", ready.keyId, "--key", ready.key]
  const call = (...args: ReadonlyArray<string>) => tools("try", "river", ...args, ...key)
  expect(await call("words", "--arguments", '{"text": "Hello river"}')).toMatchObject({
    code: 0,
    stdout: "2 words\n",
    stderr: "Cost: 0.00052 USD\n",
  })
  expect(await call("nothing")).toMatchObject({ code: 1, text: "Unknown tool: nothing\n" })
  expect(await call("level", "--arguments", "[")).toMatchObject({ text: "--arguments is no JSON object\n" })
})
