/** Sharing of kept replies: nobody gets a reply that was made for another scope. */
import { Schema } from "effect"
import { describe, expect, it } from "vitest"
import { hello, newTestIds } from "../../src/testing/index.ts"
import { replyOf, useGateway } from "../support/gateway.ts"

const ids = newTestIds()
const shares = ["org", "app", "person"] as const
/** 48 organisations with two applications and a person each. */
const orgs = Array.from({ length: 48 }, (_, at) => ({
  org: at === 0 ? ids.org : `org_${ids.org}_${at}`,
  share: shares[at % shares.length] ?? "org",
  apps: [0, 1].map((app) => ({
    app: at === 0 && app === 0 ? ids.app : `app_${ids.org}_${at}_${app}`,
    key: at === 0 && app === 0 ? ids.key : `key_${ids.org}_${at}_${app}`,
  })),
  email: `${ids.org}_${at}@example.com`,
}))

const list = (rows: ReadonlyArray<object>) => JSON.stringify(rows)
const catalogue = ({ vendor }: { readonly vendor: string }): string => `
version: 1
vendors: [{ id: openai, dialect: openai-chat, baseUrl: "${vendor}/v1" }]
models: [{ handle: main, replyCache: { ttl: 10m }, targets: [{ vendor: openai, model: a }] }]
prices: [{ model: main, currency: USD, input: "3", output: "15", from: 2026-01-01 }]
orgs: ${list(orgs.map(({ org, share }) => ({ id: org, name: org, currency: "USD", models: ["main"], replyCache: { share } })))}
apps: ${list(orgs.flatMap(({ org, apps }) => apps.map(({ app }) => ({ id: app, org }))))}
keys: ${list(orgs.flatMap(({ apps }) => apps.map(({ app, key }) => ({ id: key, app, secret: "env:WEIR_TEST_KEY" }))))}
users: ${list(orgs.map(({ org, email }) => ({ id: `usr_${org}`, email, org, role: "member" })))}
topups: ${list(orgs.map(({ org }) => ({ id: `top_${org}`, org, amount: "100" })))}
`

let made = 0
/** Each call of the vendor has an answer of its own. */
const gateway = useGateway({
  ids,
  // A slow test machine must not make misses.
  config: { replyCacheWaitMs: 30_000 },
  catalogue,
  script: async (call) => {
    const answer = `answer ${made++}`
    await call.wait(Math.random() * 20)
    call.head(200, { "content-type": "application/json" })
    call.end(
      JSON.stringify({
        choices: [{ index: 0, message: { role: "assistant", content: answer }, finish_reason: "stop" }],
        usage: { prompt_tokens: 10, completion_tokens: 5 },
      }),
    )
  },
})

const nobody = { "x-svc-key-id": undefined, "x-svc-key": undefined }
const decodeToken = Schema.decodeUnknownSync(Schema.Struct({ token: Schema.String }))
const decodeSecret = Schema.decodeUnknownSync(Schema.Struct({ secret: Schema.String }))

type Headers = Readonly<Record<string, string | undefined>>

/** Everybody who calls, with the scope that they may share. */
const everybody = async (): Promise<ReadonlyArray<{ readonly scope: string; readonly headers: Headers }>> => {
  const callers: Array<{ scope: string; headers: Headers }> = []
  for (const { org, share, apps, email } of orgs) {
    const scopeOf = (app: string, who: string) => ({ org, app: `${org}/${app}`, person: `${org}/${app}/${who}` })[share]
    for (const { app, key } of apps) {
      const asApp = { "x-svc-key-id": key, "x-svc-key": gateway().key }
      callers.push({ scope: scopeOf(app, ""), headers: asApp })
      for (const endUserId of ["ada", "bob"]) {
        const minted = await gateway().call("POST", "/v1/app-tokens", { endUserId }, asApp)
        const headers = { ...nobody, "x-svc-app-token": decodeToken(await minted.json()).token }
        callers.push({ scope: scopeOf(app, endUserId), headers })
      }
    }
    const { accessToken } = await gateway().logIn(email)
    const asPerson = { ...nobody, authorization: `Bearer ${accessToken}` }
    const token = await gateway().call("POST", "/v1/tokens", { name: "cache", scopes: ["runtime"] }, asPerson)
    const headers = { ...nobody, authorization: `Bearer ${decodeSecret(await token.json()).secret}` }
    callers.push({ scope: scopeOf("nobody's", email), headers })
  }
  return callers
}

describe("48 organisations with applications, end users and people", () => {
  it("who ask the same at random get what was made in their own scope, once", async () => {
    const callers = await everybody()
    const scopes = new Set(callers.map(({ scope }) => scope))
    const turns = [...callers, ...callers, ...callers].sort(() => Math.random() - 0.5)
    const scopesOf = new Map<string, Set<string>>()
    const next = async (): Promise<void> => {
      for (let turn = turns.pop(); turn !== undefined; turn = turns.pop()) {
        const reply = await replyOf(await gateway().call("POST", "/t1/exchange", hello, turn.headers))
        const [block] = reply.blocks
        const text = block?.t === "text" ? block.v : ""
        scopesOf.set(text, (scopesOf.get(text) ?? new Set()).add(turn.scope))
      }
    }
    await Promise.all(Array.from({ length: 32 }, next))
    expect([...scopesOf].filter(([, of]) => of.size !== 1)).toEqual([])
    expect([scopesOf.size, made]).toEqual([scopes.size, scopes.size])
  })
})
