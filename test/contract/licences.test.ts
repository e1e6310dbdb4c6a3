/**
 * Licences over HTTP. Each test names its rule: "POST /v1/org-licenses/activate", the state table "Licence",
 * "Authentication".
 */
import { randomUUID } from "node:crypto"
import { Effect, Schema } from "effect"
import { beforeAll, describe, expect, it } from "vitest"
import { LicenseIssued, LicenseList, LicenseReply } from "../../src/protocol/control/licence.ts"
import { answering, hello, newTestIds, testCatalogue } from "../../src/testing/index.ts"
import { errorOf, eventually, useGateway } from "../support/gateway.ts"

const tag = randomUUID().slice(0, 8)
const ids = newTestIds()
const other = newTestIds()
const at = (name: string) => `${name}.${tag}@example.com`
const gateway = useGateway({
  backgroundSpeed: 10,
  ids,
  catalogue: (urls) =>
    testCatalogue(
      urls,
      ids,
      [
        "users:",
        `  - { id: ada_${tag}, email: ${at("ada")}, org: ${ids.org}, role: owner }`,
        `  - { id: cy_${tag}, email: ${at("cy")}, org: ${ids.org}, role: member }`,
        `  - { id: eve_${tag}, email: ${at("eve")}, org: ${other.org}, role: owner }`,
      ].join("\n"),
    )
      .replace("apps:\n", `  - { id: ${other.org}, name: Other, plan: team, currency: USD, models: [main] }\napps:\n`)
      .replace(
        `  - { id: ${ids.app}, org: ${ids.org} }`,
        `  - { id: ${ids.app}, org: ${ids.org}, licenceRequired: true }`,
      ),
})

const tokens: Record<string, string> = {}
beforeAll(async () => {
  for (const name of ["ada", "cy", "eve"]) tokens[name] = (await gateway().logIn(at(name))).accessToken
})
const call = (method: string, path: string, token: string | undefined, body?: unknown) =>
  gateway().call(method, path, body, {
    "x-svc-key-id": undefined,
    "x-svc-key": undefined,
    authorization: `Bearer ${token}`,
  })
const decodeIssued = Schema.decodeUnknownSync(LicenseIssued, { onExcessProperty: "error" })
const decodeReply = Schema.decodeUnknownSync(LicenseReply, { onExcessProperty: "error" })
const decodeList = Schema.decodeUnknownSync(LicenseList, { onExcessProperty: "error" })

const issue = async (more: object = {}) =>
  decodeIssued(await (await call("POST", "/v1/org-licenses", tokens["ada"], { appId: ids.app, ...more })).json())
const activate = (name: string, code: string) => call("POST", "/v1/org-licenses/activate", tokens[name], { code })
const end = (name: string, id: string, how: "revoke" | "suspend") =>
  call("POST", `/v1/org-licenses/${id}/${how}`, tokens[name])
const exchanged = async () => (await gateway().exchange(hello)).status
const actionsOn = async (id: string) => {
  const rows = await Effect.runPromise(
    gateway().sql<{ action: string }>`
      select action from audit_log where detail ->> 'licence' = ${id} order by seq`,
  )
  return rows.map(({ action }) => action)
}

describe("an application that needs a licence", () => {
  it("license_required, until one is active; suspended or revoked it is required again, and the epoch grows", async () => {
    gateway().vendor.script(answering({ words: ["x"], inTokens: 1, outTokens: 1 }))
    expect(await errorOf(await gateway().exchange(hello))).toMatchObject({ status: 403, code: "license_required" })
    const { license, code } = await issue()
    expect(license).toMatchObject({
      appId: ids.app,
      epoch: 0,
      status: "issued",
      principalType: "member",
      sourceType: "approval",
    })
    expect(await exchanged()).toBe(403)
    expect(decodeReply(await (await activate("cy", code)).json()).license).toEqual({ ...license, status: "active" })
    await eventually(async () => (await exchanged()) === 200)
    expect(decodeReply(await (await end("ada", license.id, "suspend")).json()).license).toEqual({
      ...license,
      status: "suspended",
      epoch: 1,
    })
    await eventually(async () => (await exchanged()) === 403)
    expect(decodeReply(await (await end("ada", license.id, "revoke")).json()).license).toMatchObject({
      status: "revoked",
      epoch: 2,
    })
    expect(await actionsOn(license.id)).toEqual([
      "license.issued",
      "license.activated",
      "license.suspended",
      "license.revoked",
    ])
    const listed = decodeList(await (await call("GET", "/v1/org-licenses", tokens["ada"])).json()).data
    expect(listed.find(({ id }) => id === license.id)).toMatchObject({ status: "revoked", epoch: 2 })
  })
})

describe("a code", () => {
  const expectInvalid = async (response: Response) =>
    expect(await errorOf(response)).toMatchObject({ status: 400, code: "validation_failed" })

  it("validation_failed: redeemed, expired, unknown, revoked, of another organisation; the reply is the same", async () => {
    const redeemed = await issue()
    expect((await activate("cy", redeemed.code)).status).toBe(200)
    const expired = await issue()
    await Effect.runPromise(gateway().sql`update licences set code_expires_at = now() where id = ${expired.license.id}`)
    const revoked = await issue()
    await end("ada", revoked.license.id, "revoke")
    for (const code of [redeemed.code, expired.code, revoked.code, "lic_unheard"])
      await expectInvalid(await activate("cy", code))
    const foreign = await issue()
    await expectInvalid(await activate("eve", foreign.code))
    expect((await activate("ada", foreign.code)).status).toBe(200)
  })

  it("50 at once: exactly one wins, with one audit record", async () => {
    const { license, code } = await issue()
    const replies = await Promise.all(
      Array.from({ length: 50 }, (_, count) => activate(count % 2 ? "ada" : "cy", code)),
    )
    expect(replies.filter(({ status }) => status === 200).length).toBe(1)
    expect(await actionsOn(license.id)).toEqual(["license.issued", "license.activated"])
  })

  it("one transaction: an activation whose audit cannot be written has no effect", async () => {
    const { license, code } = await issue()
    const run = (statement: string) => Effect.runPromise(gateway().sql.unsafe(statement))
    await run(
      `alter table audit_log add constraint unlicensed check (detail ->> 'licence' <> '${license.id}') not valid`,
    )
    expect((await activate("cy", code)).status).toBe(500)
    await run("alter table audit_log drop constraint unlicensed")
    expect((await activate("cy", code)).status).toBe(200)
  })

  it("is kept as a hash", async () => {
    const { license, code } = await issue()
    const [row] = await Effect.runPromise(
      gateway().sql<{ row: string }>`select l::text as row from licences l where id = ${license.id}`,
    )
    expect(row?.row).not.toContain(code.slice(4, 20))
  })
})

describe("permissions", () => {
  it("forbidden: members issue, list, suspend and revoke nothing; tokens activate nothing", async () => {
    const { license, code } = await issue()
    const { secret } = await Effect.runPromise(
      gateway().accessTokens.issue({ kind: "pat", orgId: ids.org, scopes: ["control"] }),
    )
    for (const refused of [
      await call("POST", "/v1/org-licenses", tokens["cy"], { appId: ids.app }),
      await call("GET", "/v1/org-licenses", tokens["cy"]),
      await end("cy", license.id, "suspend"),
      await end("cy", license.id, "revoke"),
      await call("POST", "/v1/org-licenses/activate", secret, { code }),
    ]) {
      expect(await errorOf(refused)).toMatchObject({ status: 403, code: "forbidden" })
    }
  })

  it("not_found: another organisation's licence and application, and none", async () => {
    const { license } = await issue()
    for (const refused of [
      await end("eve", license.id, "revoke"),
      await end("ada", "lc_unheard", "revoke"),
      await call("POST", "/v1/org-licenses", tokens["eve"], { appId: ids.app }),
      await call("POST", "/v1/org-licenses", tokens["ada"], { appId: "app_unheard" }),
    ]) {
      expect(await errorOf(refused)).toMatchObject({ status: 404, code: "not_found" })
    }
  })

  it("conflict: what is not active is not suspended, what is revoked is not revoked again", async () => {
    const { license } = await issue()
    expect(await errorOf(await end("ada", license.id, "suspend"))).toMatchObject({
      status: 409,
      code: "conflict",
      detail: { status: "issued" },
    })
    await end("ada", license.id, "revoke")
    expect(await errorOf(await end("ada", license.id, "revoke"))).toMatchObject({ code: "conflict" })
  })

  it.each([
    ["no application", {}],
    ["no days", { appId: "a", codeExpiresInDays: 0 }],
    ["367 days", { appId: "a", codeExpiresInDays: 367 }],
    ["a field too many", { appId: "a", epoch: 7 }],
  ])("bad_request: %s", async (_what, body) => {
    expect(await errorOf(await call("POST", "/v1/org-licenses", tokens["ada"], body))).toMatchObject({
      status: 400,
      code: "bad_request",
    })
  })
})
