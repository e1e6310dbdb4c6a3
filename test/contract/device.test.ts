/**
 * Logging in on a device. Each test names its rule: "POST /v1/auth/device/code", the state table "Device code", RFC
 * 8628.
 */
import { randomUUID } from "node:crypto"
import { Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import { AuditResponse } from "../../src/protocol/control/admin.ts"
import { DeviceCode, DeviceDecided } from "../../src/protocol/control/device.ts"
import { Me, TokenReply } from "../../src/protocol/control/login.ts"
import { errorOf, useGateway } from "../support/gateway.ts"

const gateway = useGateway({ config: { authPerMinute: 1_000_000, publicUrl: "https://weir.example.com" } })
const nobody = { "x-svc-key-id": undefined, "x-svc-key": undefined }
const post = (path: string, body: unknown, token?: string) =>
  gateway().call("POST", path, body, { ...nobody, authorization: token === undefined ? undefined : `Bearer ${token}` })

const decodeCode = Schema.decodeUnknownSync(DeviceCode, { onExcessProperty: "error" })
const decodeTokens = Schema.decodeUnknownSync(TokenReply, { onExcessProperty: "error" })
const decodeDecided = Schema.decodeUnknownSync(DeviceDecided, { onExcessProperty: "error" })

const decodeAudit = async (reply: Promise<Response>) =>
  Schema.decodeUnknownSync(AuditResponse, { onExcessProperty: "error" })(await (await reply).json())

const email = `ada.${randomUUID().slice(0, 8)}@example.com`
const logIn = async () => (await gateway().logIn(email)).accessToken
const start = async (more: object = {}) =>
  decodeCode(await (await post("/v1/auth/device/code", { clientName: "weir login", ...more })).json())
const poll = (deviceCode: string) => post("/v1/auth/device/token", { deviceCode })
const decide = (userCode: string, approve: boolean, token: string) =>
  post("/v1/auth/device/approve", { userCode, approve }, token)
const run = (statement: string) => Effect.runPromise(gateway().sql.unsafe(statement))
const typed = (userCode: string) => userCode.replace("-", "")
/** Ends the polling interval. */
const later = (userCode: string) =>
  run(`update device_codes set polled_at = polled_at - interval '1 minute' where user_code = '${typed(userCode)}'`)

describe("a device", () => {
  it("state pending → approved: polls, is approved in a browser, and receives tokens once", async () => {
    const code = await start({ scope: "data" })
    expect(code.userCode).toMatch(/^[B-DF-HJ-NP-TV-XZ]{4}-[B-DF-HJ-NP-TV-XZ]{4}$/)
    expect(code).toMatchObject({
      verificationUri: "https://weir.example.com/activate",
      verificationUriComplete: `https://weir.example.com/activate?code=${code.userCode}`,
      expiresIn: 600,
      interval: 5,
    })
    expect(await errorOf(await poll(code.deviceCode))).toMatchObject({
      status: 400,
      code: "device_code_pending",
      detail: { interval: 5 },
    })
    const decided = await decide(code.userCode.toLowerCase().replace("-", " "), true, await logIn())
    expect(decodeDecided(await decided.json())).toEqual({ status: "approved" })
    await later(code.userCode)
    const { accessToken, user } = decodeTokens(await (await poll(code.deviceCode)).json())
    expect(user.email).toBe(email)
    const me = await gateway().call("GET", "/v1/me", undefined, { ...nobody, authorization: `Bearer ${accessToken}` })
    expect(Schema.decodeUnknownSync(Me)(await me.json()).user).toEqual(user)
    await later(code.userCode)
    expect(await errorOf(await poll(code.deviceCode))).toMatchObject({ code: "device_code_expired" })
  })

  it("state pending → denied: receives the denial, and stays denied", async () => {
    const code = await start()
    expect((await decide(code.userCode, false, await logIn())).status).toBe(200)
    for (const _again of [1, 2]) {
      expect(await errorOf(await poll(code.deviceCode))).toMatchObject({ status: 400, code: "device_code_denied" })
      await later(code.userCode)
    }
    expect(await errorOf(await decide(code.userCode, true, await logIn()))).toMatchObject({ code: "not_found" })
  })

  it("RFC 8628 3.5: polling before the interval has passed adds five seconds to it", async () => {
    const { deviceCode, userCode } = await start()
    await poll(deviceCode)
    const told = []
    for (let count = 0; count < 2; count++) told.push(await errorOf(await poll(deviceCode)))
    expect(told.map(({ code, detail }) => [code, detail?.["interval"]])).toEqual([
      ["device_code_slow_down", 10],
      ["device_code_slow_down", 15],
    ])
    await later(userCode)
    expect(await errorOf(await poll(deviceCode))).toMatchObject({
      code: "device_code_pending",
      detail: { interval: 15 },
    })
  })

  it("device_code_expired: after ten minutes, approved or not, and for an unknown code", async () => {
    const { deviceCode, userCode } = await start()
    await decide(userCode, true, await logIn())
    await run(`update device_codes set expires_at = now() where user_code = '${typed(userCode)}'`)
    expect(await errorOf(await poll(deviceCode))).toMatchObject({ status: 400, code: "device_code_expired" })
    expect(await errorOf(await poll("dc_unheard"))).toMatchObject({ code: "device_code_expired" })
  })

  it("50 polls at once after an approval: exactly one wins", async () => {
    const { deviceCode, userCode } = await start()
    await decide(userCode, true, await logIn())
    const replies = await Promise.all(Array.from({ length: 50 }, () => poll(deviceCode)))
    expect(replies.filter(({ status }) => status === 200).length).toBe(1)
  })

  it("its code is stored as a hash", async () => {
    const { deviceCode, userCode } = await start()
    const [row] = await Effect.runPromise(
      gateway().sql<{ row: string }>`select t::text as row from device_codes t where user_code = ${typed(userCode)}`,
    )
    expect(row?.row).toContain(typed(userCode))
    expect(row?.row).not.toContain(deviceCode.slice(3, 20))
  })

  it.each<[string, object]>([
    ["no name", {}],
    ["an empty name", { clientName: "" }],
    ["a name of 129 characters", { clientName: "n".repeat(129) }],
    ["another scope", { clientName: "x", scope: "all" }],
    ["a field too many", { clientName: "x", approve: true }],
  ])("bad_request: %s", async (_what, body) => {
    expect(await errorOf(await post("/v1/auth/device/code", body))).toMatchObject({ status: 400, code: "bad_request" })
  })

  it("clientName: 128 characters are accepted", async () => {
    expect((await start({ clientName: "n".repeat(128) })).interval).toBe(5)
  })
})

describe("a decision", () => {
  it("is audited before it has an effect, with who and what for", async () => {
    const token = await logIn()
    for (const [approve, action] of [
      [true, "auth.device_approved"],
      [false, "auth.device_denied"],
    ] as const) {
      const { userCode } = await start({ clientName: `client ${approve} ${email}` })
      await decide(userCode, approve, token)
      const rows = await Effect.runPromise(
        gateway().sql<{ action: string; actor_type: string; actor: string }>`
          select a.action, a.actor_type, u.email as actor from audit_log a join users u on u.id = a.actor_id
          where a.detail ->> 'clientName' = ${`client ${approve} ${email}`}`,
      )
      expect(rows).toEqual([{ action, actor_type: "user", actor: email }])
    }
  })

  it("a decision without its audit record has no effect", async () => {
    const { deviceCode, userCode } = await start({ clientName: "unaudited" })
    await run("alter table audit_log add constraint unaudited check (detail ->> 'clientName' <> 'unaudited') not valid")
    expect(await errorOf(await decide(userCode, true, await logIn()))).toMatchObject({ code: "internal_error" })
    await run("alter table audit_log drop constraint unaudited")
    expect(await errorOf(await poll(deviceCode))).toMatchObject({ code: "device_code_pending" })
    expect((await decide(userCode, true, await logIn())).status).toBe(200)
  })

  it("50 at once: exactly one wins", async () => {
    const { userCode } = await start()
    const token = await logIn()
    const replies = await Promise.all(Array.from({ length: 50 }, (_, at) => decide(userCode, at % 2 === 0, token)))
    expect(replies.filter(({ status }) => status === 200).length).toBe(1)
    expect(replies.filter(({ status }) => status === 404).length).toBe(49)
  })

  it("not_found: a code that is unknown, expired or decided; the reply is the same", async () => {
    const late = await start()
    await run(`update device_codes set expires_at = now() where user_code = '${typed(late.userCode)}'`)
    const decided = await start()
    const token = await logIn()
    await decide(decided.userCode, true, token)
    const told = []
    for (const code of ["BBBB-BBBB", late.userCode, decided.userCode, "?"]) {
      told.push({ ...(await errorOf(await decide(code, true, token))), requestId: "" })
    }
    expect(told[0]).toMatchObject({ status: 404, code: "not_found" })
    expect(new Set(told.map((error) => JSON.stringify(error))).size).toBe(1)
  })

  it("requires a logged-in person", async () => {
    const { userCode } = await start()
    const { secret } = await Effect.runPromise(
      gateway().accessTokens.issue({ kind: "pat", orgId: gateway().orgId, scopes: ["control"] }),
    )
    expect(await errorOf(await decide(userCode, true, secret))).toMatchObject({ status: 403, code: "forbidden" })
    const stranger = await post("/v1/auth/device/approve", { userCode, approve: true })
    expect(await errorOf(stranger)).toMatchObject({ status: 401, code: "unauthorized" })
  })
})

describe("the audit log", () => {
  it("is checked by operators, and by nobody else", async () => {
    const verify = (query = "") =>
      gateway().call("GET", `/v1/admin/audit/verify${query}`, undefined, { "x-svc-admin-key": gateway().adminKey })
    const told = await decodeAudit(verify())
    expect(told).toEqual({
      entries: told.of,
      of: told.of,
      head: expect.stringMatching(/^[0-9a-f]{64}$/),
      nextCursor: null,
    })
    const part = await decodeAudit(verify("?limit=1"))
    expect(part).toEqual({ ...told, entries: 1, nextCursor: expect.any(String) })
    expect(await decodeAudit(verify(`?cursor=${part.nextCursor}`))).toEqual(told)
    for (const query of ["?limit=0", "?limit=100001", "?cursor=nonsense", `?cursor=${btoa('["-1",""]')}`]) {
      expect(await errorOf(await verify(query))).toMatchObject({ status: 400, code: "bad_request" })
    }
    expect(await errorOf(await gateway().call("GET", "/v1/admin/audit/verify"))).toMatchObject({
      code: "admin_key_invalid",
    })
  })
})
