/** `weir batches` against a running gateway. */
import { Schema } from "effect"
import { expect, it } from "vitest"
import { useCommands } from "../support/use-commands.ts"

const { serve } = useCommands()

const Made = Schema.Struct({ id: Schema.String })

it("lists and cancels batches, and says which one is unknown", async () => {
  const { run, ready } = await serve({})
  const batches = (...args: ReadonlyArray<string>) => run("batches", ...args)
  expect((await batches("list", "org_development")).text).toContain("There are no such batches.")
  const reply = await fetch(`${ready.baseUrl}/anthropic/v1/messages/batches`, {
    method: "POST",
    headers: { "x-api-key": `${ready.keyId}~${ready.key}`, "content-type": "application/json" },
    body: JSON.stringify({
      requests: [
        { custom_id: "a", params: { model: "main", max_tokens: 50, messages: [{ role: "user", content: "river" }] } },
      ],
    }),
  })
  const { id } = Schema.decodeUnknownSync(Made)(await reply.json())
  await expect
    .poll(async () => (await batches("list", "org_development")).text, { timeout: 20_000 })
    .toMatch(new RegExp(`^\\S+ +${id} +app_development +completed +1 +1 +0 +\\S+ USD +\\S+ USD`, "m"))
  expect((await batches("list", "org_development", "--open")).text).toContain("There are no such batches.")
  expect((await batches("cancel", "org_development", id)).text).toBe(
    `${id} is completed: 1 of 1 requests have succeeded\n`,
  )
  expect(await batches("cancel", "org_development", "batch_unheard")).toMatchObject({
    code: 1,
    text: "not_found: There is no such batch\n",
  })
  expect((await batches("list", "nobody")).code).toBe(1)
})
