/** `GET /v1/usage` and `GET /v1/ledger`. */
import { randomUUID } from "node:crypto"
import { Effect, Schema } from "effect"
import { beforeAll, describe, expect, it } from "vitest"
import { LedgerStatement, UsageStatement } from "../../../src/protocol/control/statement.ts"
import { answering, hello, newTestIds, testCatalogue } from "../../../src/testing/index.ts"
import { errorOf, replyOf, useGateway } from "../../support/gateway.ts"

const tag = randomUUID().slice(0, 8)
const ids = newTestIds()
const email = (name: string) => `${name}.${tag}@example.com`
const gateway = useGateway({
  ids,
  catalogue: (urls) =>
    testCatalogue(
      urls,
      ids,
      `users:\n  - { id: ada_${tag}, email: ${email("ada")}, org: ${ids.org}, role: owner }\n  - { id: cy_${tag}, email: ${email("cy")}, org: ${ids.org}, role: member }`,
    ),
})

let ada = ""
const get = (path: string, token = ada) =>
  gateway().call("GET", path, undefined, {
    "x-svc-key-id": undefined,
    "x-svc-key": undefined,
    authorization: `Bearer ${token}`,
  })
const decodeUsage = Schema.decodeUnknownSync(UsageStatement, { onExcessProperty: "error" })
const decodeLedger = Schema.decodeUnknownSync(LedgerStatement, { onExcessProperty: "error" })
const usage = async (query: string) => decodeUsage(await (await get(`/v1/usage${query}`)).json())
const ledger = async (query: string) => decodeLedger(await (await get(`/v1/ledger${query}`)).json())

const calls: Array<string> = []
beforeAll(async () => {
  ada = (await gateway().logIn(email("ada"))).accessToken
  gateway().vendor.script(answering({ words: ["x"], inTokens: 10, outTokens: 2 }))
  for (let count = 0; count < 7; count++) {
    calls.unshift((await replyOf(await gateway().exchange({ ...hello, meta: { purpose: "chat" } }))).requestId)
  }
})

describe("GET /v1/usage", () => {
  it("has billed calls, newest first, and nothing of how they were served", async () => {
    const { data, nextCursor } = await usage("")
    expect(data.map(({ requestId }) => requestId)).toEqual(calls)
    expect(data[0]).toMatchObject({
      appId: ids.app,
      keyId: ids.key,
      purpose: "chat",
      source: "gateway",
      model: "main",
      inTokens: 10,
      outTokens: 2,
      stop: "end",
      cost: "0.00006",
      currency: "USD",
    })
    expect(nextCursor).toBeNull()
    expect(JSON.stringify(data)).not.toContain("upstream")
  })

  it("pages: every row once, also where rows share their time", async () => {
    await Effect.runPromise(
      gateway().sql`update usage_records set at = date_trunc('second', now()) where org_id = ${ids.org}`,
    )
    const seen: Array<string> = []
    let query = "?limit=3"
    for (let page = 0; page < 3; page++) {
      const { data, nextCursor } = await usage(query)
      seen.push(...data.map(({ requestId }) => requestId))
      expect(nextCursor === null).toBe(page === 2)
      query = `?limit=3&cursor=${nextCursor}`
    }
    expect(seen.length).toBe(7)
    expect(new Set(seen)).toEqual(new Set(calls))
  })
})

describe("GET /v1/ledger", () => {
  it("has every entry once, page by page, and they sum to the balance", async () => {
    let available = 0
    const seen = new Set<string>()
    let cursor: string | null = ""
    while (cursor !== null) {
      const page: LedgerStatement = await ledger(`?limit=5${cursor === "" ? "" : `&cursor=${cursor}`}`)
      for (const { id, account, amount } of page.data) {
        expect(seen.has(id)).toBe(false)
        seen.add(id)
        if (account === "available") available += Number(amount)
      }
      cursor = page.nextCursor
    }
    const { usage: used } = await replyOf(await gateway().exchange(hello))
    expect(available).toBeCloseTo(Number(used.balance) + Number(used.cost), 8)
  })
})

describe("permissions", () => {
  it.each(["/v1/usage", "/v1/ledger"])("%s is for owners and admins", async (path) => {
    const { accessToken } = await gateway().logIn(email("cy"))
    expect(await errorOf(await get(path, accessToken))).toMatchObject({ status: 403, code: "forbidden" })
  })

  it.each(["limit=0", "limit=201", "limit=many", "limit=1.5", "cursor=nonsense", "cursor=WyJ4IiwiIl0", "cursor=W10"])(
    "bad_request: %s",
    async (query) => {
      for (const path of ["/v1/usage", "/v1/ledger"]) {
        expect(await errorOf(await get(`${path}?${query}`))).toMatchObject({ status: 400, code: "bad_request" })
      }
    },
  )
})
