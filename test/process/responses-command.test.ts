/** `weir responses` against a running gateway. */
import { Schema } from "effect"
import { expect, it } from "vitest"
import { useCommands } from "../support/use-commands.ts"

const { serve } = useCommands()

const Made = Schema.Struct({ id: Schema.String })

it("lists and erases responses, and says which command is wrong", async () => {
  const { run, ready } = await serve({})
  const responses = (...args: ReadonlyArray<string>) => run("responses", ...args)
  expect((await responses("list", "org_development")).text).toContain("Nothing is kept.")

  const make = async () => {
    const reply = await fetch(`${ready.baseUrl}/openai/v1/responses`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${ready.keyId}~${ready.key}` },
      body: JSON.stringify({ model: "main", input: "Hello, river" }),
    })
    return Schema.decodeUnknownSync(Made)(await reply.json()).id
  }
  const [first, second, third] = [await make(), await make(), await make()]
  const lines = (await responses("list", "org_development")).text.trimEnd().split("\n")
  expect(lines[0]).toMatch(/^CREATED +ID +MODEL +STATE +OWNER +BYTES +ERASED AT$/)
  expect(lines).toHaveLength(4)
  expect(lines[1]).toMatch(new RegExp(`^\\S+ +${third} +main +completed +app_development +\\d+ +\\S+$`))
  expect(lines.join("\n")).not.toContain("river")
  const page = (await responses("list", "org_development", "--limit", "2")).text
  const [, cursor = ""] = /^More with --cursor (\S+)$/m.exec(page) ?? []
  expect((await responses("list", "org_development", "--cursor", cursor)).text).toContain(first)
  expect((await responses("list", "org_development", "--app", "other")).text).toBe(
    "not_found: There is no application other\n",
  )
  expect((await responses("list", "org_development", "--end-user", "ada")).text).toContain("fits these filters")

  const refusal = "Name one response or conversation, or filters, or --all\n"
  for (const args of [[], [first, "--all"], ["--all", "--app", "a"]]) {
    expect(await responses("erase", "org_development", ...args)).toMatchObject({ code: 1, text: refusal })
  }
  expect((await responses("erase", "org_development", "--before", "then")).text).toContain("a date or an instant")
  expect((await responses("erase", "org_unheard", "--all")).text).toBe("not_found: The organisation does not exist\n")
  expect((await responses("erase", "org_development", "resp_unheard")).text).toBe(
    "not_found: There is no such response or conversation\n",
  )
  expect((await responses("erase", "org_development", second)).text).toBe("Erased 1 response and 0 conversations\n")
  const conversation = Schema.decodeUnknownSync(Made)(
    await (
      await fetch(`${ready.baseUrl}/openai/v1/conversations`, {
        method: "POST",
        headers: { authorization: `Bearer ${ready.keyId}~${ready.key}` },
      })
    ).json(),
  ).id
  expect((await responses("list", "org_development")).text).toMatch(new RegExp(`${conversation} +- +conversation `))
  expect((await responses("erase", "org_development", "--app", "app_development")).text).toBe(
    "Erased 2 responses and 1 conversation\n",
  )
  expect((await responses("erase", "org_development", "--all")).text).toBe("Erased nothing: nothing of this is kept\n")
})
