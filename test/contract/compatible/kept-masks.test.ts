/** Kept threads of an organisation whose requests are masked: a value has the same mark in each turn. */
import OpenAI from "openai"
import { expect, it } from "vitest"
import { answering, newTestIds, testCatalogue } from "../../../src/testing/index.ts"
import { useGateway } from "../../support/gateway.ts"
import { vendorBodyOf } from "./vendors.ts"

const ids = newTestIds()
const policies = `
policies:
  - { id: mails, direction: inbound, match: { entities: [email] }, reason: personal_data, action: mask }
`
const gateway = useGateway({
  ids,
  catalogue: (urls) =>
    testCatalogue(urls, ids, policies).replace(
      "name: Test,",
      'name: Test, policies: [mails], keeps: { responses: "30d" },',
    ),
})

const client = () =>
  new OpenAI({
    baseURL: `${gateway().baseUrl}/openai/v1`,
    apiKey: `${gateway().keyId}~${gateway().key}`,
    maxRetries: 0,
  })

const says = (...words: ReadonlyArray<string>) =>
  gateway().vendor.script(answering({ words, inTokens: 100, outTokens: 20 }))
const marks = () => vendorBodyOf(gateway().vendor).match(/<EMAIL_[A-Z2-7]+>/g) ?? []

it("a value of a continued response has its first mark, and comes back", async () => {
  says("ok")
  const first = await client().responses.create({ model: "main", input: "I am ada@example.com" })
  const [mark = ""] = marks()
  expect(mark).toMatch(/^<EMAIL_[A-Z2-7]{5}>$/)
  says("You are ", mark)
  const second = await client().responses.create({
    model: "main",
    input: "Is ada@example.com my address?",
    previous_response_id: first.id,
  })
  expect(marks()).toEqual([mark, mark])
  expect(second.output_text).toBe("You are ada@example.com")
})

it("a request of a conversation that is sent again has its first reply", async () => {
  const { id: conversation } = await client().conversations.create({})
  says("ok")
  const send = () =>
    client().responses.create(
      { model: "main", input: "I am ada@example.com", conversation },
      { headers: { "idempotency-key": "kept-masks" } },
    )
  const first = await send()
  expect(await send()).toMatchObject({ id: first.id, output_text: "ok" })
})

it.each(["route", "item", "stream"])("a summary has values, and later vendors marks: by the %s", async (way) => {
  says("ok")
  await client().responses.create({ model: "main", input: "I am ada@example.com" })
  const [mark = ""] = marks()
  says("The user is ", mark.slice(0, 9), mark.slice(9), ".")
  const input: Array<OpenAI.Responses.ResponseInputItem> = [{ role: "user", content: "I am ada@example.com" }]
  const triggered = { model: "main", input: [...input, { type: "compaction_trigger" as const }] }
  const { output } =
    way === "route"
      ? await client().responses.compact({ model: "main", input })
      : way === "item"
        ? await client().responses.create(triggered)
        : await client().responses.stream(triggered).finalResponse()
  expect(marks().length).toBeGreaterThan(0)
  expect(vendorBodyOf(gateway().vendor)).not.toContain("ada@")
  const item = output.at(-1)
  if (item?.type !== "compaction") throw new Error("there is no summary")
  says("ok")
  await client().responses.create({ model: "main", input: [item, { role: "user", content: "Who?" }] })
  expect(vendorBodyOf(gateway().vendor)).toMatch(/The user is <EMAIL_[A-Z2-7]{5}>\./)
  expect(vendorBodyOf(gateway().vendor)).not.toContain("ada@")
  // The mark is made of the value: the summary has that.
  says("It is ", marks()[0] ?? "")
  const last = await client().responses.create({ model: "main", input: [item, { role: "user", content: "Who?" }] })
  expect(last.output_text).toBe("It is ada@example.com")
})
