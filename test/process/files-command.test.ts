/** `weir files` against a running gateway. */
import { Schema } from "effect"
import { expect, it } from "vitest"
import { useCommands } from "../support/use-commands.ts"

const { serve } = useCommands()

const Made = Schema.Struct({ id: Schema.String })

it("lists and erases files, and says which command is wrong", async () => {
  const { run, ready } = await serve({})
  const files = (...args: ReadonlyArray<string>) => run("files", ...args)
  expect((await files("list", "org_development")).text).toContain("There are no such files.")
  const authorization = `Bearer ${ready.keyId}~${ready.key}`
  const make = async () => {
    const form = new FormData()
    form.set("purpose", "user_data")
    form.set("file", new Blob(["by the river"]), "river.txt")
    const reply = await fetch(`${ready.baseUrl}/openai/v1/files`, {
      method: "POST",
      headers: { authorization },
      body: form,
    })
    return Schema.decodeUnknownSync(Made)(await reply.json()).id
  }
  const [first, second, third] = [await make(), await make(), await make()]
  const lines = (await files("list", "org_development")).text.trimEnd().split("\n")
  expect(lines[0]).toMatch(/^CREATED +FILE +PURPOSE +OWNER +BYTES +ERASED AT$/)
  expect(lines).toHaveLength(4)
  expect(lines[1]).toMatch(new RegExp(`^\\S+ +${third} +user_data +app_development +12`))
  expect(lines.join("\n")).not.toContain("river")
  const page = (await files("list", "org_development", "--limit", "2")).text
  const [, cursor = ""] = /^More with --cursor (\S+)$/m.exec(page) ?? []
  expect((await files("list", "org_development", "--cursor", cursor)).text).toContain(first)
  const refusal = "Name one file, or filters, or --all\n"
  for (const args of [[], [first, "--all"], ["--all", "--app", "a"]]) {
    expect(await files("erase", "org_development", ...args)).toMatchObject({ code: 1, text: refusal })
  }
  expect((await files("erase", "org_development", "file-unheard")).text).toBe("not_found: There is no such file\n")
  expect((await files("erase", "org_development", second)).text).toBe("Erased 1 file\n")
  const read = await fetch(`${ready.baseUrl}/openai/v1/files/${second}`, { headers: { authorization } })
  expect(read.status).toBe(404)
  expect((await files("erase", "org_development", "--app", "app_development")).text).toBe("Erased 2 files\n")
  expect((await files("erase", "org_development", "--all")).text).toBe("Erased 0 files\n")
})
