/** Owners and admins manage their organisation. */
import { randomUUID } from "node:crypto"
import { connect } from "node:net"
import { Effect, Redacted, Schema } from "effect"
import { Headers } from "effect/http"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { mailOriginOf } from "../../src/http/request.ts"
import { KeyList, KeyMinted } from "../../src/protocol/control/admin-directory.ts"
import { Me } from "../../src/protocol/control/login.ts"
import {
  AppList,
  AppRecord,
  InvitedMember,
  MemberList,
  MemberRecord,
  TeamRecord,
} from "../../src/protocol/control/tenants.ts"
import { hello, newTestIds, testCatalogue } from "../../src/testing/index.ts"
import { errorOf, eventually, useGateway } from "../support/gateway.ts"
import { startSmtp } from "../support/smtp.ts"

const tag = randomUUID().slice(0, 8)
const ids = newTestIds()
const at = (name: string) => `${name}.${tag}@example.com`
const mail = await startSmtp()
const gateway = useGateway(() => ({
  ids,
  config: { smtpUrl: Redacted.make(mail.url), authPerMinute: 1_000_000, publicHosts: ["weir.example.com"] },
  catalogue: (urls) => testCatalogue(urls, ids),
}))

/** An organisation made by an operator, with its first owner. */
let orgId = ""
let ownerId = ""
const admin = (path: string, body: object) =>
  gateway().call("POST", `/v1/admin/${path}`, body, { "x-svc-admin-key": gateway().adminKey })
const decode = async <S extends Schema.ConstraintDecoder<unknown>>(schema: S, response: Response) =>
  Schema.decodeUnknownSync(schema, { onExcessProperty: "error" })(await response.json())

const tokens = new Map<string, string>()
const as = async (who: string, method: string, path: string, body?: unknown, headers = {}) => {
  const known = tokens.get(who) ?? (await gateway().logIn(at(who))).accessToken
  tokens.set(who, known)
  const own = { "x-svc-key-id": undefined, "x-svc-key": undefined, authorization: `Bearer ${known}` }
  return gateway().call(method, `/v1/${path}`, body, { ...own, ...headers })
}
const invited = async (by: string, who: string, role: string) =>
  decode(InvitedMember, await as(by, "POST", "members", { email: at(who), role }))

afterAll(() => mail.stop())
beforeAll(async () => {
  const made: unknown = await (await admin("orgs", { name: "Acme", currency: "USD", models: ["main"] })).json()
  orgId = Schema.decodeUnknownSync(Schema.Struct({ id: Schema.String }))(made).id
  const first = await decode(MemberRecord, await admin("members", { org: orgId, email: at("ada"), role: "owner" }))
  ownerId = first.id
  await admin("topups", { id: `t-${orgId}`, org: orgId, amount: "5" })
})

describe("an invitation", () => {
  it("leads to a host of ours, whatever Host the request has", async () => {
    const { hostname, port } = new URL(gateway().baseUrl)
    await as("ada", "GET", "me")
    const body = JSON.stringify({ email: at("hosted"), role: "member" })
    const head = [
      "POST /v1/members HTTP/1.1",
      "host: login.evil.example",
      "x-forwarded-host: login.evil.example",
      "forwarded: host=login.evil.example",
      "connection: close",
      `authorization: Bearer ${tokens.get("ada")}`,
      `content-length: ${body.length}`,
    ]
    const socket = connect(Number(port), hostname)
    socket.write(`${head.join("\r\n")}\r\n\r\n${body}`)
    expect((await socket.setEncoding("utf8").toArray()).join("")).toContain('"mailed":true')
    await eventually(() => mail.lettersTo(at("hosted")).length === 1)
    const [letter] = mail.lettersTo(at("hosted"))
    expect(letter?.text).toContain("http://weir.example.com/login")
    expect(letter?.text).not.toContain("evil")
    const { data } = await decode(MemberList, await as("ada", "GET", "members?search=hosted"))
    expect((await as("ada", "DELETE", `members/${data[0]?.id}`)).status).toBe(204)
  })

  it.each([
    ["a URL", { env: "production", publicUrl: "https://a.example", publicHosts: [] }, "https://a.example"],
    ["hosts", { env: "production", publicUrl: undefined, publicHosts: ["b.example"] }, "https://b.example"],
    ["nothing", { env: "production", publicUrl: undefined, publicHosts: [] }, undefined],
    ["nothing, in development", { env: "development", publicUrl: undefined, publicHosts: [] }, "https://evil.example"],
  ])("where %s is configured", (_name, config, origin) => {
    const tls = { cert: "", key: "" }
    expect(
      mailOriginOf({ ...config, tls, basePath: "" }, { headers: Headers.fromInput({ host: "evil.example" }) }),
    ).toBe(origin)
  })
})

describe("members", () => {
  it("are invited by mail, log in, and leave by themselves", async () => {
    const bo = await invited("ada", "bo", "admin")
    expect(bo).toMatchObject({ org: orgId, email: at("bo"), role: "admin", mailed: true, declared: false })
    await eventually(() => mail.lettersTo(at("bo")).some(({ text }) => text.includes("/login")))
    expect(await (await as("bo", "GET", "me")).json()).toMatchObject({ orgs: [{ id: orgId, role: "admin" }] })
    const cy = await invited("bo", "cy", "member")
    expect((await as("cy", "GET", "members")).status).toBe(403)
    expect((await as("cy", "DELETE", `members/${bo.id}`)).status).toBe(403)
    expect((await as("cy", "DELETE", `members/${cy.id}`)).status).toBe(204)
    expect((await as("cy", "GET", "usage")).status).toBe(404)
    const { data } = await decode(MemberList, await as("ada", "GET", "members?status=active"))
    expect(data.map(({ email }) => email).sort()).toEqual([at("ada"), at("bo")])
  })

  it("owners alone make, change and remove owners; the last one stays", async () => {
    await invited("ada", "dee", "admin")
    expect((await as("dee", "POST", "members", { email: at("x"), role: "owner" })).status).toBe(403)
    expect((await as("dee", "PATCH", `members/${ownerId}`, { role: "member" })).status).toBe(403)
    expect((await as("dee", "DELETE", `members/${ownerId}`)).status).toBe(403)
    expect((await errorOf(await as("ada", "DELETE", `members/${ownerId}`))).message).toBe("The last owner cannot leave")
    expect((await errorOf(await as("ada", "PATCH", `members/${ownerId}`, { role: "admin" }))).code).toBe("conflict")
    const eve = await invited("ada", "eve", "owner")
    // One of two owners who leave at the same time stays.
    const left = await Promise.all([
      as("ada", "DELETE", `members/${ownerId}`),
      as("eve", "DELETE", `members/${eve.id}`),
    ])
    expect(left.map(({ status }) => status).sort()).toEqual([204, 409])
    const stays = left[0]?.status === 204 ? "eve" : "ada"
    // A person who left and is invited again consents by a new login.
    const again = stays === "eve" ? "ada" : "eve"
    await invited(stays, again, "owner")
    expect((await as(again, "GET", "members")).status).toBe(404)
    tokens.delete(again)
    expect((await as(again, "GET", "members")).status).toBe(200)
  })

  it("who are disabled can do nothing in the organisation", async () => {
    const fay = await invited("ada", "fay", "admin")
    expect((await as("fay", "GET", "members")).status).toBe(200)
    await as("ada", "PATCH", `members/${fay.id}`, { status: "disabled" })
    expect((await as("fay", "GET", "members")).status).toBe(404)
  })

  it.each([
    ["an id", { id: "mine", email: "a@b.c", role: "member" }, "id"],
    ["an organisation", { org: "other", email: "a@b.c", role: "member" }, "org"],
    ["no address", { email: "nobody", role: "member" }, "email"],
    ["an unknown role", { email: "a@b.c", role: "god" }, "role"],
  ])("with %s are refused", async (_what, body, path) => {
    expect(await errorOf(await as("ada", "POST", "members", body))).toMatchObject({
      code: "bad_request",
      detail: { issues: [{ path }] },
    })
  })
})

describe("teams, applications and keys", () => {
  it("are made, changed and deleted; a key works until it is revoked", async () => {
    const gus = await invited("ada", "gus", "member")
    const team = await decode(TeamRecord, await as("ada", "POST", "teams", { members: [gus.id] }))
    expect(await (await as("gus", "GET", "me")).json()).toMatchObject({ orgs: [{ id: orgId, teams: [team.id] }] })
    await as("ada", "PATCH", `teams/${team.id}`, { members: [] })
    expect(await (await as("gus", "GET", "me")).json()).toMatchObject({ orgs: [{ id: orgId, teams: [] }] })
    expect((await as("ada", "DELETE", `teams/${team.id}`)).status).toBe(204)
    const app = await decode(AppRecord, await as("ada", "POST", "apps", { quota: { rpm: 5 } }))
    const { keyId, key } = await decode(KeyMinted, await as("ada", "POST", "keys", { app: app.id }))
    const call = () => gateway().exchange(hello, { headers: { "x-svc-key-id": keyId, "x-svc-key": key } })
    expect((await call()).status).toBe(200)
    const { data } = await decode(KeyList, await as("ada", "GET", "keys"))
    expect(data.map(({ id }) => id)).toEqual([keyId])
    expect((await as("ada", "POST", `keys/${keyId}/revoke`)).status).toBe(204)
    expect((await call()).status).toBe(401)
    expect((await as("ada", "DELETE", `apps/${app.id}`)).status).toBe(204)
  })

  it("have names for people, by which they are found; a name is changed and removed", async () => {
    const app = await decode(AppRecord, await as("ada", "POST", "apps", { name: "Website" }))
    const { keyId } = await decode(KeyMinted, await as("ada", "POST", "keys", { app: app.id, name: "Laptop" }))
    const team = await decode(TeamRecord, await as("ada", "POST", "teams", { name: "Research", members: [] }))
    expect([app.name, team.name]).toEqual(["Website", "Research"])
    const found = await decode(AppList, await as("ada", "GET", "apps?search=webs"))
    expect(found.data.map(({ id }) => id)).toEqual([app.id])
    for (const search of ["lap", "websi", keyId, app.id]) {
      const { data } = await decode(KeyList, await as("ada", "GET", `keys?search=${search}`))
      expect(data, search).toMatchObject([{ id: keyId, name: "Laptop", appName: "Website" }])
    }
    expect((await decode(KeyList, await as("ada", "GET", "keys?search=desk"))).data).toEqual([])
    const renamed = await decode(TeamRecord, await as("ada", "PATCH", `teams/${team.id}`, { name: "Lab" }))
    expect(renamed.name).toBe("Lab")
    const without = await decode(AppRecord, await as("ada", "PATCH", `apps/${app.id}`, { name: null }))
    expect(without).not.toHaveProperty("name")
    for (const name of ["a\u200bb", "", "  ", "\ud800x", "x".repeat(300)]) {
      const replies = [
        await as("ada", "POST", "apps", { name }),
        await as("ada", "POST", "keys", { app: app.id, name }),
        await as("ada", "POST", "teams", { name, members: [] }),
        await as("ada", "PATCH", `apps/${app.id}`, { name }),
        await admin("keys", { app: app.id, name }),
        await admin("orgs", { name, currency: "USD" }),
      ]
      for (const reply of replies)
        expect(await errorOf(reply), JSON.stringify(name)).toMatchObject({ code: "bad_request" })
    }
    for (const path of [`teams/${team.id}`, `apps/${app.id}`]) await as("ada", "DELETE", path)
  })

  it("of another organisation are not found", async () => {
    expect((await as("ada", "PATCH", `apps/${ids.app}`, { ipAllow: [] })).status).toBe(404)
    expect((await as("ada", "DELETE", `apps/${ids.app}`)).status).toBe(404)
    expect((await as("ada", "POST", "keys", { app: ids.app })).status).toBe(404)
    expect((await as("ada", "POST", `keys/${ids.key}/revoke`)).status).toBe(404)
    expect((await gateway().exchange(hello)).status).toBe(200)
  })

  it("are audited with who did it", async () => {
    const rows = await Effect.runPromise(gateway().sql<{ action: string; actor_type: string }>`
      select distinct action, actor_type from audit_log where org_id = ${orgId} order by 1, 2`)
    for (const action of ["tenant.created", "tenant.updated", "tenant.deleted", "key.minted", "key.revoked"]) {
      expect(rows).toContainEqual({ action, actor_type: "user" })
    }
  })
})

describe("consent", () => {
  /** A second organisation, whose owner invites. */
  let otherId = ""
  const ofOther = { "x-svc-org": "" }
  beforeAll(async () => {
    const made: unknown = await (await admin("orgs", { name: "Other", currency: "USD", models: ["main"] })).json()
    otherId = Schema.decodeUnknownSync(Schema.Struct({ id: Schema.String }))(made).id
    ofOther["x-svc-org"] = otherId
    await admin("members", { org: otherId, email: at("olga"), role: "owner" })
  })
  const me = async (who: string) => decode(Me, await as(who, "GET", "me"))
  const orgsOf = async (who: string) => (await me(who)).orgs.map(({ id }) => id)
  const answer = (who: string, verb: "accept" | "decline", org = otherId) =>
    as(who, "POST", `invitations/${org}/${verb}`)
  const actionsOn = async (member: string) =>
    (
      await Effect.runPromise(gateway().sql<{ action: string; actor_type: string }>`
        select action, actor_type from audit_log
        where org_id = ${otherId} and detail ->> 'member' = ${member} order by seq`)
    ).map(({ action, actor_type }) => `${actor_type} ${action}`)

  it("a member of one organisation whom another invites keeps all as it is, until they accept", async () => {
    expect((await as("ada", "GET", "members")).status).toBe(200)
    const open = await invited("olga", "ada", "admin")
    expect(open).toMatchObject({ invited: true, status: "active", mailed: true })
    expect((await as("ada", "GET", "members")).status).toBe(200)
    expect(await me("ada")).toMatchObject({
      orgs: [{ id: orgId }],
      invitations: [{ id: otherId, name: "Other", role: "admin" }],
    })
    // Another login is no consent.
    tokens.delete("ada")
    expect((await as("ada", "GET", "members")).status).toBe(200)
    expect(await orgsOf("ada")).toEqual([orgId])
    // The reply is the same for all who are no members.
    for (const path of ["members", "usage", "budgets", "tokens", "plan", "config/effective"]) {
      expect((await as("ada", "GET", path, undefined, ofOther)).status).toBe(404)
    }
    expect((await as("ada", "POST", "tokens", { name: "t", scopes: ["runtime"] }, ofOther)).status).toBe(404)
    expect((await answer("ada", "accept")).status).toBe(204)
    expect((await orgsOf("ada")).sort()).toEqual([orgId, otherId].sort())
    expect((await me("ada")).invitations).toBeUndefined()
    expect((await as("ada", "GET", "members", undefined, ofOther)).status).toBe(200)
    expect((await as("ada", "GET", "members")).status).toBe(400)
    expect((await answer("ada", "accept")).status).toBe(404)
    expect(await actionsOn(open.id)).toEqual(["user invitation.accepted"])
    expect((await as("ada", "DELETE", `members/${open.id}`, undefined, ofOther)).status).toBe(204)
  })

  it("logging in with a mailed code accepts the only invitation of a person who belongs nowhere", async () => {
    const email = at("lou")
    await invited("olga", "lou", "member")
    await eventually(() => mail.lettersTo(email).length === 1)
    const anonymous = { "x-svc-key-id": undefined, "x-svc-key": undefined }
    expect((await gateway().call("POST", "/v1/auth/otp/request", { email }, anonymous)).status).toBe(202)
    const code = await mail.codeFor(email, 2)
    const reply: unknown = await (
      await gateway().call("POST", "/v1/auth/otp/verify", { email, code }, anonymous)
    ).json()
    const { accessToken } = Schema.decodeUnknownSync(Schema.Struct({ accessToken: Schema.String }))(reply)
    tokens.set("lou", accessToken)
    expect(await orgsOf("lou")).toEqual([otherId])
    expect((await me("lou")).invitations).toBeUndefined()
  })

  it("who declines is invited no more, and may be invited again", async () => {
    const first = await invited("olga", "ada", "member")
    expect((await answer("ada", "decline")).status).toBe(204)
    expect((await me("ada")).invitations).toBeUndefined()
    expect((await answer("ada", "accept")).status).toBe(404)
    expect(await actionsOn(first.id)).toEqual(["user invitation.declined"])
    expect((await invited("olga", "ada", "member")).id).not.toBe(first.id)
  })

  it("an open invitation is listed as such, is withdrawn by an admin, and cannot be accepted for the person", async () => {
    const { data } = await decode(MemberList, await as("olga", "GET", "members?status=active"))
    expect(data.map(({ email, invited }) => [email, invited]).sort()).toEqual([
      [at("ada"), true],
      [at("lou"), undefined],
      [at("olga"), undefined],
    ])
    const { id = "" } = data.find(({ email }) => email === at("ada")) ?? {}
    for (const body of [{ status: "disabled" }, { status: "active" }, { role: "owner" }]) {
      expect(await (await as("olga", "PATCH", `members/${id}`, body)).json()).toMatchObject({ invited: true })
    }
    expect(await orgsOf("ada")).toEqual([orgId])
    expect((await as("olga", "PATCH", `members/${id}`, { invited: false })).status).toBe(400)
    expect((await as("olga", "POST", "members", { email: at("x"), role: "member", invited: false })).status).toBe(400)
    expect((await as("olga", "DELETE", `members/${id}`)).status).toBe(204)
    expect((await answer("ada", "accept")).status).toBe(404)
  })

  it("an owner who has not accepted is none: the last owner stays", async () => {
    const open = await invited("olga", "ada", "owner")
    const { data } = await decode(MemberList, await as("olga", "GET", "members?search=olga"))
    const own = data[0]?.id
    expect((await errorOf(await as("olga", "DELETE", `members/${own}`))).message).toBe("The last owner cannot leave")
    expect((await as("olga", "DELETE", `members/${open.id}`)).status).toBe(204)
  })

  it("of several invitations of a person who belongs nowhere none is accepted by logging in", async () => {
    await invited("olga", "ina", "member")
    await invited("ada", "ina", "member")
    expect(await me("ina")).toMatchObject({ orgs: [], invitations: [orgId, otherId].sort().map((id) => ({ id })) })
    expect((await answer("ina", "accept", orgId)).status).toBe(204)
    expect(await orgsOf("ina")).toEqual([orgId])
  })

  it("who is disabled somewhere belongs there: logging in accepts nothing", async () => {
    const jo = await invited("ada", "jo", "member")
    expect(await orgsOf("jo")).toEqual([orgId])
    await as("ada", "PATCH", `members/${jo.id}`, { status: "disabled" })
    await invited("olga", "jo", "member")
    tokens.delete("jo")
    expect(await orgsOf("jo")).toEqual([])
    await as("ada", "PATCH", `members/${jo.id}`, { status: "active" })
    expect((await as("jo", "GET", "budgets")).status).toBe(200)
  })

  it("tokens answer no invitations; whom an operator adds is a member at once", async () => {
    const made: unknown = await (
      await as("jo", "POST", "tokens", { name: "t", scopes: ["control"], expiresInDays: 1 })
    ).json()
    const { secret } = Schema.decodeUnknownSync(Schema.Struct({ secret: Schema.String }))(made)
    const bearer = { authorization: `Bearer ${secret}` }
    expect((await as("jo", "POST", `invitations/${otherId}/accept`, undefined, bearer)).status).toBe(403)
    expect(await decode(Me, await as("jo", "GET", "me", undefined, bearer))).not.toHaveProperty("invitations")
    const kim = await decode(MemberRecord, await admin("members", { org: otherId, email: at("kim"), role: "member" }))
    expect(kim).not.toHaveProperty("invited")
    expect(await orgsOf("kim")).toEqual([otherId])
  })
})

describe("invitations of an organisation", () => {
  it("are a hundred in an hour at most", async () => {
    const made = await Promise.all(
      Array.from({ length: 110 }, (_, at) => as("ada", "POST", "members", { email: `bad${at}`, role: "member" })),
    )
    const statuses = made.map(({ status }) => status)
    expect(new Set(statuses)).toEqual(new Set([400, 429]))
  })
})
