/**
 * Logging in by mail, and the use of tokens. Each test names its rule: "POST /v1/auth/otp/verify", "Errors", RFC
 * 9700.
 */
import { randomUUID } from "node:crypto"
import { Effect, Redacted, Schema } from "effect"
import { createLocalJWKSet, jwtVerify } from "jose"
import { afterAll, describe, expect, it } from "vitest"
import { AppTokenResponse } from "../../src/protocol/control/app-token.ts"
import { JwkSet, Me, TokenReply } from "../../src/protocol/control/login.ts"
import type { TestGateway } from "../../src/testing/gateway.ts"
import { newTestIds, testCatalogue } from "../../src/testing/index.ts"
import { errorOf, eventually, useGateway } from "../support/gateway.ts"
import { startSmtp } from "../support/smtp.ts"

const smtp = await startSmtp()
afterAll(() => smtp.stop())

const tag = randomUUID().slice(0, 8)
const at = (name: string) => `${name}.${tag}@example.com`
const ids = newTestIds()
const other = newTestIds()
const people = [
  "users:",
  `  - { id: ada_${tag}, email: ${at("ada")}, org: ${ids.org}, role: owner }`,
  `  - { id: bo_${tag}, email: ${at("bo")}, org: ${ids.org}, role: member }`,
  `  - { id: bo2_${tag}, email: ${at("bo")}, org: ${other.org}, role: admin }`,
  "teams:",
  `  - { id: team_${tag}, org: ${ids.org}, members: [bo_${tag}] }`,
].join("\n")
const withPeople = (urls: { readonly vendor: string; readonly second: string }) =>
  testCatalogue(urls, ids, people).replace(
    "apps:\n",
    `  - { id: ${other.org}, name: Other, plan: team, currency: USD, models: [main] }\napps:\n`,
  )

const gateway = useGateway({
  ids,
  catalogue: withPeople,
  config: { trustedProxies: ["127.0.0.0/8"], smtpUrl: Redacted.make(smtp.url), authPerMinute: 1_000_000 },
})

const nobody = { "x-svc-key-id": undefined, "x-svc-key": undefined }
const post = (path: string, body?: unknown, to: TestGateway = gateway()) => to.call("POST", path, body, nobody)
const get = (path: string, token: string, headers: Record<string, string> = {}) =>
  gateway().call("GET", path, undefined, { ...nobody, authorization: `Bearer ${token}`, ...headers })

const decodeTokens = Schema.decodeUnknownSync(TokenReply, { onExcessProperty: "error" })
const decodeMe = Schema.decodeUnknownSync(Me, { onExcessProperty: "error" })
const decodeMinted = Schema.decodeUnknownSync(AppTokenResponse)
const tokensOf = async (response: Response) => decodeTokens(await response.json())

const ask = (email: string) => post("/v1/auth/otp/request", { email })
const verify = (email: string, code: string) => post("/v1/auth/otp/verify", { email, code })
const refresh = (refreshToken: string) => post("/v1/auth/refresh", { refreshToken })

/** A new code for an address. */
const codeFor = async (email: string) => {
  const to = email.toLowerCase()
  const before = smtp.lettersTo(to).length
  expect((await ask(email)).status).toBe(202)
  return smtp.codeFor(to, before + 1)
}
const logIn = async (email: string) => tokensOf(await verify(email, await codeFor(email)))
const wrongOf = (code: string) => String((Number(code) + 1) % 1_000_000).padStart(6, "0")
const run = (statement: string) => Effect.runPromise(gateway().sql.unsafe(statement))

describe("a one-time code", () => {
  it("logs in; the first login registers the person with the catalogue's memberships", async () => {
    const { accessToken, user, expiresIn } = await logIn(at("ada"))
    expect(expiresIn).toBe(900)
    expect(user).toEqual({ id: `ada_${tag}`, email: at("ada") })
    expect(decodeMe(await (await get("/v1/me", accessToken)).json())).toEqual({
      user,
      orgs: [{ id: ids.org, name: "Test", role: "owner", teams: [] }],
    })
  })

  it("registers a verified address, without memberships", async () => {
    const { accessToken, user } = await logIn(at("new"))
    expect(user.id).toMatch(/^usr_[0-9a-f]{32}$/)
    expect(decodeMe(await (await get("/v1/me", accessToken)).json()).orgs).toEqual([])
    expect((await logIn(at("NEW"))).user).toEqual(user)
  })

  it("no account enumeration: the reply is the same with and without an account", async () => {
    const known = await ask(at("ada"))
    const unknown = await ask(at("nobody"))
    expect([known.status, await known.json()]).toEqual([unknown.status, await unknown.json()])
    const wrong = await errorOf(await verify(at("ada"), "000000x"))
    expect({ ...(await errorOf(await verify(at("never"), "000000x"))), requestId: "" }).toEqual({
      ...wrong,
      requestId: "",
    })
  })

  it("is kept as a keyed hash only", async () => {
    const code = await codeFor(at("hash"))
    const rows = await Effect.runPromise(
      gateway().sql<{ row: string }>`select t::text as row from one_time_codes t where subject = ${at("hash")}`,
    )
    expect(rows.length).toBe(1)
    expect(rows[0]?.row).not.toContain(code)
  })

  it.each([
    ["used twice", async (email: string, code: string) => void (await verify(email, code))],
    [
      "late",
      (email: string) =>
        run(`update one_time_codes set expires_at = now() - interval '1 second' where subject = '${email}'`),
    ],
    [
      "followed by three newer ones",
      async (email: string) => {
        for (let count = 0; count < 3; count++) await codeFor(email)
      },
    ],
    [
      "followed by a newer one that was used",
      async (email: string) => void (await verify(email, await codeFor(email))),
    ],
    [
      "followed by a newer one and late",
      async (email: string) => {
        await codeFor(email)
        await run(`update earlier_codes set expires_at = now() - interval '1 second' where subject = '${email}'`)
      },
    ],
  ])("otp_invalid: %s", async (name, spoil) => {
    const email = at(name.replaceAll(" ", "-"))
    const code = await codeFor(email)
    await spoil(email, code)
    expect(await errorOf(await verify(email, code))).toMatchObject({ status: 401, code: "otp_invalid" })
  })

  it("otp_invalid: another person's code", async () => {
    const code = await codeFor(at("mine"))
    await codeFor(at("theirs"))
    expect(await errorOf(await verify(at("theirs"), code))).toMatchObject({ code: "otp_invalid" })
    expect((await verify(at("mine"), code)).status).toBe(200)
  })

  it("50 at once: exactly one wins", async () => {
    const email = at("crowd")
    const code = await codeFor(email)
    const replies = await Promise.all(Array.from({ length: 50 }, () => verify(email, code)))
    expect(replies.filter(({ status }) => status === 200).length).toBe(1)
  })

  it("is valid still when others have asked for codes of its address", async () => {
    const email = at("bombarded")
    const code = await codeFor(email)
    await codeFor(email)
    const newest = await codeFor(email)
    expect((await verify(email, code)).status).toBe(200)
    // Each is for one use, and one login spends all of them.
    for (const spent of [code, newest]) {
      expect(await errorOf(await verify(email, spent))).toMatchObject({ code: "otp_invalid" })
    }
    expect((await verify(email, await codeFor(email))).status).toBe(200)
  })

  it("has five wrong attempts of its own, also those that came when a newer one was made", async () => {
    const email = at("earlier")
    const code = await codeFor(email)
    for (let attempt = 0; attempt < 4; attempt++) await verify(email, "wrong")
    const newer = await codeFor(email)
    expect(await errorOf(await verify(email, "wrong"))).toMatchObject({ code: "otp_invalid" })
    expect(await errorOf(await verify(email, code))).toMatchObject({ code: "otp_invalid" })
    expect((await verify(email, newer)).status).toBe(200)
  })

  it("otp_rate_limited: after five wrong attempts the right one fails too; another code works", async () => {
    const email = at("brute")
    const code = await codeFor(email)
    for (let attempt = 0; attempt < 5; attempt++) {
      expect(await errorOf(await verify(email, wrongOf(code)))).toMatchObject({ code: "otp_invalid" })
    }
    expect(await errorOf(await verify(email, code))).toMatchObject({ status: 429, code: "otp_rate_limited" })
    expect((await verify(email, await codeFor(email))).status).toBe(200)
  })

  it("otp_rate_limited: new codes do not add attempts without limit; an hour does", async () => {
    const email = at("patient")
    for (let attempt = 0; attempt < 15; attempt++) {
      if (attempt % 4 === 0) await codeFor(email)
      expect(await errorOf(await verify(email, "wrong"))).toMatchObject({ code: "otp_invalid" })
    }
    const code = await codeFor(email)
    expect(await errorOf(await verify(email, code))).toMatchObject({ code: "otp_rate_limited" })
    await run(`update one_time_codes set hour_started_at = now() - interval '1 hour' where subject = '${email}'`)
    expect((await verify(email, code)).status).toBe(200)
  })

  it("an address gets ten codes an hour for each who asks, and the same reply after that; others lock nobody out", async () => {
    const email = at("flooded")
    const askFrom = (source: string) =>
      fetch(`${gateway().baseUrl}/v1/auth/otp/request`, {
        method: "POST",
        headers: { "content-type": "application/json", "x-forwarded-for": source },
        body: JSON.stringify({ email }),
      })
    for (let count = 0; count < 12; count++) expect((await askFrom("203.0.113.7")).status).toBe(202)
    await smtp.codeFor(email, 10)
    expect(await codeFor(at("next"))).toMatch(/^\d{6}$/)
    expect(smtp.lettersTo(email).length).toBe(10)
    // The owner of the address, from elsewhere.
    expect((await askFrom("198.51.100.1")).status).toBe(202)
    const code = await smtp.codeFor(email, 11)
    expect((await verify(email, code)).status).toBe(200)
  })

  it.each<[string, unknown]>([
    ["no address", { email: "ada" }],
    ["two addresses", { email: `${at("one")},${at("two")}` }],
    ["a name around it", { email: `Ada <${at("ada")}>` }],
    ["a line break", { email: `${at("ada")}\r\nBcc: x@example.com` }],
    ["an address of 255 characters", { email: `${"a".repeat(255 - "@example.com".length)}@example.com` }],
    ["a field too many", { email: at("ada"), admin: true }],
    ["nothing", undefined],
  ])("bad_request: %s", async (_what, body) => {
    const before = smtp.letters.length
    expect(await errorOf(await post("/v1/auth/otp/request", body))).toMatchObject({ status: 400, code: "bad_request" })
    expect(smtp.letters.length).toBe(before)
  })
})

describe("a login", () => {
  it("refreshes: each token once, and the next one works", async () => {
    const first = await logIn(at("ada"))
    const second = await tokensOf(await refresh(first.refreshToken))
    expect(second.refreshToken).not.toBe(first.refreshToken)
    const third = await tokensOf(await refresh(second.refreshToken))
    expect((await get("/v1/me", third.accessToken)).status).toBe(200)
  })

  it("RFC 9700 4.14: reuse of a refresh token revokes the login, also for the holder of the newer token", async () => {
    const { refreshToken } = await logIn(at("ada"))
    const next = await tokensOf(await refresh(refreshToken))
    expect(await errorOf(await refresh(refreshToken))).toMatchObject({ status: 401, code: "unauthorized" })
    expect(await errorOf(await refresh(next.refreshToken))).toMatchObject({ status: 401, code: "unauthorized" })
    await eventually(async () => (await get("/v1/me", next.accessToken)).status === 401)
  })

  it("50 refreshes at once: exactly one wins, and the login is revoked", async () => {
    const { refreshToken } = await logIn(at("ada"))
    const replies = await Promise.all(Array.from({ length: 50 }, () => refresh(refreshToken)))
    const won = replies.filter(({ status }) => status === 200)
    expect(won.length).toBe(1)
    const [winner] = won
    if (winner === undefined) throw new Error("nobody won")
    expect((await refresh((await tokensOf(winner)).refreshToken)).status).toBe(401)
  })

  it("token_expired: after 30 days without a refresh", async () => {
    const { refreshToken, user } = await logIn(at("expired"))
    const [row] = await Effect.runPromise(
      gateway().sql<{ days: number }>`
        select extract(day from expires_at - now())::int as days from refresh_tokens t
        join logins l on l.id = t.login_id where l.user_id = ${user.id}`,
    )
    expect(row?.days).toBe(29)
    await run(
      `update refresh_tokens set expires_at = now() where login_id in (select id from logins where user_id = '${user.id}')`,
    )
    expect(await errorOf(await refresh(refreshToken))).toMatchObject({ status: 401, code: "token_expired" })
  })

  it("ends with a logout, its access token too; again is no error, and unknown is none", async () => {
    const { accessToken, refreshToken } = await logIn(at("ada"))
    for (const token of [refreshToken, refreshToken, "rt_unknown"]) {
      expect((await post("/v1/auth/logout", { refreshToken: token })).status).toBe(204)
    }
    expect(await errorOf(await refresh(refreshToken))).toMatchObject({ code: "unauthorized" })
    await eventually(async () => (await get("/v1/me", accessToken)).status === 401)
  })

  it("of a disabled account: forbidden, and its credentials stop working", async () => {
    const { accessToken, refreshToken, user } = await logIn(at("gone"))
    await run(`update users set status = 'disabled' where id = '${user.id}'`)
    expect(await errorOf(await refresh(refreshToken))).toMatchObject({ status: 403, code: "forbidden" })
    expect(await errorOf(await verify(at("gone"), await codeFor(at("gone"))))).toMatchObject({ code: "forbidden" })
    await eventually(async () => (await get("/v1/me", accessToken)).status === 401)
  })

  it("keeps hashes of refresh tokens only", async () => {
    const { refreshToken } = await logIn(at("ada"))
    const [row] = await Effect.runPromise(
      gateway().sql<{ all: string }>`select coalesce(json_agg(t)::text, '') as all from refresh_tokens t`,
    )
    expect(row?.all).not.toContain(refreshToken.slice(3, 20))
  })
})

describe("an access token", () => {
  it("verifies with the published keys, and names person, issuer and audience", async () => {
    const { accessToken, user } = await logIn(at("ada"))
    const jwks = Schema.decodeUnknownSync(JwkSet)(
      await (await fetch(`${gateway().baseUrl}/.well-known/jwks.json`)).json(),
    )
    expect(jwks.keys.map(({ kty, d }) => [kty, d])).toEqual([["OKP", undefined]])
    const set = createLocalJWKSet({ keys: jwks.keys.map((key) => ({ ...key, kty: "OKP" })) })
    const { payload } = await jwtVerify(accessToken, set, { issuer: "weir", audience: "weir/control" })
    expect(payload.sub).toBe(user.id)
    expect((payload.exp ?? 0) - (payload.iat ?? 0)).toBe(900)
  })

  it.each([
    ["another signature", (token: string) => `${token.slice(0, -6)}AAAAAA`],
    [
      "no algorithm",
      (token: string) =>
        `${Buffer.from('{"alg":"none"}').toString("base64url")}.${token.split(".")[1]}.${token.split(".")[2]}`,
    ],
    ["an end user's token", () => ""],
  ])("unauthorized: %s", async (what, spoil) => {
    const { accessToken } = await logIn(at("forger"))
    const minted = await gateway().call("POST", "/v1/app-tokens", { endUserId: "eve" })
    const token = what === "an end user's token" ? decodeMinted(await minted.json()).token : spoil(accessToken)
    expect(await errorOf(await get("/v1/me", token))).toMatchObject({ status: 401, code: "unauthorized" })
  })

  it("acts for one organisation: the only one, or the one in x-svc-org; others are not found", async () => {
    const ada = await logIn(at("ada"))
    const bo = await logIn(at("bo"))
    const directory = (token: string, org?: string) =>
      get("/v1/search-providers", token, org === undefined ? {} : { "x-svc-org": org })
    expect((await directory(ada.accessToken)).status).toBe(200)
    expect(await errorOf(await directory(bo.accessToken))).toMatchObject({ status: 400, code: "bad_request" })
    expect((await directory(bo.accessToken, other.org)).status).toBe(200)
    const foreign = await errorOf(await directory(ada.accessToken, other.org))
    const unknown = await errorOf(await directory(ada.accessToken, "org_unheard"))
    expect({ ...foreign, requestId: "" }).toEqual({ ...unknown, requestId: "" })
    expect(foreign).toMatchObject({ status: 404, code: "not_found" })
  })

  it("has its person's role: members read, owners and admins write", async () => {
    const put = (token: string) =>
      gateway().call(
        "PUT",
        `/v1/apps/${ids.app}/config`,
        {},
        {
          ...nobody,
          authorization: `Bearer ${token}`,
          "x-svc-org": ids.org,
        },
      )
    expect((await put((await logIn(at("ada"))).accessToken)).status).toBe(200)
    expect(await errorOf(await put((await logIn(at("bo"))).accessToken))).toMatchObject({ code: "forbidden" })
  })
})

describe("identity providers", () => {
  const strict = useGateway({
    config: { smtpUrl: Redacted.make(smtp.url), authPerMinute: 3, trustedProxies: ["127.0.0.0/8"] },
  })
  const silent = useGateway({ config: { authPerMinute: 1_000_000 } })
  const cut = useGateway({ config: { smtpUrl: Redacted.make("smtp://127.0.0.1:9"), authPerMinute: 1_000_000 } })
  const group = () => randomUUID().slice(0, 4)
  const near = `2001:db8:${group()}:${group()}`
  const from = (address: string, path: string) =>
    strict().call("POST", path, {}, { ...nobody, "x-forwarded-for": address })

  it("rate_limited: the strict tier of an address (its /64), over all of these routes", async () => {
    const codes: Array<number> = []
    for (const path of ["/v1/auth/otp/request", "/v1/auth/otp/verify", "/v1/auth/refresh", "/v1/auth/logout"]) {
      codes.push((await from(`${near}::${codes.length}`, path)).status)
    }
    expect(codes).toEqual([400, 400, 400, 429])
    expect((await from(`2001:db8:${group()}:${group()}::1`, "/v1/auth/logout")).status).toBe(400)
    const refused = await from(`${near}::9`, "/v1/auth/logout")
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0)
    expect(await errorOf(refused)).toMatchObject({ status: 429, code: "rate_limited" })
  })

  it("auth_channel_undelivered: no server for mail, outside of development", async () => {
    const refused = await post("/v1/auth/otp/request", { email: at("ada") }, silent())
    expect(await errorOf(refused)).toMatchObject({ status: 503, code: "auth_channel_undelivered" })
  })

  it("an unreachable mail server changes no reply", async () => {
    expect((await post("/v1/auth/otp/request", { email: at("ada") }, cut())).status).toBe(202)
  })
})
