/** Webhooks in the forms of Slack, Teams and PagerDuty, from a catalogue to services that refuse what the real ones refuse. */
import { Effect, Redacted, Schema } from "effect"
import { afterAll, beforeEach, describe, expect, it } from "vitest"
import { WebhookList } from "../../src/protocol/control/webhook.ts"
import { newTestIds, testCatalogue } from "../../src/testing/index.ts"
import { errorOf, eventually, useGateway } from "../support/gateway.ts"
import { routingKey, type Service, startPagerDuty, startSlack, startTeams } from "../support/notification-services.ts"
import { startVault } from "../support/secret-stores.ts"
import { withVariables } from "../support/variables.ts"

const [slack, teams, pagerduty, vault] = await Promise.all([startSlack(), startTeams(), startPagerDuty(), startVault()])
const services: Readonly<Record<string, Service>> = { slack, teams, pagerduty }
vault.secrets.set(
  "secret/data/hooks",
  JSON.stringify({
    slack: `${slack.url}/services/T000/B000/hidden`,
    teams: `${teams.url}/workflows/x/triggers/manual/paths/invoke?sp=run&sig=hidden`,
    pagerduty: routingKey,
  }),
)
afterAll(() => {
  for (const each of [slack, teams, pagerduty, vault]) each.stop()
})

const ids = newTestIds()
const hook = (form: string) => `${form}_${ids.org}`
const events = '["target.down", "target.up", "catalogue.applied"]'
const webhooks = `webhooks:
  - { id: ${hook("slack")}, form: slack, url: "vault:secret/data/hooks#slack", events: ${events} }
  - { id: ${hook("teams")}, form: teams, url: "vault:secret/data/hooks#teams", events: ${events} }
  - { id: ${hook("pagerduty")}, form: pagerduty, url: "${pagerduty.url}/v2/enqueue", secret: "vault:secret/data/hooks#pagerduty", events: ${events} }
`
let urls = { vendor: "", second: "" }
const gateway = useGateway({
  backgroundSpeed: 20,
  ids,
  config: {
    vault: { url: vault.url, namespace: undefined, caFile: undefined, token: Redacted.make("root-token") },
    publicUrl: "https://weir.test",
  },
  catalogue: (given) => {
    urls = given
    return testCatalogue(given, ids, webhooks)
  },
})
beforeEach(() => {
  for (const each of Object.values(services)) each.down = undefined
})

const operator = (method: string, path: string, body?: object) =>
  gateway().call(method, `/v1/admin/${path}`, body, { "x-svc-admin-key": gateway().adminKey })
const test = (form: string) => operator("POST", `webhooks/test?webhook=${hook(form)}`)
const lastOf = async (form: string) => {
  const [row] = await Effect.runPromise(gateway().sql<{
    state: string
    status: number | null
    problem: string | null
    seconds: number
  }>`
    select state, status, problem, extract(epoch from next_at - now())::float8 as seconds from webhook_deliveries
    where webhook = ${hook(form)} and type = 'webhook.test' order by seq desc limit 1`)
  return row
}

describe.each(["slack", "teams", "pagerduty"])("a webhook of the form %s", (form) => {
  const service = () => {
    const found = services[form]
    if (found === undefined) throw new Error("there is no such service")
    return found
  }

  it("is told of a catalogue that was applied, and of a test, in a body that the service accepts", async () => {
    await eventually(() =>
      service().accepted.some((body) => JSON.stringify(body).includes("of the catalogue was applied")),
    )
    expect((await test(form)).status).toBe(200)
    await eventually(async () => (await lastOf(form))?.state === "delivered")
    expect(service().refused).toEqual([])
  })

  it("that asks for time with 429 is tried later", async () => {
    service().down = { status: 429, body: "", headers: { "retry-after": "7200" } }
    await test(form)
    await eventually(async () => (await lastOf(form))?.status === 429)
    expect(await lastOf(form)).toMatchObject({ state: "pending" })
    expect((await lastOf(form))?.seconds).toBeGreaterThan(7100)
    await Effect.runPromise(gateway().sql`update webhook_deliveries set state = 'failed' where state = 'pending'`)
  })

  it("that refuses is not tried again, and that is told without what it said", async () => {
    service().down = { status: 403, body: "hidden words" }
    await test(form)
    await eventually(async () => (await lastOf(form))?.state === "failed")
    expect((await lastOf(form))?.problem).toMatch(/^(Slack|Teams|PagerDuty) refuses it: HTTP 403$/)
  })

  it("that answers with a large page is tried again", async () => {
    service().down = { status: 503, body: "x".repeat(1024 * 1024) }
    await test(form)
    await eventually(async () => (await lastOf(form))?.problem === "the address cannot be reached")
    await Effect.runPromise(gateway().sql`update webhook_deliveries set state = 'failed' where state = 'pending'`)
  })
})

it("operators see the form, and where the address is, not the address", async () => {
  const list = Schema.decodeUnknownSync(WebhookList)(await (await operator("GET", "webhooks")).json())
  const shown = list.webhooks.filter(({ id }) => id.endsWith(ids.org)).map(({ form, url }) => [form, url])
  expect(shown).toEqual([
    ["slack", "vault:secret/data/hooks#slack"],
    ["teams", "vault:secret/data/hooks#teams"],
    ["pagerduty", `${pagerduty.url}/v2/enqueue`],
  ])
  expect(JSON.stringify(list)).not.toContain("hidden")
})

it.each([
  ["slack with a secret", "form: slack, url: env:S, secret: env:S", "secret"],
  ["teams without an address", "form: teams", "url"],
  ["pagerduty without its key", "form: pagerduty", "secret"],
  ["pagerduty with a former key", "form: pagerduty, secret: env:S, formerSecret: env:T", "formerSecret"],
  ["Weir's own without a secret", 'url: "https://w.test"', "secret"],
  ["an unknown one", 'form: discord, url: "https://w.test"', "form"],
])("a catalogue with %s is refused", async (_what, fields, path) => {
  const text = testCatalogue(urls, ids, `webhooks:\n  - { id: w, ${fields}, events: [target.down] }\n`)
  const { detail } = await errorOf(await operator("POST", "catalogue", { text }))
  expect(detail).toMatchObject({ issues: [{ path: `webhooks[0].${path}` }] })
})

it("a routing key that is none, and an address that is not set, are warnings, and problems of their webhooks", async () => {
  const back = withVariables({ WEIR_TEST_NOTHING: undefined })
  vault.secrets.set("secret/data/wrong", '{"key":"short"}')
  const text = testCatalogue(
    urls,
    ids,
    `webhooks:
  - { id: ${hook("a")}, form: pagerduty, secret: "vault:secret/data/wrong#key", events: [target.down] }
  - { id: ${hook("b")}, form: slack, url: "env:WEIR_TEST_NOTHING", events: [target.down] }
`,
  )
  const applied = await (await operator("POST", "catalogue", { text })).text()
  expect(applied).toContain("its secret is no routing key of PagerDuty")
  expect(applied).toContain(`there is no address at env:WEIR_TEST_NOTHING`)
  expect(applied).not.toContain("short")
  const list = Schema.decodeUnknownSync(WebhookList)(await (await operator("GET", "webhooks")).json())
  const problems = list.webhooks.flatMap(({ id, problem }) => (id.endsWith(ids.org) ? [problem] : []))
  expect(problems).toEqual([expect.stringContaining("no routing key"), "its address is not set here"])
  back()
})
