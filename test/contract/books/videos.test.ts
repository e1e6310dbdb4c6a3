/** Videos: calls that outlive their request, and their money. */
import { setTimeout as sleep } from "node:timers/promises"
import { Effect, Schema } from "effect"
import { beforeEach, describe, expect, it } from "vitest"
import { connect } from "../../../src/client/index.ts"
import { DoctorResponse } from "../../../src/protocol/control/admin.ts"
import { VideoJob } from "../../../src/protocol/kinds/video.ts"
import { inEach } from "../../../src/store/shards/shards.ts"
import { newTestIds, testCatalogue, type VendorCall } from "../../../src/testing/index.ts"
import { balanceOf, errorOf, eventually, lastUsage, useGateway } from "../../support/gateway.ts"
import { png } from "../../support/media-samples.ts"

const ids = newTestIds()

const hook = `hook_${ids.org}`

const catalogue = (urls: { readonly vendor: string; readonly second: string }) =>
  testCatalogue(
    urls,
    ids,
    // Nobody listens there: events stay and can be read.
    `webhooks: [{ id: ${hook}, url: "http://127.0.0.1:9/", secret: "env:WEIR_TEST_WEBHOOK", events: [job.done] }]`,
  )
    .replace(
      "models:\n",
      `models:
  - { handle: film, kind: video, targets: [{ vendor: openai, model: sora-2 }] }
  - { handle: film-gemini, kind: video, targets: [{ vendor: gemini, model: veo-3 }] }
  - { handle: film-by-size, kind: video, targets: [{ vendor: openai, model: sora-2 }] }
`,
    )
    .replace(
      "prices:\n",
      `prices:
  - { model: film, currency: USD, dims: { video_seconds: "100000", "video_seconds:1280x720": "300000" }, from: 2026-01-01 }
  - { model: film-gemini, currency: USD, dims: { video_seconds: "200000" }, from: 2026-01-01 }
  - { model: film-by-size, currency: USD, dims: { "video_seconds:1280x720": "300000" }, from: 2026-01-01 }
`,
    )
    .replace("models: [main,", "models: [film, film-gemini, film-by-size, main,")
    .replace("name: Test,", "name: Test, capabilities: { videoGen: true },")

const gateway = useGateway({ backgroundSpeed: 10, ids, catalogue })

const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, at) => at % 253))
let state: { status: string; progress?: number; error?: { code: string } }

const json = (call: VendorCall, body: unknown, status = 200) => {
  call.head(status, { "content-type": "application/json" })
  call.end(JSON.stringify(body))
}

beforeEach(() => {
  state = { status: "queued" }
  gateway().vendor.script(async (call) => {
    if (call.path === "/v1/videos") return json(call, { id: "video_7", object: "video", status: "queued" })
    if (call.path === "/v1/videos/video_7/content") {
      call.head(200, { "content-type": "video/mp4" })
      await call.write(bytes)
      return call.end()
    }
    if (call.path.endsWith(":predictLongRunning")) return json(call, { name: "models/veo-3/operations/op1" })
    if (call.path.includes("/operations/")) {
      const uri = `${gateway().vendor.url}/v1beta/files/f1:download?alt=media`
      const response = { generateVideoResponse: { generatedSamples: [{ video: { uri } }] } }
      return json(call, state.status === "completed" ? { done: true, response } : { done: false })
    }
    if (call.path.includes(":download")) {
      call.head(200, { "content-type": "video/mp4" })
      await call.write(bytes)
      return call.end()
    }
    if (call.path === "/v1/videos/video_7") {
      if (state.status === "gone") return json(call, {}, 404)
      return json(call, { id: "video_7", ...state })
    }
    return json(call, {}, 404)
  })
})

const film = (more: object = {}, headers: Record<string, string> = {}) =>
  gateway().call("POST", "/t1/videos", { model: "film", prompt: "a weir", seconds: 4, ...more }, headers)
const readDoctor = Schema.decodeUnknownSync(DoctorResponse)
const readJob = Schema.decodeUnknownSync(VideoJob, { onExcessProperty: "error" })
const jobOf = async (response: Response) => readJob(await response.json())
const ask = async (id: string) => jobOf(await gateway().call("GET", `/t1/videos/${id}`))
const becomes = (id: string, status: string) => eventually(async () => (await ask(id)).status === status)
/** Until the vendor was asked for the job twice more: what it said first is recorded then. */
const asksAgain = () => {
  const asked = () => gateway().vendor.calls.filter(({ path }) => path === "/v1/videos/video_7").length
  const before = asked()
  return eventually(async () => asked() >= before + 2)
}
const pollsOf = async (id: string) => {
  const [job] = await Effect.runPromise(gateway().sql<{ polls: number }>`select polls from jobs where id = ${id}`)
  return job?.polls ?? 0
}
const admin = (path: string) =>
  fetch(`${gateway().baseUrl}/v1/admin/${path}`, { headers: { "x-svc-admin-key": gateway().adminKey } })
const findings = () =>
  Effect.runPromise(
    inEach(gateway().shards, ({ sql, books }) => sql`select finding, id from ${books}ledger_audit('', null)`),
  )

describe("videos", () => {
  it("are jobs: set aside when accepted, charged when done, and fetched", async () => {
    const before = await balanceOf(gateway())
    const response = await film({ size: "1280x720" })
    const job = await jobOf(response)
    expect([response.status, job]).toEqual([
      202,
      {
        id: job.id,
        status: "queued",
        model: "film",
        progress: 0,
        createdAt: job.createdAt,
        seconds: 4,
        size: "1280x720",
      },
    ])
    expect(before - (await balanceOf(gateway()))).toBe(12_000_000_000n)
    expect(await findings()).toEqual([])
    state = { status: "in_progress", progress: 40 }
    await becomes(job.id, "running")
    expect((await ask(job.id)).progress).toBe(40)
    expect(await errorOf(await gateway().call("GET", `/t1/videos/${job.id}/content`))).toMatchObject({
      code: "not_found",
    })
    state = { status: "completed" }
    await becomes(job.id, "done")
    expect(before - (await balanceOf(gateway()))).toBe(12_000_000_000n)
    expect(await lastUsage(gateway())).toMatchObject({ purpose: "video", model: "film" })
    const content = await gateway().call("GET", `/t1/videos/${job.id}/content`)
    expect([content.headers.get("content-type"), Buffer.from(await content.arrayBuffer()).equals(bytes)]).toEqual([
      "video/mp4",
      true,
    ])
    expect(await findings()).toEqual([])
  })

  it("that fail give their money back", async () => {
    const before = await balanceOf(gateway())
    const { id } = await jobOf(await film())
    state = { status: "failed", error: { code: "moderation_blocked" } }
    await becomes(id, "failed")
    expect(await ask(id)).toMatchObject({ error: { code: "content_blocked" } })
    expect(await balanceOf(gateway())).toBe(before)
    expect(await findings()).toEqual([])
    const other = await jobOf(await film())
    state = { status: "failed", error: { code: "a credential with spaces" } }
    await becomes(other.id, "failed")
    expect(await ask(other.id)).toMatchObject({ error: { code: "upstream_error" } })
    expect(await balanceOf(gateway())).toBe(before)
  })

  it("are cancelled once, and their money goes back once", async () => {
    const before = await balanceOf(gateway())
    const { id } = await jobOf(await film())
    expect((await jobOf(await gateway().call("DELETE", `/t1/videos/${id}`))).status).toBe("cancelled")
    expect((await jobOf(await gateway().call("DELETE", `/t1/videos/${id}`))).status).toBe("cancelled")
    expect(await balanceOf(gateway())).toBe(before)
    expect(await findings()).toEqual([])
  })

  it("are cancelled at their vendor too, once, and not after their end", async () => {
    const told = () => gateway().vendor.calls.filter(({ method }) => method === "DELETE").length
    const before = told()
    const running = await jobOf(await film())
    await gateway().call("DELETE", `/t1/videos/${running.id}`)
    await gateway().call("DELETE", `/t1/videos/${running.id}`)
    expect(told()).toBe(before + 1)
    const ended = await jobOf(await film())
    state = { status: "completed" }
    await becomes(ended.id, "done")
    await gateway().call("DELETE", `/t1/videos/${ended.id}`)
    expect(told()).toBe(before + 1)
  })

  it("that their vendor does not know any more fail, and give their money back", async () => {
    const before = await balanceOf(gateway())
    const { id } = await jobOf(await film())
    state = { status: "gone" }
    await becomes(id, "failed")
    expect(await balanceOf(gateway())).toBe(before)
  })

  describe("that run out of time", () => {
    const ends = (id: string, ago: string) =>
      Effect.runPromise(gateway().sql`update jobs set ends_at = now() - ${ago}::interval where id = ${id}`)
    const deletes = () => gateway().vendor.calls.filter(({ method }) => method === "DELETE").length
    /** A job that runs at its vendor, whose time is over. */
    const late = async (ago = "0 seconds") => {
      state = { status: "in_progress" }
      const job = await jobOf(await film())
      await becomes(job.id, "running")
      await ends(job.id, ago)
      return job.id
    }

    it("are delivered and charged if their result is there", async () => {
      const [before, deleted] = [await balanceOf(gateway()), deletes()]
      const { id } = await jobOf(await film())
      state = { status: "completed" }
      await ends(id, "1 day")
      await becomes(id, "done")
      expect([before - (await balanceOf(gateway())), deletes() - deleted]).toEqual([4_000_000_000n, 0])
      expect(await findings()).toEqual([])
    })

    it("are ended at their vendor, and give their money back when it says so", async () => {
      const [before, deleted] = [await balanceOf(gateway()), deletes()]
      const id = await late()
      await eventually(() => Promise.resolve(deletes() > deleted))
      expect([(await ask(id)).status, before - (await balanceOf(gateway()))]).toEqual(["running", 4_000_000_000n])
      state = { status: "cancelled" }
      await becomes(id, "failed")
      expect(await ask(id)).toMatchObject({ error: { code: "upstream_total_timeout" } })
      expect(await balanceOf(gateway())).toBe(before)
      const told = deletes()
      await sleep(200)
      expect(deletes()).toBe(told)
      expect(await findings()).toEqual([])
    })

    it("are charged if their vendor completes them after it was told to end them", async () => {
      const [before, deleted] = [await balanceOf(gateway()), deletes()]
      const id = await late()
      await eventually(() => Promise.resolve(deletes() > deleted))
      state = { status: "completed" }
      await becomes(id, "done")
      expect(before - (await balanceOf(gateway()))).toBe(4_000_000_000n)
      expect((await gateway().call("GET", `/t1/videos/${id}/content`)).status).toBe(200)
      expect(await findings()).toEqual([])
    })

    it("give their money back if their vendor goes on for too long", async () => {
      const before = await balanceOf(gateway())
      const id = await late("1 day")
      await becomes(id, "failed")
      expect(await ask(id)).toMatchObject({ error: { code: "upstream_total_timeout" } })
      expect(await balanceOf(gateway())).toBe(before)
      expect(await findings()).toEqual([])
    })
  })

  it.each([
    ["succeeded", "done"],
    ["processing", "running"],
    ["cancelled", "failed"],
    ["canceled", "failed"],
    ["expired", "failed"],
    ["error", "failed"],
    ["thinking_about_it", "running"],
  ])("of a server that calls their state %s are %s", async (status, becoming) => {
    const { id } = await jobOf(await film())
    state = { status }
    await becomes(id, becoming)
    await gateway().call("DELETE", `/t1/videos/${id}`)
  })

  it("do not go back when their vendor does", async () => {
    const { id } = await jobOf(await film())
    state = { status: "in_progress", progress: 40 }
    await becomes(id, "running")
    state = { status: "in_progress", progress: 10 }
    await asksAgain()
    expect((await ask(id)).progress).toBe(40)
    await gateway().call("DELETE", `/t1/videos/${id}`)
  })

  it("of a key that is gone are not asked for with another", async () => {
    const { id } = await jobOf(await film())
    let polls = 0
    // While nobody asks for it: a poll that has begun has its key.
    await eventually(async () => {
      const [job] = await Effect.runPromise(
        gateway().sql<{ polls: number }>`
          update jobs set is_own = true where id = ${id} and lease_node is null returning polls`,
      )
      polls = job?.polls ?? polls
      return job !== undefined
    })
    state = { status: "completed" }
    await eventually(async () => (await pollsOf(id)) > polls + 1)
    expect((await ask(id)).status).toBe("queued")
    await gateway().call("DELETE", `/t1/videos/${id}`)
  })

  it("whose vendor is slow keep no others waiting", async () => {
    const asked = Promise.withResolvers<void>()
    const answer = Promise.withResolvers<void>()
    let made = 0
    gateway().vendor.script(async (call) => {
      if (call.path === "/v1/videos") return json(call, { id: `slow_${++made}`, object: "video", status: "queued" })
      if (call.path === "/v1/videos/slow_1") {
        asked.resolve()
        await answer.promise
      }
      return json(call, { id: "video", status: "completed" })
    })
    const slow = await jobOf(await film())
    await asked.promise
    const other = await jobOf(await film())
    await becomes(other.id, "done")
    expect((await ask(slow.id)).status).toBe("queued")
    answer.resolve()
    await becomes(slow.id, "done")
  })

  // Citus has no triggers on tables that it distributes.
  it.skipIf(process.env["CITUS_WORKER_URLS"] !== undefined)(
    "are asked for again soon after what their vendor said could not be written",
    async () => {
      const { sql } = gateway()
      const run = async (...statements: ReadonlyArray<string>) => {
        for (const statement of statements) await Effect.runPromise(sql.unsafe(statement))
      }
      await run(
        "create sequence refusals",
        `create function refuse_once() returns trigger language plpgsql as $fn$
          begin
            if old.lease_node is not null and new.lease_node is null and nextval('refusals') = 1 then
              raise exception 'refused once';
            end if;
            return new;
          end $fn$`,
        "create trigger refuse_once before update on jobs for each row execute function refuse_once()",
      )
      const { id } = await jobOf(await film())
      await eventually(async () => (await pollsOf(id)) > 1)
      state = { status: "completed" }
      await becomes(id, "done")
      await run("drop trigger refuse_once on jobs", "drop function refuse_once()", "drop sequence refusals")
    },
  )

  it("are listed, shown and cancelled by operators", async () => {
    const { id } = await jobOf(await film())
    const admin = { "x-svc-admin-key": gateway().adminKey }
    const at = `/v1/admin/orgs/${gateway().orgId}/jobs/${id}`
    const list = await gateway().call("GET", `/v1/admin/jobs?open=true&org=${gateway().orgId}`, undefined, admin)
    expect(await list.json()).toMatchObject({
      jobs: [{ id, kind: "video", status: "queued", target: "openai/sora-2", held: "0.4" }],
    })
    expect(await (await gateway().call("GET", at, undefined, admin)).json()).toMatchObject({
      id,
      dims: { video_seconds: 4 },
    })
    expect(await (await gateway().call("DELETE", at, undefined, admin)).json()).toMatchObject({ status: "cancelled" })
    expect(await errorOf(await gateway().call("GET", at))).toMatchObject({ code: "admin_key_invalid" })
  })

  it("are made by the typed client", async () => {
    const client = connect({ baseUrl: gateway().baseUrl, credentials: { keyId: gateway().keyId, key: gateway().key } })
    const { id } = await client.film({ model: "film", prompt: "a weir", seconds: 4 })
    state = { status: "completed" }
    await eventually(async () => (await client.video(id)).status === "done")
    expect(Buffer.from(await client.videoContent(id)).equals(bytes)).toBe(true)
    expect((await client.cancelVideo(id)).status).toBe("done")
  })

  it("are written down before their vendor is asked; the doctor tells of those that a dead node left", async () => {
    const { sql } = gateway()
    const attempts = () => Effect.runPromise(sql<{ ref: string; node: string }>`select ref, node from job_attempts`)
    const lost = async () => readDoctor(await (await admin("doctor")).json()).lostJobs
    const asked = Promise.withResolvers<void>()
    const answer = Promise.withResolvers<void>()
    gateway().vendor.script(async (call) => {
      asked.resolve()
      await answer.promise
      json(call, { id: "video_9", object: "video", status: "queued" })
    })
    const response = film()
    await asked.promise
    const [attempt, ...more] = await attempts()
    expect([attempt?.ref.startsWith("req_"), more]).toEqual([true, []])
    // Its node lives.
    expect(await lost()).toEqual([])
    await Effect.runPromise(sql`update job_attempts set node = 'dead'`)
    expect(await lost()).toMatchObject([{ org: ids.org, ref: attempt?.ref, model: "film" }])
    await Effect.runPromise(sql`update job_attempts set node = ${attempt?.node ?? ""}`)
    answer.resolve()
    const { id } = await jobOf(await response)
    await eventually(async () => (await attempts()).length === 0)
    // A node that died after it had recorded the job has lost nothing.
    await Effect.runPromise(
      sql`insert into job_attempts (org_id, ref, node, model) values (${ids.org}, ${attempt?.ref ?? ""}, 'dead', 'film')`,
    )
    expect(await lost()).toEqual([])
    await Effect.runPromise(sql`delete from job_attempts`)
    await gateway().call("DELETE", `/t1/videos/${id}`)
  })

  it("that a vendor refuses leave nothing behind", async () => {
    gateway().vendor.script((call) => json(call, {}, 400))
    await errorOf(await film())
    const attempts = () => Effect.runPromise(gateway().sql`select ref from job_attempts`)
    await eventually(async () => (await attempts()).length === 0)
  })

  it("of Gemini are operations", async () => {
    const { id } = await jobOf(
      await film({
        model: "film-gemini",
        seconds: 8,
        size: "1280x720",
        image: { t: "image", mime: "image/png", data: png.toString("base64") },
      }),
    )
    const [asked] = gateway()
      .vendor.calls.filter(({ path }) => path.endsWith(":predictLongRunning"))
      .slice(-1)
    expect(asked?.body).toMatchObject({
      instances: [{ prompt: "a weir", image: { mimeType: "image/png", bytesBase64Encoded: png.toString("base64") } }],
      parameters: { durationSeconds: 8, aspectRatio: "16:9", resolution: "720p" },
    })
    state = { status: "completed" }
    await becomes(id, "done")
    const content = await gateway().call("GET", `/t1/videos/${id}/content`)
    expect(Buffer.from(await content.arrayBuffer()).equals(bytes)).toBe(true)
  })

  it("are answered again by their request id, and made once", async () => {
    const meta = { requestId: `req_${"5".repeat(32)}` }
    const calls = () => gateway().vendor.calls.filter(({ path }) => path === "/v1/videos").length
    const before = calls()
    const [first, again] = [await film({ meta }), await film({ meta })]
    expect([first.status, again.status, (await jobOf(first)).id === (await jobOf(again)).id]).toEqual([202, 202, true])
    expect(calls() - before).toBe(1)
  })

  it.each([
    ["lines that a Veo has not", { model: "film-gemini", size: "4K" }, "bad_request"],
    ["a length that a Veo has not", { model: "film-gemini", seconds: 5 }, "bad_request"],
    ["a length that is too short for its lines", { model: "film-gemini", size: "1920x1080" }, "bad_request"],
    ["no length", { seconds: undefined }, "bad_request"],
    ["a length of nothing", { seconds: 0 }, "bad_request"],
    ["a size of nothing", { size: "0x0" }, "bad_request"],
    ["an unknown field", { frames: 3 }, "bad_request"],
    ["a picture that is none", { image: { t: "image", mime: "image/png", data: "AAAA" } }, "bad_request"],
    ["a size without a price", { model: "film-by-size", size: "720x1280" }, "pricing_guard_tripped"],
    ["an unknown model", { model: "none" }, "model_not_authorized"],
  ])("are refused with %s", async (_name, more, code) => {
    const before = await balanceOf(gateway())
    expect(await errorOf(await film(more))).toMatchObject({ code })
    expect(await balanceOf(gateway())).toBe(before)
  })

  it("of somebody else are not found", async () => {
    expect(await errorOf(await gateway().call("GET", "/t1/videos/job_none"))).toMatchObject({ code: "not_found" })
    const { id } = await jobOf(await film())
    const stranger = { headers: { "x-svc-key-id": "key_x", "x-svc-key": "x" } }
    expect((await fetch(`${gateway().baseUrl}/t1/videos/${id}`, stranger)).status).toBe(401)
    // An end user of the application sees its own only.
    const minted = await gateway().call("POST", "/v1/app-tokens", { endUserId: "u1", ttlSeconds: 300 })
    const { token } = Schema.decodeUnknownSync(Schema.Struct({ token: Schema.String }))(await minted.json())
    for (const [method, path] of [
      ["GET", ""],
      ["GET", "/content"],
      ["DELETE", ""],
    ]) {
      const headers = { "x-svc-app-token": token }
      const response = await fetch(`${gateway().baseUrl}/t1/videos/${id}${path}`, { method: method ?? "", headers })
      expect(await errorOf(response)).toMatchObject({ code: "not_found" })
    }
    const listed = async (credential: string) => {
      const headers = { authorization: `Bearer ${credential}` }
      const response = await fetch(`${gateway().baseUrl}/openai/v1/videos`, { headers })
      return Object(await response.json()).data.map((video: { readonly id: string }) => video.id)
    }
    expect(await listed(`${gateway().keyId}~${gateway().key}`)).toContain(id)
    expect(await listed(token)).toEqual([])
    expect((await ask(id)).status).toBe("queued")
    await gateway().call("DELETE", `/t1/videos/${id}`)
    const asUser = (method: string, path: string, body?: object) =>
      fetch(`${gateway().baseUrl}${path}`, {
        method,
        headers: { "x-svc-app-token": token, "content-type": "application/json" },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
    const own = await jobOf(await asUser("POST", "/t1/videos", { model: "film", prompt: "a weir", seconds: 4 }))
    expect((await jobOf(await asUser("GET", `/t1/videos/${own.id}`))).status).toBe("queued")
    expect(await listed(token)).toEqual([own.id])
    expect((await jobOf(await asUser("DELETE", `/t1/videos/${own.id}`))).status).toBe("cancelled")
  })
})

describe("the end of a job", () => {
  it("is told to webhooks, of each job once, with what it cost", async () => {
    const ended = async () => {
      const rows = await Effect.runPromise(gateway().sql<{ id: string; state: string }>`
        select id, state from jobs where org_id = ${ids.org} and ended_at is not null`)
      return rows.map(({ id, state }) => `${id} ${state}`).sort()
    }
    const told = () =>
      Effect.runPromise(gateway().sql<{ subject: string; data: { status: string; cost?: string; error?: string } }>`
        select subject, data from webhook_deliveries where webhook = ${hook}`)
    const names = async () => (await told()).map(({ subject, data }) => `${subject} ${data.status}`).sort()
    await eventually(async () => JSON.stringify(await names()) === JSON.stringify(await ended()))
    const all = await told()
    expect(new Set(all.map(({ data }) => data.status))).toEqual(new Set(["done", "failed", "cancelled"]))
    for (const { data } of all) {
      if (data.status === "done") expect(Number(data.cost)).toBeGreaterThan(0)
      else expect(data.cost).toBeUndefined()
    }
  })
})
