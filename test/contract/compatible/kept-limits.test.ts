/** Limits of callers that continue, keep and run responses. */
import { expect, it } from "vitest"
import { answering, newTestIds, testCatalogue } from "../../../src/testing/index.ts"
import { useGateway } from "../../support/gateway.ts"

const ids = newTestIds()
/** Applications that may send so many requests in a minute. */
const apps = { a: 3, b: 3, c: 3, d: 3 }
const gateway = useGateway({
  ids,
  catalogue: (urls) => {
    const lines = (line: (name: string, rpm: number) => string) =>
      Object.entries(apps)
        .map(([name, rpm]) => `  - ${line(name, rpm)}\n`)
        .join("")
    return testCatalogue(urls, ids)
      .replace("name: Test,", 'name: Test, keeps: { responses: "30d" },')
      .replace(
        "apps:\n",
        `apps:\n${lines((name, rpm) => `{ id: ${ids.app}-${name}, org: ${ids.org}, quota: { rpm: ${rpm} } }`)}`,
      )
      .replace(
        "keys:\n",
        `keys:\n${lines((name) => `{ id: ${ids.key}-${name}, app: ${ids.app}-${name}, secret: "env:WEIR_TEST_KEY" }`)}`,
      )
  },
})

const send = async (app: keyof typeof apps | undefined, method: string, path: string, body?: object) => {
  const key = app === undefined ? ids.key : `${ids.key}-${app}`
  const reply = await gateway().call(method, `/openai/v1/${path}`, body, {
    "x-svc-key-id": undefined,
    "x-svc-key": undefined,
    authorization: `Bearer ${key}~${gateway().key}`,
  })
  const json: Record<string, unknown> = JSON.parse(await reply.text())
  return { status: reply.status, retryAfter: reply.headers.get("retry-after"), json }
}

const limited = { status: 429, retryAfter: expect.any(String), json: { error: { code: "rate_limited" } } }

it("a request that names an unknown response is counted, and none is looked for beyond the rate", async () => {
  const call = { model: "main", input: "Hi", previous_response_id: "resp_unknown" }
  for (let at = 0; at < apps.a; at++) {
    expect(await send("a", "POST", "responses", call)).toMatchObject({
      status: 400,
      json: { error: { code: "previous_response_not_found" } },
    })
  }
  expect(await send("a", "POST", "responses", call)).toMatchObject(limited)
  expect(await send("a", "POST", "responses", { ...call, conversation: "conv_1" })).toMatchObject(limited)
})

it("a request that continues a response is counted once", async () => {
  gateway().vendor.script(answering({ words: ["ok"], inTokens: 10, outTokens: 5 }))
  const first = await send("b", "POST", "responses", { model: "main", input: "Hi" })
  const call = { model: "main", input: "Hi", previous_response_id: first.json["id"] }
  expect(await send("b", "POST", "responses", call)).toMatchObject({ status: 200 })
  expect(await send("b", "POST", "responses", call)).toMatchObject({ status: 200 })
  expect(await send("b", "POST", "responses", call)).toMatchObject(limited)
})
