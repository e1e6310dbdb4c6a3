/** Callers: end-user tokens, device keys, personal access tokens. */
import { Effect, Redacted, Schema } from "effect"
import { SignJWT } from "jose"
import { beforeAll, describe, expect, it } from "vitest"
import { AppTokenResponse } from "../../src/protocol/control/app-token.ts"
import { startGateway, type TestGateway } from "../../src/testing/gateway.ts"
import { answering, hello, newTestIds, readEvents, testCatalogue } from "../../src/testing/index.ts"
import { errorOf, eventually, lastUsage, replyOf, useGateway } from "../support/gateway.ts"

type Headers = Record<string, string | undefined>
const nobody: Headers = { "x-svc-key-id": undefined, "x-svc-key": undefined }

const ids = newTestIds()
const plan =
  (of: typeof ids, more: string, rest = "") =>
  (urls: { readonly vendor: string; readonly second: string }) =>
    testCatalogue(urls, of, rest).replace("{ id: team, perMinute: 100000 }", `{ id: team, perMinute: 100000, ${more} }`)
const gateway = useGateway({
  ids,
  config: { masterKey: Redacted.make("master") },
  catalogue: plan(
    ids,
    "endUserPerMinute: 3",
    `users:\n  - { id: usr_${ids.org}, email: a@example.com, org: ${ids.org}, role: member }\n  - { id: usr_admin_${ids.org}, email: b@example.com, org: ${ids.org}, role: admin }\n`,
  ),
})

const decodeToken = Schema.decodeUnknownSync(AppTokenResponse, { onExcessProperty: "error" })
const mint = (body: unknown, headers: Headers = {}, to: TestGateway = gateway()) =>
  to.call("POST", "/v1/app-tokens", body, headers)
const tokenOf = async (endUserId: string, more: object = {}, to: TestGateway = gateway()) =>
  decodeToken(await (await mint({ endUserId, ...more }, {}, to)).json()).token
const asEndUser = (token: string): Headers => ({ ...nobody, "x-svc-app-token": token })
const exchange = (headers: Headers, more: object = {}) =>
  gateway().call("POST", "/t1/exchange", { ...hello, ...more }, headers)

beforeAll(() => gateway().vendor.script(answering({ words: ["x"], inTokens: 10, outTokens: 1 })))

describe("POST /v1/app-tokens", () => {
  it("gives a token, its end, the application and the end user", async () => {
    const response = await mint({ endUserId: "ada@example.com" })
    expect(response.headers.get("cache-control")).toBe("no-store")
    const { expiresAt, ...rest } = decodeToken(await response.json())
    expect(rest).toMatchObject({ appId: ids.app, endUserId: "ada@example.com" })
    expect(Math.abs(Date.parse(expiresAt) - Date.now() - 3_600_000)).toBeLessThan(5000)
  })

  it.each([
    ["1 character", { endUserId: "!" }],
    ["128 characters", { endUserId: "~".repeat(128) }],
    ["60 seconds", { endUserId: "a", ttlSeconds: 60 }],
    ["86400 seconds", { endUserId: "a", ttlSeconds: 86_400 }],
  ])("passes at its limit: %s", async (_limit, body) => {
    expect((await mint(body)).status).toBe(200)
  })

  it.each([
    ["no characters", { endUserId: "" }],
    ["129 characters", { endUserId: "a".repeat(129) }],
    ["a space", { endUserId: "a b" }],
    ["0x7F", { endUserId: "a\u007f" }],
    ["no ASCII", { endUserId: "é" }],
    ["59 seconds", { endUserId: "a", ttlSeconds: 59 }],
    ["86401 seconds", { endUserId: "a", ttlSeconds: 86_401 }],
    ["half a second", { endUserId: "a", ttlSeconds: 60.5 }],
    ["an unknown field", { endUserId: "a", scope: "x" }],
    ["nothing", {}],
  ])("one past it is bad_request: %s", async (_limit, body) => {
    expect(await errorOf(await mint(body))).toMatchObject({ status: 400, code: "bad_request" })
  })

  it("only a key pair mints: an end user's token and a personal token do not", async () => {
    const { secret } = await Effect.runPromise(
      gateway().accessTokens.issue({ kind: "pat", orgId: ids.org, scopes: ["runtime", "control"] }),
    )
    for (const headers of [asEndUser(await tokenOf("ada")), { ...nobody, authorization: `Bearer ${secret}` }]) {
      expect(await errorOf(await mint({ endUserId: "bob" }, headers))).toMatchObject({
        status: 401,
        code: "app_key_invalid",
      })
    }
  })

  it("test tier: exactly 100 distinct end users a month, also under concurrency; known ones are still admitted", async () => {
    const of = newTestIds()
    const program = Effect.gen(function* () {
      const to = yield* startGateway({ ids: of, catalogue: plan(of, "testTier: true") })
      const statuses = yield* Effect.promise(() =>
        Promise.all(
          Array.from({ length: 130 }, async (_, at) => (await mint({ endUserId: `user-${at}` }, {}, to)).status),
        ),
      )
      expect(statuses.filter((status) => status === 200).length).toBe(100)
      const known = statuses.indexOf(200)
      expect((yield* Effect.promise(() => mint({ endUserId: `user-${known}` }, {}, to))).status).toBe(200)
      return yield* Effect.promise(async () => errorOf(await mint({ endUserId: "late" }, {}, to)))
    })
    expect(await Effect.runPromise(Effect.scoped(program))).toMatchObject({
      status: 429,
      code: "plan_end_users_exceeded",
      detail: { limit: 100, used: 100 },
    })
  }, 30_000)
})

describe("an end user's token", () => {
  it("opens exchanges, whose usage is attributed to the key that minted it", async () => {
    const headers = asEndUser(await tokenOf("carol"))
    await replyOf(await exchange(headers))
    expect(await lastUsage(gateway())).toMatchObject({ key_id: ids.key })
    const events = await readEvents(await exchange(headers, { stream: true }))
    expect(events.at(-1)?.event).toBe("t.close")
  })

  it("rate_limited with detail.scope endUser: a bucket for each end user", async () => {
    const dave = asEndUser(await tokenOf("dave"))
    for (let at = 0; at < 3; at++) expect((await exchange(dave)).status).toBe(200)
    const limited = await exchange(dave)
    expect(Number(limited.headers.get("retry-after"))).toBeGreaterThan(0)
    expect(await errorOf(limited)).toMatchObject({ status: 429, code: "rate_limited", detail: { scope: "endUser" } })
    expect((await exchange(asEndUser(await tokenOf("erin")))).status).toBe(200)
  })

  it("its sessions are its end user's alone", async () => {
    const [frank, grace] = [asEndUser(await tokenOf("frank")), asEndUser(await tokenOf("grace"))]
    const opened = await gateway().call("POST", "/t1/heartbeat", {}, frank)
    const { sessionId } = Schema.decodeUnknownSync(Schema.Struct({ sessionId: Schema.String }))(await opened.json())
    expect(
      (await gateway().call("POST", "/t1/heartbeat", { sessionId }, asEndUser(await tokenOf("frank")))).status,
    ).toBe(200)
    expect((await gateway().call("POST", "/t1/heartbeat", { sessionId }, grace)).status).toBe(404)
  })

  const forge = (
    claims: object,
    options: { readonly secret?: string; readonly kid?: string; readonly alg?: string; readonly exp?: number } = {},
  ) =>
    new SignJWT({ app: ids.app, key: ids.key, ...claims })
      .setProtectedHeader({ alg: options.alg ?? "HS256", kid: options.kid ?? "unknown" })
      .setSubject("mallory")
      .setIssuer("weir")
      .setAudience("twp/1")
      .setIssuedAt()
      .setExpirationTime(options.exp ?? Math.floor(Date.now() / 1000) + 600)
      .sign(new TextEncoder().encode(options.secret ?? "a secret of thirty-two characters"))

  it.each<[string, () => Promise<string>]>([
    ["nonsense", () => Promise.resolve("nonsense")],
    ["an empty one", () => Promise.resolve("")],
    ["one of another key", () => forge({})],
    ["one without a signature", async () => `${(await forge({})).split(".").slice(0, 2).join(".")}.`],
    [
      "one that was altered",
      async () =>
        (await tokenOf("ada")).replace(
          /\.[^.]+\./,
          `.${Buffer.from(JSON.stringify({ sub: "mallory", app: ids.app, key: ids.key, iss: "weir", aud: "twp/1", exp: 9999999999 })).toString("base64url")}.`,
        ),
    ],
    [
      "one with alg none",
      () =>
        Promise.resolve(
          `${Buffer.from(`{"alg":"none"}`).toString("base64url")}.${Buffer.from(JSON.stringify({ sub: "x", app: ids.app, key: ids.key, iss: "weir", aud: "twp/1" })).toString("base64url")}.`,
        ),
    ],
  ])("%s is unauthorized", async (_what, make) => {
    expect(await errorOf(await exchange(asEndUser(await make())))).toMatchObject({ status: 401, code: "unauthorized" })
  })

  it("is revoked with its key, and with its application", async () => {
    const of = newTestIds()
    const program = Effect.gen(function* () {
      const to = yield* startGateway({ ids: of, backgroundSpeed: 10 })
      to.vendor.script(answering({ words: ["x"], inTokens: 10, outTokens: 1 }))
      const headers = asEndUser(yield* Effect.promise(() => tokenOf("ada", {}, to)))
      const urls = { vendor: to.vendor.url, second: to.second.url }
      const call = () => Effect.promise(() => to.call("POST", "/t1/exchange", hello, headers))
      expect((yield* call()).status).toBe(200)
      yield* to.catalogue.apply(
        testCatalogue(urls, of).replace(`org: ${of.org} }\nkeys`, `org: ${of.org}, disabled: true }\nkeys`),
      )
      const disabled = yield* call()
      expect(yield* Effect.promise(() => errorOf(disabled))).toMatchObject({ status: 403, code: "app_disabled" })
      yield* to.catalogue.apply(testCatalogue(urls, of).replace(/keys:\n.*\n/, ""), { prune: true })
      yield* Effect.promise(() =>
        eventually(async () => (await to.call("POST", "/t1/exchange", hello, headers)).status === 401),
      )
      const revoked = yield* call()
      expect(yield* Effect.promise(() => errorOf(revoked))).toMatchObject({ status: 401, code: "app_key_invalid" })
    })
    await Effect.runPromise(Effect.scoped(program))
  }, 30_000)
})

describe("every runtime route", () => {
  const routes: ReadonlyArray<readonly [string, string, object | undefined]> = [
    ["POST", "/t1/heartbeat", {}],
    ["GET", "/t1/config", undefined],
    ["GET", "/t1/budgets", undefined],
    ["POST", "/t1/handshake", { protocols: ["twp/1"] }],
    ["POST", "/t1/exchange", hello],
    ["POST", "/t1/usage", { events: [] }],
    ["DELETE", "/t1/sessions/01J0000000000000000000000Q", undefined],
  ]

  it.each(routes)(
    "%s %s is open to an end user and to a person, and closed to nobody's",
    async (method, path, body) => {
      const { secret } = await Effect.runPromise(
        gateway().accessTokens.issue({ kind: "device", orgId: ids.org, scopes: ["runtime"] }),
      )
      for (const headers of [
        asEndUser(await tokenOf(`user-of-${path}`)),
        { ...nobody, authorization: `Bearer ${secret}` },
      ]) {
        expect([200, 204, 404]).toContain((await gateway().call(method, path, body, headers)).status)
      }
      const closed = await gateway().call(method, path, body, nobody)
      expect(await errorOf(closed)).toMatchObject({ status: 401, code: "app_key_invalid" })
    },
  )
})

describe("a person's device key or token", () => {
  const issue = (kind: "pat" | "device", scopes: ReadonlyArray<"runtime" | "control">, more: object = {}) =>
    Effect.runPromise(gateway().accessTokens.issue({ kind, orgId: ids.org, scopes, ...more }))
  const bearer = (secret: string): Headers => ({ ...nobody, authorization: `Bearer ${secret}` })

  it.each(["pat", "device"] as const)("a %s opens runtime routes; usage is attributed to it", async (kind) => {
    const { id, secret } = await issue(kind, ["runtime"])
    await replyOf(await exchange(bearer(secret)))
    expect(await lastUsage(gateway())).toMatchObject({ key_id: id })
    expect((await gateway().call("POST", "/t1/heartbeat", {}, bearer(secret))).status).toBe(200)
  })

  it.each<[string, () => Promise<Headers>, object]>([
    ["nonsense", async () => bearer("nonsense"), { status: 401, code: "unauthorized" }],
    ["an unknown one", async () => bearer(`pat_${"x".repeat(43)}`), { status: 401, code: "unauthorized" }],
    [
      "one without the scope",
      async () => bearer((await issue("pat", ["control"])).secret),
      { status: 403, code: "forbidden", detail: { scope: "runtime" } },
    ],
    [
      "one that has expired",
      async () => bearer((await issue("pat", ["runtime"], { expiresAt: new Date(Date.now() - 1000) })).secret),
      { status: 401, code: "token_expired" },
    ],
    [
      "one that was revoked",
      async () => {
        const { id, secret } = await issue("pat", ["runtime"])
        await Effect.runPromise(gateway().accessTokens.revoke(id))
        return bearer(secret)
      },
      { status: 401, code: "unauthorized" },
    ],
  ])("%s is refused", async (_what, headers, expected) => {
    expect(await errorOf(await exchange(await headers()))).toMatchObject(expected)
  })

  it("is hashed at rest", async () => {
    const { id, secret } = await issue("pat", ["runtime"])
    const [row] = await Effect.runPromise(
      gateway().sql<{ row: string }>`select t::text as row from access_tokens t where id = ${id}`,
    )
    expect(row?.row).not.toContain(secret.slice(4, 20))
  })
})

describe("GET|PUT /v1/apps/{id}/config", () => {
  const control = async (userId?: string): Promise<Headers> => {
    const { secret } = await Effect.runPromise(
      gateway().accessTokens.issue({ kind: "pat", orgId: ids.org, scopes: ["control"], userId }),
    )
    return { ...nobody, authorization: `Bearer ${secret}` }
  }
  const path = () => `/v1/apps/${ids.app}/config`

  it("settings override the catalogue at once; removed ones fall back to it", async () => {
    const headers = await control()
    const config = { quota: { rpm: 1 }, requireSignature: false }
    expect(await (await gateway().call("PUT", path(), config, headers)).json()).toEqual(config)
    expect(await (await gateway().call("GET", path(), undefined, headers)).json()).toEqual(config)
    const key = { "x-svc-key-id": ids.key, "x-svc-key": gateway().key }
    await exchange(key)
    expect(await errorOf(await exchange(key))).toMatchObject({ code: "rate_limited", detail: { scope: "app" } })
    await gateway().call("PUT", path(), { disabled: true }, headers)
    expect(await errorOf(await exchange(key))).toMatchObject({ code: "app_disabled" })
    await gateway().call("PUT", path(), { ipAllow: ["10.0.0.0/8"] }, headers)
    expect(await errorOf(await exchange(key))).toMatchObject({ code: "app_ip_denied" })
    await gateway().call("PUT", path(), { requireSignature: true }, headers)
    expect(await errorOf(await exchange(key))).toMatchObject({ code: "signature_invalid" })
    await gateway().call("PUT", path(), {}, headers)
    expect((await exchange(key)).status).toBe(200)
  })

  it("owners and admins write; members read; others get not_found", async () => {
    const member = await control(`usr_${ids.org}`)
    expect((await gateway().call("GET", path(), undefined, member)).status).toBe(200)
    expect(await errorOf(await gateway().call("PUT", path(), {}, member))).toMatchObject({
      status: 403,
      code: "forbidden",
    })
    const admin = await control(`usr_admin_${ids.org}`)
    expect((await gateway().call("PUT", path(), {}, admin)).status).toBe(200)
    const foreign = await errorOf(await gateway().call("GET", "/v1/apps/app_foreign/config", undefined, admin))
    expect(foreign).toMatchObject({ status: 404, code: "not_found" })
    const stranger = await control("usr_nobody")
    expect(await errorOf(await gateway().call("GET", path(), undefined, stranger))).toMatchObject({ status: 404 })
    const elsewhere = { ...admin, "x-svc-org": "org_other" }
    expect(await errorOf(await gateway().call("GET", path(), undefined, elsewhere))).toMatchObject({ status: 404 })
    expect(await errorOf(await gateway().call("GET", path(), undefined, nobody))).toMatchObject({
      status: 401,
      code: "unauthorized",
    })
  })

  it.each([
    [{ ipAllow: ["nonsense"] }, "ipAllow[0]"],
    [{ quota: { rpm: 0 } }, "quota.rpm"],
    [{ searchProviderId: "nobody" }, "searchProviderId"],
    [{ colour: "red" }, "colour"],
  ])("%j is bad_request at %s, and nothing changes", async (config, where) => {
    const error = await errorOf(await gateway().call("PUT", path(), config, await control()))
    expect(error).toMatchObject({ status: 400, code: "bad_request" })
    expect(JSON.stringify(error.detail)).toContain(where)
  })
})
