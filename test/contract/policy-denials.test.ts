/** Events of denials while the database refuses some of them: none is lost, and none keeps others from being sent. */
import { Effect } from "effect"
import { expect, it } from "vitest"
import { hello, newTestIds, testCatalogue } from "../../src/testing/index.ts"
import { eventually, useGateway } from "../support/gateway.ts"

const ids = newTestIds()
const policies = `policies:
  - { id: refused, direction: inbound, match: { keywords: [alpha] }, reason: leak, forAll: true }
  - { id: sent, direction: inbound, match: { keywords: [beta] }, reason: leak, forAll: true }
# Nobody answers there: its deliveries stay.
webhooks: [{ id: hook, url: "http://127.0.0.1:9/", secret: "env:WEIR_TEST_WEBHOOK", events: [policy.denied] }]
`
const gateway = useGateway({ ids, backgroundSpeed: 10, catalogue: (urls) => testCatalogue(urls, ids, policies) })

const run = (statement: string) => Effect.runPromise(gateway().sql.unsafe(statement))
const deny = async (word: string) => {
  const said = { ...hello, thread: [{ role: "user", blocks: [{ t: "text", v: word }] }] }
  expect((await gateway().exchange(said)).status).toBe(403)
}
const delivered = async () => {
  const rows = await Effect.runPromise(gateway().sql<{ policy: string; count: number }>`
    select data ->> 'policy' as policy, (data ->> 'count')::int as count from webhook_deliveries order by at`)
  return rows.map(({ policy, count }) => `${policy} ${count}`)
}

it("sends the second of two that are due though the first fails, and the first with all of its denials later", async () => {
  await run("alter table events add constraint refuses check (subject is distinct from 'refused')")
  await Promise.all([deny("alpha"), deny("beta")])
  await deny("alpha")
  await eventually(async () => (await delivered()).includes("sent 1"))
  await deny("alpha")
  // It is tried again meanwhile, and its denials add up.
  await new Promise((resolve) => setTimeout(resolve, 500))
  expect(await delivered()).toEqual(["sent 1"])
  await run("alter table events drop constraint refuses")
  await eventually(async () => (await delivered()).length === 2)
  expect(await delivered()).toContain("refused 3")
})
