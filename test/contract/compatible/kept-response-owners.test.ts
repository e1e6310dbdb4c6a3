/** Kept responses are their owner's alone: to everyone else they are ids that never were. */
import { Effect, Schema } from "effect"
import { beforeAll, describe, expect, it } from "vitest"
import { AppTokenResponse } from "../../../src/protocol/control/app-token.ts"
import { answering, newTestIds, testCatalogue } from "../../../src/testing/index.ts"
import { asLogin, nobody } from "../../support/budget-calls.ts"
import { useGateway } from "../../support/gateway.ts"

const ids = newTestIds()
const person = (name: string) => ({ id: `${name}_${ids.org}`, email: `${name}_${ids.org}@example.com` })
const [ada, bo] = [person("ada"), person("bo")]
const other = `other_${ids.app}`
const otherOrg = `other_${ids.org}`
const gateway = useGateway({
  ids,
  catalogue: (urls) =>
    testCatalogue(
      urls,
      ids,
      `users:
  - { id: ${ada.id}, email: ${ada.email}, org: ${ids.org}, role: owner }
  - { id: ${bo.id}, email: ${bo.email}, org: ${ids.org}, role: member }`,
    )
      .replace("name: Test,", 'name: Test, keeps: { responses: "30d" },')
      .replace(
        "\nkeys:\n",
        `\n  - { id: ${other}, org: ${ids.org} }\n  - { id: ${other}_2, org: ${otherOrg} }\nkeys:\n`,
      )
      .replace(
        "\norgs:\n",
        `\norgs:\n  - { id: ${otherOrg}, name: Other, currency: USD, keeps: { responses: 30d }, models: [main] }\n`,
      ),
})

type Headers = Readonly<Record<string, string>>
const owners = new Map<string, Headers>()

const Minted = Schema.Struct({ keyId: Schema.String, key: Schema.String })
const keyOf = async (app: string): Promise<Headers> => {
  const reply = await gateway().call("POST", "/v1/admin/keys", { app }, { "x-svc-admin-key": gateway().adminKey })
  const { keyId, key } = Schema.decodeUnknownSync(Minted)(await reply.json())
  return { authorization: `Bearer ${keyId}~${key}` }
}
const tokenOf = async (endUserId: string): Promise<Headers> => {
  const reply = await gateway().call("POST", "/v1/app-tokens", { endUserId })
  return { authorization: `Bearer ${Schema.decodeUnknownSync(AppTokenResponse)(await reply.json()).token}` }
}
const personal = async (email: string): Promise<Headers> => {
  const login = asLogin((await gateway().logIn(email)).accessToken)
  const reply = await gateway().call("POST", "/v1/tokens", { name: "test", scopes: ["runtime"] }, login)
  const { secret } = Schema.decodeUnknownSync(Schema.Struct({ secret: Schema.String }))(await reply.json())
  return { authorization: `Bearer ${secret}` }
}

beforeAll(async () => {
  owners.set("an application", { authorization: `Bearer ${gateway().keyId}~${gateway().key}` })
  owners.set("an end user", await tokenOf("ada"))
  owners.set("another end user", await tokenOf("bo"))
  owners.set("another application", await keyOf(other))
  owners.set("another organisation", await keyOf(`${other}_2`))
  owners.set("a person", await personal(ada.email))
  owners.set("another person", await personal(bo.email))
  await gateway().call(
    "POST",
    "/v1/admin/topups",
    { org: otherOrg, amount: "10", id: `first_${otherOrg}` },
    { "x-svc-admin-key": gateway().adminKey },
  )
  gateway().vendor.script(answering({ words: ["ok"], inTokens: 10, outTokens: 2 }))
})

const names = [
  "an application",
  "an end user",
  "another end user",
  "another application",
  "another organisation",
  "a person",
  "another person",
]
const call = (name: string, method: string, path: string, body?: object) =>
  gateway().call(method, `/openai/v1/responses${path}`, body, { ...nobody, ...owners.get(name) })
const Made = Schema.Struct({ id: Schema.String, output: Schema.Array(Schema.Struct({ id: Schema.String })) })
const make = async (name: string) => {
  const reply = await call(name, "POST", "", { model: "main", input: "A secret question" })
  expect(reply.status, name).toBe(200)
  return Schema.decodeUnknownSync(Made)(await reply.json())
}
const textOf = async (reply: Response) => ({ status: reply.status, text: await reply.text() })

describe.each(names)("a response of %s", (owner) => {
  it("is found, continued and referenced by its owner, and by nobody else", async () => {
    const { id, output } = await make(owner)
    const item = output[0]?.id ?? ""
    const unknown = `resp_${"a".repeat(16)}${id.slice(-4)}`
    const input = [{ type: "item_reference", id: item }]
    for (const name of names) {
      const isOwner = name === owner
      const asked = [
        ["GET", `/${id}`],
        ["GET", `/${id}?stream=true`],
        ["GET", `/${id}/input_items`],
        ["POST", "", { model: "main", input: "Go on", previous_response_id: id }],
        ["POST", "", { model: "main", input }],
      ] as const
      for (const [method, path, body] of asked) {
        const { status, text } = await textOf(await call(name, method, path, body))
        const refused = body === undefined ? 404 : 400
        expect([name, method, path, status]).toEqual([name, method, path, isOwner ? 200 : refused])
        if (!isOwner) expect(text).not.toContain("secret")
      }
      if (isOwner) continue
      const ofUnknown = await textOf(await call(name, "GET", `/${unknown}`))
      const ofOther = await textOf(await call(name, "GET", `/${id}`))
      expect(ofOther.text.replaceAll(id, unknown).replace(/req_[\w-]+/g, "")).toBe(
        ofUnknown.text.replace(/req_[\w-]+/g, ""),
      )
      expect((await call(name, "POST", `/${id}/cancel`)).status).toBe(404)
      expect((await call(name, "DELETE", `/${id}`)).status).toBe(404)
    }
    expect((await call(owner, "DELETE", `/${id}`)).status).toBe(200)
  })
})

it("nothing of a response can be read in the database", async () => {
  const { id } = await make("an application")
  const [row] = await Effect.runPromise(gateway().sql<{ row: string; content: string }>`
    select r::text as row, encode(content, 'escape') as content from responses r where id = ${id}`)
  expect(row?.row).toContain(id)
  expect(`${row?.row} ${row?.content}`).not.toMatch(/secret|question/)
})
