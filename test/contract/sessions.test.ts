/** Sessions over HTTP: their states, heartbeats and limits. */

import { readFileSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"
import { Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import { AppTokenResponse } from "../../src/protocol/control/app-token.ts"
import { HeartbeatResponse } from "../../src/protocol/session.ts"
import type { TestGateway } from "../../src/testing/gateway.ts"
import { answering, hello, newTestIds, readEvents, testCatalogue } from "../../src/testing/index.ts"
import { errorOf, useGateway } from "../support/gateway.ts"

/** A plan with room for three; a window of a second. */
const withPlan =
  (ids: ReturnType<typeof newTestIds>, plan: string) => (urls: { readonly vendor: string; readonly second: string }) =>
    testCatalogue(urls, ids).replace("{ id: team, perMinute: 100000 }", `{ id: team, perMinute: 100000, ${plan} }`)

const decode = Schema.decodeUnknownSync(HeartbeatResponse, { onExcessProperty: "error" })
const decodeToken = Schema.decodeUnknownSync(AppTokenResponse)
const ulid = (at: number) => `01J${String(at).padStart(23, "0")}`

const beatAt =
  (gateway: TestGateway) =>
  (body: object = {}, headers: Record<string, string | undefined> = {}) =>
    gateway.call("POST", "/t1/heartbeat", body, headers)

describe("sessions without a limit", () => {
  const gateway = useGateway()
  const beat = (body: object = {}, headers: Record<string, string | undefined> = {}) => beatAt(gateway())(body, headers)
  const sessionOf = async (response: Response) => decode(await response.json())

  it("state (none) → active: a heartbeat without sessionId opens a session with a generated id", async () => {
    const { sessionId, serverTime } = await sessionOf(await beat())
    expect(sessionId).toMatch(/^ses_[0-9a-f]{32}$/)
    expect(Math.abs(Date.parse(serverTime) - Date.now())).toBeLessThan(5000)
    expect((await sessionOf(await beat({ sessionId }))).sessionId).toBe(sessionId)
  })

  it("an id that a client generated is registered on first use, in either case", async () => {
    for (const sessionId of [ulid(1), ulid(2).toLowerCase()]) {
      expect((await sessionOf(await beat({ sessionId }))).sessionId).toBe(sessionId)
    }
    const rows = await Effect.runPromise(
      gateway().sql<{ id: string }>`select id from sessions where id in (${ulid(1)}, ${ulid(2).toLowerCase()})`,
    )
    expect(rows.length).toBe(2)
  })

  it("an exchange registers a session too, and renews it", async () => {
    gateway().vendor.script(answering({ words: ["x"], inTokens: 1, outTokens: 1 }))
    const sessionId = ulid(3)
    const events = await readEvents(await gateway().exchange({ ...hello, stream: true, meta: { sessionId } }))
    expect(events[0]?.data).toMatchObject({ sessionId })
    expect((await beat({ sessionId })).status).toBe(200)
  })

  it("a session that cannot be stored: internal_error, and neither its slot nor the requestId is used", async () => {
    gateway().vendor.script(answering({ words: ["x"], inTokens: 1, outTokens: 1 }))
    const sessionId = ulid(99)
    const exchange = () => gateway().exchange({ ...hello, meta: { sessionId, requestId: "unwritten" } })
    const run = (statement: string) => Effect.runPromise(gateway().sql.unsafe(statement))
    await run(`alter table sessions add constraint unwritten check (id <> '${sessionId}') not valid`)
    expect(await errorOf(await exchange())).toMatchObject({ status: 500, code: "internal_error" })
    await run("alter table sessions drop constraint unwritten")
    expect((await exchange()).status).toBe(200)
    expect((await beat({ sessionId })).status).toBe(200)
  })

  it.each(["ses_unknown", "not-a-ulid", `${ulid(4)}X`])(
    "rule 6: %s is unknown, for heartbeat and exchange",
    async (sessionId) => {
      expect(await errorOf(await beat({ sessionId }))).toMatchObject({ status: 404, code: "not_found" })
      const exchanged = await gateway().exchange({ ...hello, meta: { sessionId, requestId: `r-${sessionId}` } })
      expect(await errorOf(exchanged)).toMatchObject({ status: 404, code: "not_found" })
    },
  )

  it("rule 6: a session of another caller gets the same reply as an unknown one", async () => {
    const { sessionId } = await sessionOf(await beat())
    const other = await mint("ada")
    const foreign = await errorOf(await beat({ sessionId }, { ...asEndUser, "x-svc-app-token": other }))
    const unknown = await errorOf(await beat({ sessionId: "ses_unknown" }))
    expect({ ...foreign, requestId: "" }).toEqual({ ...unknown, requestId: "" })
    expect(
      (
        await gateway().call("DELETE", `/t1/sessions/${sessionId}`, undefined, {
          ...asEndUser,
          "x-svc-app-token": other,
        })
      ).status,
    ).toBe(404)
  })

  const asEndUser = { "x-svc-key-id": undefined, "x-svc-key": undefined }
  const mint = async (endUserId: string) =>
    decodeToken(await (await gateway().call("POST", "/v1/app-tokens", { endUserId })).json()).token

  it("state active → archived: DELETE gives 204, and 204 again", async () => {
    const { sessionId } = await sessionOf(await beat())
    for (let time = 0; time < 2; time++) {
      expect((await gateway().call("DELETE", `/t1/sessions/${sessionId}`)).status).toBe(204)
    }
    expect((await gateway().call("DELETE", "/t1/sessions/ses_unknown")).status).toBe(404)
  })

  it("state archived: rule 7, 410 with detail.sessionId, for ever, for heartbeat and exchange", async () => {
    for (const sessionId of [
      (await sessionOf(await beat())).sessionId,
      (await sessionOf(await beat({ sessionId: ulid(5) }))).sessionId,
    ]) {
      await gateway().call("DELETE", `/t1/sessions/${sessionId}`)
      for (const response of [await beat({ sessionId }), await gateway().exchange({ ...hello, meta: { sessionId } })]) {
        expect(await errorOf(response)).toMatchObject({ status: 410, code: "session_archived", detail: { sessionId } })
      }
    }
  })

  it("an archived session stays archived when the gate has lost it", async () => {
    const { sessionId } = await sessionOf(await beat({ sessionId: ulid(6) }))
    await gateway().call("DELETE", `/t1/sessions/${sessionId}`)
    await Effect.runPromise(gateway().gate.endSession(gateway().orgId, sessionId, gateway().keyId, "forget"))
    expect(await errorOf(await beat({ sessionId }))).toMatchObject({ code: "session_archived" })
    expect(await errorOf(await beat({ sessionId }))).toMatchObject({ code: "session_archived" })
  })

  it("rule 1: configVersion and configStale are always there; stale only where the client's differs", async () => {
    const { configVersion, configStale, bundleEtag } = await sessionOf(await beat())
    expect({ configStale, bundleEtag }).toEqual({ configStale: false, bundleEtag: configVersion })
    expect((await sessionOf(await beat({ configVersion }))).configStale).toBe(false)
    expect((await sessionOf(await beat({ configVersion: "old" }))).configStale).toBe(true)
  })

  it.each([
    ["rule 9: a meta field outside the list", { meta: { clientVersion: "1", prompt: "hello" } }],
    ["rule 9: content", { text: "hello" }],
    ["another client than cli", { client: "web" }],
    ["a sessionId of 65 characters", { sessionId: "x".repeat(65) }],
    ["a configVersion of 65 characters", { configVersion: "x".repeat(65) }],
    ["a clientVersion of 65 characters", { meta: { clientVersion: "x".repeat(65) } }],
    ["a platform of 65 characters", { meta: { platform: "x".repeat(65) } }],
    ["an empty sessionId", { sessionId: "" }],
  ])("%s is bad_request", async (_rule, body) => {
    expect(await errorOf(await beat(body))).toMatchObject({ status: 400, code: "bad_request" })
  })

  it("each of these passes at its limit", async () => {
    const meta = { clientVersion: "x".repeat(64), platform: "y".repeat(64) }
    expect((await beat({ client: "cli", configVersion: "x".repeat(64), meta })).status).toBe(200)
    expect(await errorOf(await beat({ sessionId: "x".repeat(64) }))).toMatchObject({ code: "not_found" })
  })
})

describe("a plan with room for three, all at once", () => {
  const ids = newTestIds()
  const gateway = useGateway({ ids, catalogue: withPlan(ids, "concurrency: 3") })

  it("500 first heartbeats at once: exactly three are admitted", async () => {
    const statuses = await Promise.all(Array.from({ length: 500 }, async () => (await beatAt(gateway())()).status))
    expect(statuses.filter((status) => status === 200).length).toBe(3)
    expect(statuses.filter((status) => status === 429).length).toBe(497)
  }, 30_000)
})

describe("a plan with room for three, enforced", () => {
  // Long enough for all calls that must fall into one, on a machine that stalls.
  const windowS = 3
  const past = () => sleep(windowS * 1000 + 100)
  const ids = newTestIds()
  const gateway = useGateway({ ids, catalogue: withPlan(ids, "concurrency: 3"), config: { sessionWindowS: windowS } })

  it("state (none) at the hard cap: 429 with Retry-After 30, also for app-tokens and exchanges; room returns with time", async () => {
    const beat = beatAt(gateway())
    const first = decode(await (await beat()).json())
    for (let at = 0; at < 2; at++) expect((await beat()).status).toBe(200)
    const full = await beat()
    expect(full.headers.get("retry-after")).toBe("30")
    expect(await errorOf(full)).toMatchObject({ status: 429, code: "plan_concurrency_exceeded" })
    const exchanged = await gateway().exchange({ ...hello, meta: { sessionId: ulid(9), requestId: "full" } })
    expect(await errorOf(exchanged)).toMatchObject({ code: "plan_concurrency_exceeded" })
    const minted = await gateway().call("POST", "/v1/app-tokens", { endUserId: "ada" })
    expect(minted.headers.get("retry-after")).toBe("30")
    expect(await errorOf(minted)).toMatchObject({ code: "plan_concurrency_exceeded" })
    // Inside the window a renewal changes nothing.
    expect((await beat({ sessionId: first.sessionId })).status).toBe(200)
    // An exchange without a session takes no slot; the refused one has left its key free.
    expect((await gateway().exchange({ ...hello, meta: { requestId: "full" } })).status).toBe(200)

    await past()
    for (let at = 0; at < 3; at++) expect((await beat()).status).toBe(200)
    // Outside of it a session is judged like a new one; the decision comes before its last-seen time is touched.
    const again = await errorOf(await beat({ sessionId: first.sessionId }))
    expect(again).toMatchObject({ code: "plan_concurrency_exceeded" })
    await past()
    const [row] = await Effect.runPromise(
      gateway().sql<{ ago: number }>`
        select extract(epoch from now() - last_seen_at)::float8 as ago from sessions where id = ${first.sessionId}`,
    )
    expect(row?.ago).toBeGreaterThan(2 * windowS)
    expect((await beat({ sessionId: first.sessionId })).status).toBe(200)
  })

  it("ending a session gives its slot back", async () => {
    await past()
    const beat = beatAt(gateway())
    const { sessionId } = decode(await (await beat()).json())
    for (let at = 0; at < 2; at++) await beat()
    expect((await beat()).status).toBe(429)
    await gateway().call("DELETE", `/t1/sessions/${sessionId}`)
    expect((await beat()).status).toBe(200)
  })
})

describe("a plan with room for one, in shadow mode", () => {
  const ids = newTestIds()
  const gateway = useGateway({
    ids,
    catalogue: withPlan(ids, "concurrency: 1"),
    config: { gateMode: "shadow", sessionWindowS: 1 },
  })

  const counted = async () => {
    const text = await (await fetch(`${gateway().baseUrl}/metrics`)).text()
    return Number(/weir_plan_gate_total\{decision="would_reject"\} (\d+)/.exec(text)?.[1] ?? 0)
  }

  it("state (none) at the hard cap: active, and counted as would_reject only", async () => {
    const before = await counted()
    for (let at = 0; at < 3; at++) expect((await beatAt(gateway())()).status).toBe(200)
    expect((await counted()) - before).toBe(2)
    expect((await gateway().call("POST", "/v1/app-tokens", { endUserId: "ada" })).status).toBe(200)
  })

  it("state active, outside the window, at the hard cap: active, and counted as would_reject", async () => {
    const beat = beatAt(gateway())
    const { sessionId } = decode(await (await beat()).json())
    await sleep(1100)
    await beat()
    const before = await counted()
    expect((await beat({ sessionId })).status).toBe(200)
    expect((await counted()) - before).toBe(1)
  })
})

describe("sessions of a key with a slash in its id", () => {
  const ids = newTestIds()
  const other = `${ids.key}/ada`
  const gateway = useGateway({
    ids,
    catalogue: (urls) =>
      testCatalogue(urls, ids).replace(
        "keys:\n",
        `keys:\n  - { id: ${other}, app: ${ids.app}, secret: "env:WEIR_TEST_KEY" }\n`,
      ),
  })
  const asOther = { "x-svc-key-id": other }
  const asAda = async () => {
    const minted = await gateway().call("POST", "/v1/app-tokens", { endUserId: "ada" })
    const { token } = decodeToken(await minted.json())
    return { "x-svc-key-id": undefined, "x-svc-key": undefined, "x-svc-app-token": token }
  }

  it("are not those of the user of another key, whose id is the rest", async () => {
    const beat = beatAt(gateway())
    const { sessionId } = decode(await (await beat({}, asOther)).json())
    expect((await beat({ sessionId }, asOther)).status).toBe(200)
    expect(await errorOf(await beat({ sessionId }, await asAda()))).toMatchObject({ status: 404 })
  })

  it("are its own after the upgrade", async () => {
    const { sql, orgId } = gateway()
    const add = (id: string, caller: string) =>
      sql`insert into sessions (id, org_id, caller) values (${id}, ${orgId}, ${caller})`
    await Effect.runPromise(
      Effect.all([add("of-key", other), add("of-user", `${other}/eve`), add("of-another", `${ids.key}/eve`)]),
    )
    const migration = readFileSync(new URL("../../migrations/0045_session_owners.sql", import.meta.url), "utf8")
    await Effect.runPromise(sql.unsafe(migration))
    const rows = await Effect.runPromise(
      sql<{ id: string; caller: string }>`
        select id, caller from sessions where org_id = ${orgId} and id like 'of-%' order by id`,
    )
    expect(rows.map(({ id, caller }) => [id, caller])).toEqual([
      ["of-another", `${ids.key}/eve`],
      ["of-key", `${ids.key}%2Fada`],
      ["of-user", `${ids.key}%2Fada/eve`],
    ])
  })
})
