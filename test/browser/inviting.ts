/** An organisation that invites. */
import { Effect } from "effect"
import { expect } from "vitest"
import type { TestGateway } from "../../src/testing/gateway.ts"

/** Makes the organisation `Acme`, which invites an address. @param id the organisation's */
export const inviteTo = async ({ call, accessTokens, adminKey }: TestGateway, id: string, email: string) => {
  const org = { id, name: "Acme", currency: "USD", models: ["main"] }
  expect((await call("POST", "/v1/admin/orgs", org, { "x-svc-admin-key": adminKey })).status).toBe(200)
  const { secret } = await Effect.runPromise(accessTokens.issue({ kind: "pat", orgId: id, scopes: ["control"] }))
  const asOrg = { "x-svc-key-id": undefined, "x-svc-key": undefined, authorization: `Bearer ${secret}` }
  expect((await call("POST", "/v1/members", { email, role: "member" }, asOrg)).status).toBe(200)
}
