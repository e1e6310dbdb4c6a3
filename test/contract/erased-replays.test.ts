/** The replay of a call whose response is erased: it is erased with it, and the call is never made nor billed again. */
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { answering, newTestIds, testCatalogue } from "../../src/testing/index.ts"
import { balanceOf, useGateway } from "../support/gateway.ts"

const ids = newTestIds()
const gateway = useGateway({
  ids,
  catalogue: (urls) => testCatalogue(urls, ids).replace("name: Test,", 'name: Test, keeps: { responses: "30d" },'),
})

const bearer = () => ({ authorization: `Bearer ${gateway().keyId}~${gateway().key}` })

let calls = 0

/** A call that is kept, and the same call again. */
const made = async (path: "/openai/v1/responses" | "/t1/exchange") => {
  gateway().vendor.script(answering({ words: ["A secret reply"], inTokens: 10, outTokens: 2 }))
  const key = `erased-${ids.key}-${++calls}`
  const isOpenai = path === "/openai/v1/responses"
  const send = () =>
    isOpenai
      ? gateway().call("POST", path, { model: "main", input: "A secret" }, { ...bearer(), "idempotency-key": key })
      : gateway().call("POST", path, {
          model: "main",
          thread: [{ role: "user", blocks: [{ t: "text", v: "A secret" }] }],
          keep: true,
          meta: { requestId: key },
        })
  const first = await send()
  expect(first.status).toBe(200)
  await first.text()
  const requestId = first.headers.get("x-svc-request-id") ?? ""
  const [row] = await Effect.runPromise(
    gateway().sql<{ id: string }>`
      select id from responses where org_id = ${ids.org} and substr(id, 6, 16) = ${requestId.slice("req_".length)}`,
  )
  expect((await send()).headers.get("x-svc-idempotent-replay")).toBe("1")
  return { id: row?.id ?? "", send, requestId }
}

const erase = (query: string) =>
  gateway().call("DELETE", `/v1/admin/orgs/${ids.org}/responses${query}`, undefined, {
    "x-svc-admin-key": gateway().adminKey,
  })

const rowsOf = (requestId: string) =>
  Effect.runPromise(gateway().sql`select from replies where org_id = ${ids.org} and ref = ${requestId}`)

describe.each(["/openai/v1/responses", "/t1/exchange"] as const)("the replay of a call of %s", (path) => {
  it.each<readonly [string, (id: string) => Promise<unknown>]>([
    ["its owner", (id) => gateway().call("DELETE", `/openai/v1/responses/${id}`, undefined, bearer())],
    ["an operator, by its id", (id) => erase(`/${id}`)],
    ["an operator, by its application", () => erase(`?app=${ids.app}`)],
    ["an operator, with all others", () => erase("?all=true")],
    [
      "time",
      async (id) => {
        const { sql, retention } = gateway()
        await Effect.runPromise(sql`update responses set erase_at = now() - interval '1 second' where id = ${id}`)
        await Effect.runPromise(retention.run)
      },
    ],
  ])("is gone when its response is erased by %s", async (_, remove) => {
    const { id, send, requestId } = await made(path)
    const [before, asked] = [await balanceOf(gateway()), gateway().vendor.calls.length]
    await remove(id)
    const again = await send()
    const text = await again.text()
    expect(again.status).toBe(409)
    expect(text).toContain("cannot be replayed")
    expect(text).not.toContain("secret")
    expect(await rowsOf(requestId)).toEqual([])
    expect([await balanceOf(gateway()), gateway().vendor.calls.length]).toEqual([before, asked])
  })
})
