/**
 * Layered settings over HTTP. Each test names its rule: "GET /v1/config/effective", "GET /v1/config-revisions",
 * "Limits".
 */
import { randomUUID } from "node:crypto"
import { Effect, Schema } from "effect"
import { beforeAll, describe, expect, it } from "vitest"
import {
  ConfigRevisions,
  SettingRows,
  SettingsPreview,
  SettingWritten,
  ShadowReport,
} from "../../src/protocol/control/settings.ts"
import { newTestIds, testCatalogue } from "../../src/testing/index.ts"
import { errorOf, useGateway } from "../support/gateway.ts"

const tag = randomUUID().slice(0, 8)
const ids = newTestIds()
const other = newTestIds()
const at = (name: string) => `${name}.${tag}@example.com`
const catalogue = (urls: { readonly vendor: string; readonly second: string }) =>
  testCatalogue(
    urls,
    ids,
    [
      `deliverableSettings: [editor.*, ${tag}.*]`,
      "users:",
      `  - { id: ada_${tag}, email: ${at("ada")}, org: ${ids.org}, role: owner }`,
      `  - { id: bo_${tag}, email: ${at("bo")}, org: ${ids.org}, role: admin }`,
      `  - { id: cy_${tag}, email: ${at("cy")}, org: ${ids.org}, role: member }`,
      `  - { id: eve_${tag}, email: ${at("eve")}, org: ${other.org}, role: owner }`,
      "teams:",
      `  - { id: core_${tag}, org: ${ids.org}, members: [cy_${tag}] }`,
      `  - { id: gone_${tag}, org: ${ids.org}, members: [cy_${tag}], disabled: true }`,
      `  - { id: theirs_${tag}, org: ${other.org}, members: [eve_${tag}] }`,
    ].join("\n"),
  ).replace("apps:\n", `  - { id: ${other.org}, name: Other, plan: team, currency: USD, models: [main] }\napps:\n`)

const gateway = useGateway({ ids, catalogue })

const nobody = { "x-svc-key-id": undefined, "x-svc-key": undefined }
type Headers = Record<string, string | undefined>
const call = (method: string, path: string, headers: Headers, body?: unknown) =>
  gateway().call(method, path, body, { ...nobody, ...headers })

const tokens: Record<string, string> = {}
beforeAll(async () => {
  for (const name of ["ada", "bo", "cy", "eve"]) tokens[name] = (await gateway().logIn(at(name))).accessToken
})
/** A person, as a member of the organisation by default. */
const as = (name: string, org: string | undefined = ids.org): Headers => ({
  authorization: `Bearer ${tokens[name]}`,
  "x-svc-org": org,
})
const alone = (name: string): Headers => ({ authorization: `Bearer ${tokens[name]}` })
const operator = (): Headers => ({ "x-svc-admin-key": gateway().adminKey })
const orgToken = async (): Promise<Headers> => {
  const { secret } = await Effect.runPromise(
    gateway().accessTokens.issue({ kind: "pat", orgId: ids.org, scopes: ["control"] }),
  )
  return { authorization: `Bearer ${secret}` }
}

const decodePreview = Schema.decodeUnknownSync(SettingsPreview, { onExcessProperty: "error" })
const decodeWritten = Schema.decodeUnknownSync(SettingWritten, { onExcessProperty: "error" })
const decodeRows = Schema.decodeUnknownSync(SettingRows, { onExcessProperty: "error" })
const decodeRevisions = Schema.decodeUnknownSync(ConfigRevisions, { onExcessProperty: "error" })
const decodeReport = Schema.decodeUnknownSync(ShadowReport, { onExcessProperty: "error" })

const put = (scope: string, keyPath: string, who: Headers, value: unknown, more: object = {}, query = "") =>
  call("PUT", `/v1/config/${scope}/${keyPath}${query}`, who, { value, ...more })
const written = async (...args: Parameters<typeof put>) => decodeWritten(await (await put(...args)).json())
const teamQuery = `?team=core_${tag}`
const preview = async (who: Headers, query = "") =>
  decodePreview(await (await call("GET", `/v1/config/effective${query}`, who)).json())
const refusedPreview = async (who: Headers, query = "") =>
  errorOf(await call("GET", `/v1/config/effective${query}`, who))
const revisions = async (who: Headers, query: string) =>
  decodeRevisions(await (await call("GET", `/v1/config-revisions${query}`, who)).json()).data

describe("GET /v1/config/effective", () => {
  /** The part that these tests set: the platform's layer is shared. */
  const mine = async (who: Headers, query = "") => (await preview(who, query)).settings.values[tag]

  beforeAll(async () => {
    await written("platform", `${tag}.layer`, operator(), "platform")
    await written("platform", `${tag}.base`, operator(), { one: 1 })
    await written("org", `${tag}.layer`, as("ada"), "org")
    await written("org", `${tag}.base.two`, as("ada"), 2)
    await written("team", `${tag}.layer`, as("bo"), "team", {}, teamQuery)
    await written("user", `${tag}.layer`, as("cy"), "user")
  })

  it("rule 1: without x-svc-org the chain is platform plus user", async () => {
    const { settings, view } = await preview(alone("cy"))
    expect(settings.values[tag]).toEqual({ layer: "user", base: { one: 1 } })
    expect(view).toMatchObject({ as: "self", scopes: ["platform", "user"], org: null, team: null })
  })

  it("rule 2: with x-svc-org it is platform, org, the caller's own team, and user; membership suffices", async () => {
    const { settings, view } = await preview(as("cy"))
    expect(settings.values[tag]).toEqual({ layer: "user", base: { one: 1, two: 2 } })
    expect(settings.origins).toMatchObject({
      [`${tag}.base.one`]: "platform",
      [`${tag}.base.two`]: "org",
      [`${tag}.layer`]: "user",
    })
    expect(view).toMatchObject({
      as: "self",
      scopes: ["platform", "org", "team", "user"],
      org: ids.org,
      team: `core_${tag}`,
    })
  })

  it("rule 3: an organisation's own token has the org viewpoint", async () => {
    const { settings, view } = await preview(await orgToken())
    expect(settings.values[tag]).toMatchObject({ layer: "org" })
    expect(view).toMatchObject({ as: "org", scopes: ["platform", "org"], org: ids.org, team: null, member: null })
  })

  it("rule 4: as=org, team and member preview a lower viewpoint, for owners and admins", async () => {
    for (const who of [as("ada"), as("bo"), await orgToken()]) {
      expect(await mine(who, "?as=org")).toMatchObject({ layer: "org" })
      expect(await mine(who, `?as=team:core_${tag}`)).toMatchObject({ layer: "team" })
      expect(await mine(who, `?as=member:cy_${tag}`)).toMatchObject({ layer: "user" })
    }
    const { view } = await preview(as("ada"), `?as=member:cy_${tag}`)
    expect(view).toMatchObject({ as: `member:cy_${tag}`, member: `cy_${tag}`, team: `core_${tag}` })
  })

  it("rule 4: a member who sends as gets 403, whatever its value", async () => {
    for (const target of ["org", `team:core_${tag}`, `member:cy_${tag}`, "team:unheard"]) {
      expect(await refusedPreview(as("cy"), `?as=${target}`)).toMatchObject({ status: 403, code: "forbidden" })
    }
  })

  it("rule 5: an unknown target, one of another organisation and a disabled team get the same reply", async () => {
    const told = []
    for (const target of [
      "team:unheard",
      `team:theirs_${tag}`,
      `team:gone_${tag}`,
      "member:unheard",
      `member:eve_${tag}`,
    ]) {
      told.push({ ...(await refusedPreview(as("ada"), `?as=${target}`)), requestId: "" })
    }
    expect(told[0]).toMatchObject({ status: 404, code: "not_found" })
    expect(new Set(told.map((error) => JSON.stringify(error))).size).toBe(1)
  })

  it("rule 6: x-svc-org of which the caller is no member gives 404, like one that is not there", async () => {
    const foreign = await refusedPreview(as("ada", other.org))
    const unknown = await refusedPreview(as("ada", "org_unheard"))
    expect(foreign).toMatchObject({ status: 404, code: "not_found" })
    expect({ ...foreign, requestId: "" }).toEqual({ ...unknown, requestId: "" })
  })

  it.each(["self", "org:x", "team:", "team", "member:a b", "platform", ""])("bad_request: as=%s", async (target) => {
    expect(await refusedPreview(as("ada"), `?as=${encodeURIComponent(target)}`)).toMatchObject({ code: "bad_request" })
  })

  it("bad_request: as without the organisation that it needs", async () => {
    expect(await refusedPreview(alone("ada"), "?as=org")).toMatchObject({ status: 400, code: "bad_request" })
  })

  it("forbidden: a token without the scope control", async () => {
    const { secret } = await Effect.runPromise(
      gateway().accessTokens.issue({ kind: "pat", orgId: ids.org, scopes: ["runtime"] }),
    )
    expect(await refusedPreview({ authorization: `Bearer ${secret}` })).toMatchObject({
      status: 403,
      code: "forbidden",
    })
  })

  it("ignoredByClient: legacy rows of excluded sections and unknown leaves, in lexicographic order", async () => {
    for (const path of ["zebra.x", "permissions.allow"]) {
      await Effect.runPromise(gateway().sql`
        insert into settings (scope, subject, key_path, value, revision) values ('org', ${ids.org}, ${path}, '1', 1)`)
    }
    expect((await preview(as("ada"))).view.ignoredByClient).toEqual(["permissions.allow", "zebra.x"])
    for (const path of ["zebra.x", "permissions.allow"]) {
      expect((await call("DELETE", `/v1/config/org/${path}`, as("ada"))).status).toBe(204)
    }
    expect((await preview(as("ada"))).view.ignoredByClient).toEqual([])
  })
})

describe("PUT and DELETE /v1/config/{scope}/{keyPath}", () => {
  it("a key path may have sixteen names of 64 characters", async () => {
    const path = [
      "site",
      ...Array.from({ length: 15 }, (_, at) => `${tag}${String(at).padStart(2, "0")}`.padEnd(64, "x")),
    ].join(".")
    expect((await put("org", path, as("bo"), 1)).status).toBe(200)
    const deleted = await call("DELETE", `/v1/config/org/${path}`, as("bo"))
    expect(deleted.status).toBe(204)
  })

  it.each(["__proto__", "constructor", "prototype"])("the name %s is refused in paths and values", async (name) => {
    for (const path of [`site.${name}`, `site.${name}.polluted`, `${name}.a`]) {
      expect(await errorOf(await put("org", path, as("bo"), 1))).toMatchObject({ status: 400, code: "bad_request" })
    }
    const value = JSON.parse(`{"${name}":{"polluted":1}}`)
    expect(await errorOf(await put("org", "site.reserved", as("bo"), value))).toMatchObject({ status: 400 })
  })

  it("a value deeper than 32 levels is refused", async () => {
    const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)])
    expect(await errorOf(await put("org", "site.deep", as("bo"), nested(1000)))).toMatchObject({ status: 400 })
  })

  it("list, with revisions; delete once", async () => {
    const path = `${tag}.listed`
    expect(await written("org", path, as("ada"), { a: [1, "x", null] })).toEqual({
      keyPath: path,
      revision: 1,
      wouldDeny: false,
    })
    const rows = decodeRows(await (await call("GET", "/v1/config/org", as("bo"))).json()).data
    expect(rows.find(({ keyPath }) => keyPath === path)).toMatchObject({
      value: { a: [1, "x", null] },
      lock: false,
      enforcement: "enforce",
      revision: 1,
    })
    expect((await call("DELETE", `/v1/config/org/${path}`, as("ada"))).status).toBe(204)
    expect(await errorOf(await call("DELETE", `/v1/config/org/${path}`, as("ada")))).toMatchObject({
      code: "not_found",
    })
    expect((await written("org", path, as("ada"), 1)).revision).toBe(3)
  })

  it("conflict: If-Match with another revision; 0 is for a key that is not there", async () => {
    const path = `${tag}.matched`
    const match = (revision: string) => ({ ...as("ada"), "if-match": revision })
    expect((await put("org", path, match('"0"'), 1)).status).toBe(200)
    expect(await errorOf(await put("org", path, match("0"), 2))).toMatchObject({
      status: 409,
      code: "conflict",
      detail: { revision: 1 },
    })
    expect((await written("org", path, match("1"), 2)).revision).toBe(2)
    expect(await errorOf(await call("DELETE", `/v1/config/org/${path}`, match("1")))).toMatchObject({
      code: "conflict",
    })
    expect(await errorOf(await put("org", path, match("latest"), 3))).toMatchObject({ code: "bad_request" })
  })

  it("50 writes at once with one If-Match: exactly one wins", async () => {
    const who = { ...as("ada"), "if-match": "0" }
    const replies = await Promise.all(Array.from({ length: 50 }, (_, value) => put("org", `${tag}.race`, who, value)))
    expect(replies.filter(({ status }) => status === 200).length).toBe(1)
    expect(replies.filter(({ status }) => status === 409).length).toBe(49)
  })

  it.each([
    ["permissions.allow", 1, "excluded_section"],
    ["hooks", {}, "excluded_section"],
    ["memory.size", 1, "excluded_section"],
    ["zebra", 1, "unknown_leaf"],
    ["editor", { tabs: 2 }, undefined],
    ["editor", 2, "unknown_leaf"],
    ["site.theme", "dark", undefined],
    ["mode.localProviders", ["x"], undefined],
    ["mode", { localProviders: [], other: 1 }, "unknown_leaf"],
  ])("section_not_deliverable: %s = %j gives %s", async (path, value, reason) => {
    const reply = await put("user", path, alone("eve"), value)
    if (reason === undefined) expect(reply.status).toBe(200)
    else
      expect(await errorOf(reply)).toMatchObject({ status: 400, code: "section_not_deliverable", detail: { reason } })
  })

  it("policy_locked: an enforced lock above refuses what is at, within or around it; below it holds in the preview", async () => {
    const path = `${tag}.held.key`
    await written("user", path, as("cy"), "before")
    await written("org", path, as("ada"), "org", { lock: true })
    for (const [scope, who, target, query] of [
      ["user", as("cy"), path, ""],
      ["user", as("cy"), `${path}.inner`, ""],
      ["user", as("cy"), `${tag}.held`, ""],
      ["team", as("bo"), path, teamQuery],
    ] as const) {
      expect(await errorOf(await put(scope, target, who, "mine", {}, query))).toMatchObject({
        status: 409,
        code: "policy_locked",
        detail: { lockedBy: "org" },
      })
    }
    const { settings } = await preview(as("cy"))
    expect(settings.values[tag]).toMatchObject({ held: { key: "org" } })
    expect(settings.locks).toContain(path)
    expect(settings.lockOrigins?.[path]).toBe("org")
    // The locking layer may change it, and values below it may be deleted.
    expect((await put("org", path, as("ada"), "new", { lock: true })).status).toBe(200)
    expect((await call("DELETE", `/v1/config/user/${path}`, as("cy"))).status).toBe(204)
  })

  it("a shadow lock allows the write, records wouldDeny, and is reported; enforced, the same write gives 409", async () => {
    const path = `${tag}.soft`
    await written("org", path, as("ada"), "org", { lock: true, enforcement: "shadow" })
    expect((await written("user", path, as("cy"), "mine")).wouldDeny).toBe(true)
    const { settings } = await preview(as("ada"))
    expect(settings.shadow).toContain(path)
    expect(settings.locks).not.toContain(path)
    const report = decodeReport(await (await call("GET", "/v1/config/shadow-report", as("bo"))).json()).data
    expect(report.find(({ keyPath }) => keyPath === path)).toMatchObject({ writes: 1 })
    expect((await revisions(as("cy"), `?scope=user&keyPath=${path}`))[0]).toMatchObject({ wouldDeny: true, to: "mine" })
    await written("org", path, as("ada"), "org", { lock: true })
    expect(await errorOf(await put("user", path, as("cy"), "mine"))).toMatchObject({ code: "policy_locked" })
    expect(await errorOf(await call("GET", "/v1/config/shadow-report", as("cy")))).toMatchObject({ code: "forbidden" })
  })

  it("limit_exceeded: 64 locks in a layer, and not one more", async () => {
    const paths = Array.from({ length: 64 }, (_, count) => `${tag}.locks.k${count}`)
    const own = as("eve", other.org)
    for (const path of paths) expect((await put("org", path, own, 1, { lock: true })).status).toBe(200)
    expect(await errorOf(await put("org", `${tag}.locks.more`, own, 1, { lock: true }))).toMatchObject({
      status: 400,
      code: "limit_exceeded",
      detail: { limit: 64 },
    })
    expect((await put("org", `${tag}.locks.k0`, own, 2, { lock: true })).status).toBe(200)
    expect((await put("org", `${tag}.locks.more`, own, 1)).status).toBe(200)
  })

  it.each<[string, string, string, Headers, object, number, string]>([
    ["a member writes for the organisation", "org", "site.a", { "x-svc-org": ids.org }, { value: 1 }, 403, "forbidden"],
    [
      "a member writes for a team",
      "team",
      `site.a${teamQuery}`,
      { "x-svc-org": ids.org },
      { value: 1 },
      403,
      "forbidden",
    ],
    ["nobody but operators writes for the platform", "platform", "site.a", {}, { value: 1 }, 401, "admin_key_invalid"],
    ["an unknown scope", "galaxy", "site.a", {}, { value: 1 }, 400, "bad_request"],
    ["an empty name", "user", "site..a", {}, { value: 1 }, 400, "bad_request"],
    ["seventeen names", "user", `site${".a".repeat(16)}`, {}, { value: 1 }, 400, "bad_request"],
    ["no value", "user", "site.a", {}, {}, 400, "bad_request"],
    ["a field too many", "user", "site.a", {}, { value: 1, locked: true }, 400, "bad_request"],
    ["an unknown enforcement", "user", "site.a", {}, { value: 1, enforcement: "maybe" }, 400, "bad_request"],
    ["a member's name with a point", "user", "site.a", {}, { value: { "a.b": 1 } }, 400, "bad_request"],
    ["a lock with nothing below it", "user", "site.a", {}, { value: 1, lock: true }, 400, "bad_request"],
    ["17 KiB", "user", "site.a", {}, { value: "x".repeat(17 * 1024) }, 413, "payload_too_large"],
  ])("%s", async (_what, scope, path, headers, body, status, code) => {
    const who = { ...alone("cy"), ...headers }
    expect(await errorOf(await call("PUT", `/v1/config/${scope}/${path}`, who, body))).toMatchObject({ status, code })
  })

  it("a team is named, and of this organisation", async () => {
    expect(await errorOf(await put("team", "site.a", as("ada"), 1))).toMatchObject({ code: "bad_request" })
    for (const id of [`theirs_${tag}`, "unheard"]) {
      expect(await errorOf(await put("team", "site.a", as("ada"), 1, {}, `?team=${id}`))).toMatchObject({
        status: 404,
        code: "not_found",
      })
    }
  })
})

describe("GET /v1/config-revisions", () => {
  it("exactly one key, newest first, with from, to, locked, enforcement, revision and reason", async () => {
    const path = `${tag}.history`
    await written("org", path, as("ada"), 1, { reason: "first" })
    await written("org", `${path}.more`, as("ada"), 9)
    await written("org", path, await orgToken(), { b: null }, { lock: true, enforcement: "shadow" })
    await call("DELETE", `/v1/config/org/${path}?reason=over`, as("bo"))
    const rows = await revisions(as("bo"), `?scope=org&keyPath=${path}`)
    expect(rows.map(({ at: _at, ...row }) => row)).toEqual([
      { actorType: "user", actorId: `bo_${tag}`, from: { b: null }, to: null, revision: 3, reason: "over" },
      {
        actorType: "org",
        actorId: ids.org,
        from: 1,
        to: { b: null },
        locked: true,
        enforcement: "shadow",
        revision: 2,
      },
      {
        actorType: "user",
        actorId: `ada_${tag}`,
        from: null,
        to: 1,
        locked: false,
        enforcement: "enforce",
        revision: 1,
        reason: "first",
      },
    ])
    for (const { at } of rows) expect(Math.abs(Date.parse(at) - Date.now())).toBeLessThan(60_000)
  })

  it("of the platform, for operators", async () => {
    const path = `${tag}.platform-history`
    await written("platform", path, operator(), 1)
    await written("platform", path, operator(), 2, { reason: "second" })
    const { data } = decodeRevisions(
      await (await call("GET", `/v1/admin/config-revisions?keyPath=${path}`, operator())).json(),
    )
    expect(data).toMatchObject([
      { actorType: "service", actorId: "admin", from: 1, to: 2, revision: 2, reason: "second" },
      { from: null, to: 1, revision: 1 },
    ])
    const refused = await errorOf(await call("GET", "/v1/admin/config-revisions", operator()))
    expect(refused).toMatchObject({ status: 400, detail: { issues: [{ path: "keyPath" }] } })
  })

  it("at most 100 rows", async () => {
    const path = `${tag}.long`
    for (let value = 0; value < 101; value++) await written("user", path, alone("eve"), value)
    const rows = await revisions(alone("eve"), `?scope=user&keyPath=${path}`)
    expect(rows.length).toBe(100)
    expect(rows.at(-1)?.to).toBe(1)
  })

  it("org and team are for owners and admins; user is the caller's own", async () => {
    for (const query of ["?scope=org&keyPath=site.a", `?scope=team&keyPath=site.a&team=core_${tag}`]) {
      const refused = await call("GET", `/v1/config-revisions${query}`, as("cy"))
      expect(await errorOf(refused)).toMatchObject({ status: 403, code: "forbidden" })
    }
    await written("user", "site.own", alone("cy"), "secret")
    expect(await revisions(alone("ada"), "?scope=user&keyPath=site.own")).toEqual([])
  })

  it.each([
    "",
    "?scope=org",
    "?keyPath=site.a",
    "?scope=platform&keyPath=site.a",
    "?scope=org&keyPath=a..b",
    "?scope=team&keyPath=site.a",
  ])("bad_request: %s", async (query) => {
    const refused = await call("GET", `/v1/config-revisions${query}`, as("ada"))
    expect(await errorOf(refused)).toMatchObject({ status: 400, code: "bad_request" })
  })
})
