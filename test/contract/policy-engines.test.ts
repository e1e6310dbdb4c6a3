/** Engines of policies behind a whole gateway: what they flag, and what happens without their verdict. */
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { answering, hello, newTestIds, readEvents, testCatalogue } from "../../src/testing/index.ts"
import { type EnginesOfTest, kinds, startEngines } from "../support/engines/kinds.ts"
import { forbidden } from "../support/engines/rules.ts"
import type { Mood } from "../support/engines/twin.ts"
import { balanceOf, errorOf, eventually, holdsOf, useGateway } from "../support/gateway.ts"

const ids = newTestIds()
let engines: EnginesOfTest
beforeAll(async () => {
  engines = await startEngines()
})
afterAll(() => engines.stop())

const logged: Array<string> = []
vi.spyOn(console, "log").mockImplementation((line: unknown) => void logged.push(String(line)))

const gateway = useGateway({ ids, config: { logLevel: "All", logFormat: "json", reviewStreamRate: 1 } })

/** Nobody answers there: its deliveries stay. */
const hook = `webhooks: [{ id: hook, url: "http://127.0.0.1:9/", secret: "env:WEIR_TEST_WEBHOOK", events: [policy.denied] }]`

/** Applies a catalogue with policies that hold for every organisation. */
const apply = async (policies: ReadonlyArray<object>) => {
  const { vendor, second, catalogue } = gateway()
  const text = testCatalogue(
    { vendor: vendor.url, second: second.url },
    ids,
    `policies: ${JSON.stringify(policies)}\n${hook}`,
  )
    .replace(
      "vendors:\n",
      `vendors:\n  - { id: guards, dialect: openai-chat, profile: vllm, baseUrl: "${engines.of("model").twin.url}/v1", credential: "env:WEIR_TEST_VENDOR" }\n`,
    )
    .replace("models:\n", `models:\n  - { handle: guard, targets: [{ vendor: guards, model: guard-1 }] }\n`)
  return Effect.runPromise(catalogue.apply(text.replaceAll("contextWindow: 10000\n", "contextWindow: 1000000\n")))
}

const saying = (text: string) => ({ ...hello, thread: [{ role: "user", blocks: [{ t: "text", v: text }] }] })
/** A thread with a text, arguments of a tool and its result. */
const inParts = (text: string, args: string, result: string) => ({
  ...hello,
  thread: [
    { role: "user", blocks: [{ t: "text", v: text }] },
    { role: "assistant", blocks: [{ t: "tool_call", id: "a", name: "f", input: { q: args } }] },
    { role: "tool", blocks: [{ t: "tool_result", id: "a", v: result }] },
  ],
  tools: [{ name: "f", inputSchema: { type: "object", properties: { q: { type: "string" } } } }],
})
const answerOf = (word: string) => answering({ words: [word], inTokens: 1000, outTokens: 200 })

const metric = async (name: string, labels: ReadonlyArray<string>): Promise<number> => {
  const text = await (await fetch(`${gateway().baseUrl}/metrics`)).text()
  const line = text.split("\n").find((each) => each.startsWith(name) && labels.every((label) => each.includes(label)))
  return Number(line?.split(" ").at(-1) ?? 0)
}

describe.each(kinds)("%s", (kind) => {
  const bad = kind === "presidio" ? "ada@example.com" : forbidden
  const policyAt = (more: object) => ({
    id: `by-${kind}`,
    direction: "both",
    reason: "flagged_by_engine",
    match: engines.of(kind).match(),
    forAll: true,
    ...more,
  })
  const ready = async (more: object, mood: Mood = "up") => {
    const { twin } = engines.of(kind)
    twin.mood = "up"
    twin.refusals.length = 0
    gateway().vendor.script(answerOf("fine"))
    expect((await apply([policyAt(more)])).warnings).toEqual([])
    // A verdict between failures: its breaker stays closed.
    expect((await gateway().exchange(saying("Hello"))).status).toBe(200)
    twin.mood = mood
    return twin
  }

  it("denies a request that it flags before anything is held, and lets another pass", async () => {
    const twin = await ready({})
    const [holds, balance] = [(await holdsOf(gateway())).length, await balanceOf(gateway())]
    const error = await errorOf(await gateway().exchange(saying(`🌊 A ${bad} thing`)))
    expect(error).toMatchObject({ status: 403, code: "content_blocked", detail: { reason: "flagged_by_engine" } })
    expect(await balanceOf(gateway())).toBe(balance)
    expect((await holdsOf(gateway())).length).toBe(holds)
    expect((await gateway().exchange(saying("A fine thing"))).status).toBe(200)
    expect(twin.refusals).toEqual([])
  })

  const streamed = async (words: ReadonlyArray<string>) => {
    gateway().vendor.script(answering({ words, inTokens: 1000, outTokens: 200 }))
    const events = await readEvents(await gateway().exchange({ ...saying("What"), stream: true }))
    const text = events.map(({ event, data }) => (event === "t.delta" && "v" in data ? data.v : "")).join("")
    return { text, last: events.at(-1) }
  }

  it("holds an enforced stream sentence by sentence, and ends it where it flags", async () => {
    await ready({ streams: "enforce" })
    const { text, last } = await streamed(["All is fine. ", "This is ", bad, " here. ", "The rest."])
    expect(text).toMatch(/^All is fine\.\s?$/)
    expect(last).toMatchObject({ event: "t.err", data: { code: "content_blocked" } })
    const clean = await streamed(["All is fine. ", "Nothing", " to see here", ". And no end"])
    expect(clean.text).toBe("All is fine. Nothing to see here. And no end")
    expect(clean.last?.event).toBe("t.close")
  })

  it.each(["deny", "allow"] as const)("on failure %ss an enforced stream", async (onFailure) => {
    const twin = await ready({ streams: "enforce", direction: "outbound", onFailure })
    twin.mood = "killed"
    const { text, last } = await streamed(["All is fine. ", "Nothing to see."])
    expect(text).toBe(onFailure === "allow" ? "All is fine. Nothing to see." : "")
    expect(last?.event).toBe(onFailure === "allow" ? "t.close" : "t.err")
  })

  it("withholds a whole reply that it flags", async () => {
    await ready({})
    gateway().vendor.script(answerOf(`is ${bad} here`))
    const response = await gateway().exchange(saying("What"))
    expect(await errorOf(response.clone())).toMatchObject({ code: "content_blocked" })
    expect(await response.text()).not.toContain(bad)
  })

  it("samples a stream when it is over", async () => {
    await ready({ direction: "outbound" })
    gateway().vendor.script(answerOf(`is ${bad} here`))
    const labels = [`mode="sample"`, `verdict="denied"`]
    const before = await metric("weir_reviews_total", labels)
    const events = await readEvents(await gateway().exchange({ ...hello, stream: true }))
    expect(events.at(-1)?.event).toBe("t.close")
    await eventually(async () => (await metric("weir_reviews_total", labels)) === before + 1)
  })

  const secretMarker = "the-body-of-the-engine"
  it.each<[string, Mood]>([
    ["timeout", "silent"],
    ["unreachable", "killed"],
    ["malformed", { body: { error: secretMarker } }],
    ["refused", { status: 400, body: { error: secretMarker } }],
    ["unauthorized", { status: 401, body: { error: secretMarker } }],
    ["error", { status: 503, body: { error: secretMarker } }],
  ])(
    "without a verdict (%s) denies or allows, as the policy says, and neither text nor answer is logged",
    async (reason, mood) => {
      const text = `Tell me about ${kind} and ${reason} in private`
      for (const [onFailure, direction, status] of [
        ["deny", "inbound", 403],
        ["allow", "inbound", 200],
        ["deny", "outbound", 403],
        ["allow", "outbound", 200],
      ] as const) {
        logged.length = 0
        await ready({ onFailure, direction }, mood)
        const match = engines.of(kind).match({ timeout: reason === "timeout" ? "400ms" : "3s" })
        await apply([policyAt({ onFailure, direction, match })])
        const labels = [`engine="${kind}"`, `reason="${reason}"`]
        const before = await metric("weir_policy_engine_failures_total", labels)
        const response = await gateway().exchange(saying(text))
        expect([onFailure, direction, response.status]).toEqual([onFailure, direction, status])
        const said = await response.text()
        if (status === 403) expect(said).toContain("review_unavailable")
        expect(said).not.toContain(secretMarker)
        expect(await metric("weir_policy_engine_failures_total", labels)).toBe(before + 1)
        const lines = logged.join("\n")
        expect(lines).toContain("An engine of a policy gave no verdict")
        for (const secret of [secretMarker, "in private", "fine"]) expect(lines).not.toContain(secret)
      }
    },
  )

  it("denies by default without a verdict", async () => {
    await ready({ direction: "inbound" }, { status: 400, body: "" })
    expect((await gateway().exchange(saying("Well"))).status).toBe(403)
  })
})

describe("without a verdict", () => {
  const policyOf = (action: string) => ({
    id: `failing-${action}`,
    direction: "inbound",
    reason: "flagged_by_engine",
    match: engines.of("presidio").match(),
    forAll: true,
    action,
  })

  it.each([
    ["deny", 403],
    ["mask", 403],
    ["flag", 200],
    ["shadow", 200],
  ])(
    "a policy that would %s answers %d: what is not masked must not pass, and a flag never denies",
    async (action, status) => {
      await apply([policyOf(action)])
      const { twin } = engines.of("presidio")
      twin.mood = { status: 400, body: "" }
      gateway().vendor.script(answerOf("fine"))
      expect((await gateway().exchange(saying("Write to ada@example.com"))).status).toBe(status)
      twin.mood = "up"
    },
  )
})

describe("a webhook that changes its secret", () => {
  const answersWith = async (secrets: object) => {
    const { twin, match } = engines.of("webhook")
    twin.mood = "up"
    twin.received.length = 0
    const policy = { id: "signed", direction: "inbound", reason: "flagged", match: match(secrets), forAll: true }
    const { warnings } = await apply([policy])
    gateway().vendor.script(answerOf("fine"))
    const { status } = await gateway().exchange(saying("Hello"))
    const signatures = String(twin.received[0]?.headers["webhook-signature"]).split(" ").length
    return { status, signatures, warnings }
  }
  const [known, next] = ["env:WEIR_TEST_WEBHOOK", "env:WEIR_TEST_NEW_WEBHOOK"]

  it("gets the signatures of both meanwhile, and accepts either", async () => {
    expect(await answersWith({ secret: next })).toMatchObject({ status: 403, signatures: 1 })
    const both = { status: 200, signatures: 2, warnings: [] }
    expect(await answersWith({ secret: next, formerSecret: known })).toEqual(both)
    expect(await answersWith({ secret: known, formerSecret: next })).toEqual(both)
    expect(await answersWith({ secret: known })).toEqual({ ...both, signatures: 1 })
  })

  it.each(["env:NOBODY", "env:WEIR_TEST_VENDOR"])(
    "is signed with the new one if the former cannot be used (%s)",
    async (formerSecret) => {
      const warnings = ["signed: its formerSecret cannot be used; requests are signed with its secret alone"]
      expect(await answersWith({ secret: known, formerSecret })).toEqual({ status: 200, signatures: 1, warnings })
    },
  )
})

describe("the request beside a reply", () => {
  const prompt = "How do I get rid of ada@example.com?"
  const mails = {
    id: "mails",
    direction: "inbound",
    match: { entities: ["email"] },
    reason: "personal_data",
    action: "mask",
    forAll: true,
  }
  const asked = async (kind: (typeof kinds)[number], more: object, stream: boolean) => {
    const { twin } = engines.of(kind)
    twin.mood = "up"
    const outbound = { id: "beside", direction: "outbound", reason: "flagged", match: engines.of(kind).match() }
    await apply([mails, { ...outbound, forAll: true, ...more }])
    twin.received.length = 0
    twin.refusals.length = 0
    gateway().vendor.script(answerOf("It is easy. Go on"))
    const response = await gateway().exchange({ ...saying(prompt), stream })
    if (stream) await readEvents(response)
    else expect(response.status).toBe(200)
    await eventually(() => twin.received.length > 0)
    expect(twin.refusals).toEqual([])
    return twin.received.map(({ body }) => body)
  }

  it("is given in the parts of its policy", async () => {
    const { twin, match } = engines.of("model")
    twin.mood = "up"
    const outbound = { id: "beside", direction: "outbound", reason: "flagged", match: match(), parts: ["text"] }
    await apply([{ ...outbound, forAll: true }])
    twin.received.length = 0
    gateway().vendor.script(answerOf("It is easy."))
    expect((await gateway().exchange(inParts("My question", "my arguments", "my result"))).status).toBe(200)
    expect(twin.received).toHaveLength(1)
    expect(twin.received[0]?.body).toContain("My question")
    expect(twin.received[0]?.body).not.toMatch(/my (arguments|result)/)
  })

  it.each(["lakera", "model-armor", "model"] as const)("is given to %s, with its marks", async (kind) => {
    for (const [more, stream] of [
      [{}, false],
      [{}, true],
      [{ streams: "enforce" }, true],
    ] as const) {
      const bodies = await asked(kind, more, stream)
      expect(bodies.filter((body) => body.includes("How do I get rid of <EMAIL_"))).toHaveLength(bodies.length)
      expect(bodies.join()).not.toContain("ada@example.com")
    }
  })

  it("is not given to a guard model with instructions, nor to engines that do not read it", async () => {
    const match = engines.of("model").match({ prompt: "Be strict" })
    expect((await asked("model", { match }, false)).join()).not.toContain("get rid of")
    for (const kind of ["presidio", "bedrock-guardrail", "azure-content-safety", "webhook", "moderation"] as const)
      expect((await asked(kind, {}, false)).join()).not.toContain("get rid of")
  })
})

describe("a catalogue", () => {
  const policy = (match: object, more: object = {}) => ({
    id: "guarded",
    direction: "both",
    reason: "flagged",
    match,
    ...more,
  })
  const refused = (match: object, more: object = {}): Promise<string> =>
    apply([policy(match, more)]).then(
      () => "applied",
      (refusal: unknown) => JSON.stringify(refusal),
    )
  const engine = (entry: object) => ({ engine: entry })
  const aws = { region: "eu-west-1", accessKeyId: "env:A", secretAccessKey: "env:B" }
  const guardrail = { kind: "bedrock-guardrail", guardrail: "gr1", version: "1", aws }
  const safety = { kind: "azure-content-safety", baseUrl: "https://mine.example.com", credential: "env:A" }
  const template = "projects/p/locations/l/templates/t"

  it.each<[string, object, object?]>([
    ["a kind that nobody knows", { kind: "oracle" }],
    ["a member of another kind", { kind: "presidio", baseUrl: "http://p", secret: "env:A" }],
    ["an address without a scheme", { kind: "presidio", baseUrl: "presidio:3000" }],
    ["an address with a query", { kind: "webhook", url: "https://x.example.com/?a=1", secret: "env:A" }],
    ["a secret in the text", { kind: "webhook", url: "https://x.example.com", secret: "whsec_abc" }],
    ["a former secret where nothing is signed", { kind: "lakera", formerSecret: "env:A" }],
    [
      "a former secret in the text",
      { kind: "webhook", url: "https://x.example.com", secret: "env:A", formerSecret: "whsec_a" },
    ],
    ["no secret for signatures", { kind: "webhook", url: "https://x.example.com" }],
    ["a language that is none", { kind: "presidio", baseUrl: "http://p", language: 'en","x":"' }],
    ["a threshold above 1", { kind: "presidio", baseUrl: "http://p", threshold: 1.5 }],
    ["no entities at all", { kind: "presidio", baseUrl: "http://p", entities: [] }],
    ["a guardrail with a path", { ...guardrail, guardrail: "../../model/x" }],
    ["a version with a path", { ...guardrail, version: "1/../2" }],
    ["a guardrail without an identity", { ...guardrail, aws: { region: "eu-west-1" } }],
    ["half of an access key", { ...guardrail, aws: { region: "eu-west-1", accessKeyId: "env:A" } }],
    ["a region with a host", { ...guardrail, aws: { ...aws, region: "evil.example.com/#" } }],
    ["Azure without key and identity", { kind: "azure-content-safety", baseUrl: "https://mine.example.com" }],
    ["Azure with both", { ...safety, azure: { credentials: "default" } }],
    ["no category", { ...safety, thresholds: {} }],
    ["a threshold of 0", { ...safety, thresholds: { Hate: 0 } }],
    ["a category that Azure does not have", { ...safety, thresholds: { Rudeness: 4 } }],
    [
      "a template with a host",
      { kind: "model-armor", template: "projects/p/locations/x.evil.com/templates/t", credentials: "default" },
    ],
    ["a template without credentials", { kind: "model-armor", template }],
    ["a model that is not there", { kind: "model", model: "nobody" }],
    ["no timeout at all", { kind: "lakera", timeout: "0s" }],
    ["a mask by what knows no places", { kind: "lakera" }, { action: "mask" }],
  ])("with %s is refused", async (_name, entry, more) => {
    const refusal = await refused(engine(entry), more)
    expect(refusal).toContain("CatalogueRefused")
    expect(refusal).toContain("policies[0]")
  })

  it("warns of credentials that are not set, and of a secret that signs nothing", async () => {
    const entries: ReadonlyArray<readonly [id: string, entry: object]> = [
      ["presidio", { kind: "presidio", baseUrl: "http://127.0.0.1:9", credential: "env:NOBODY_A" }],
      ["guardrail", { ...guardrail, aws: { ...aws, accessKeyId: "env:NOBODY_B", secretAccessKey: "env:NOBODY_C" } }],
      ["safety", { ...safety, credential: "env:NOBODY_D" }],
      ["armor", { kind: "model-armor", template, credentials: "env:NOBODY_E" }],
      ["lakera", { kind: "lakera", credential: "env:NOBODY_F" }],
      ["hook", { kind: "webhook", url: "https://x.example.com", secret: "env:NOBODY_G" }],
      ["unsigned", { kind: "webhook", url: "https://x.example.com", secret: "env:WEIR_TEST_VENDOR" }],
      ["machine", { kind: "model-armor", template, credentials: "default" }],
      ["proxied", { kind: "lakera", proxy: "env:NOBODY_H" }],
    ]
    const { warnings } = await apply(entries.map(([id, entry]) => ({ ...policy(engine(entry)), id })))
    const missing = (id: string, name: string) =>
      `${id}: there is no credential at env:NOBODY_${name}; calls to it will fail`
    expect([...warnings].sort()).toEqual(
      [
        missing("presidio", "A"),
        missing("guardrail", "B"),
        missing("guardrail", "C"),
        missing("safety", "D"),
        missing("armor", "E"),
        missing("lakera", "F"),
        missing("hook", "G"),
        "unsigned: its secret is not whsec_ and the base64 of 24 to 64 bytes; nothing is sent",
        "proxied: there is nothing at env:NOBODY_H; calls to it will fail",
      ].sort(),
    )
  })
})

describe("presidio that masks requests", () => {
  const policy = {
    id: "masked-by-presidio",
    direction: "inbound",
    reason: "personal_data",
    action: "mask",
    forAll: true,
  }
  const mask = async (more: object = {}) => {
    const { twin, match } = engines.of("presidio")
    twin.mood = "up"
    await apply([{ ...policy, match: match({ timeout: "400ms" }), ...more }])
    return twin
  }
  const got = () => JSON.stringify(gateway().vendor.calls.at(-1)?.body)

  it("gives the vendor marks, and the client its values, after emoji too", async () => {
    await mask()
    gateway().vendor.script(answerOf("ok"))
    await gateway().exchange(saying("😀😀 mail ada@example.com, please"))
    expect(got()).not.toContain("ada@example.com")
    const [mark = ""] = /<EMAIL_[A-Z2-7]+>/.exec(got()) ?? []
    expect(got()).toContain(`😀😀 mail ${mark}, please`)
    gateway().vendor.script(answerOf(`To ${mark}.`))
    const reply = await gateway().exchange(saying("😀😀 mail ada@example.com, please"))
    expect(await reply.text()).toContain("To ada@example.com.")
  })

  const longest = `https://x.example/${Array.from({ length: 1500 }, (_, at) => at).join("-")}`
  const many = "z".repeat(400)
  it.each([
    ["one long value", [longest]],
    ["many values of some length", Array.from({ length: 30 }, (_, at) => `${String(at).padStart(2, "0")}${many}`)],
  ])("masks %s", async (_name, values) => {
    const text = `mail ada@example.com ${values.join(" ")} end`
    const found = [["ada@example.com", "EMAIL_ADDRESS"], ...values.map((value) => [value, "URL"])]
    const body = found.map(([value = "", entity_type]) => {
      const start = text.indexOf(value)
      return { entity_type, score: 1, start, end: start + value.length }
    })
    ;(await mask()).mood = { body }
    gateway().vendor.script(answerOf("ok"))
    expect((await gateway().exchange(saying(text))).status).toBe(200)
    expect(got()).toMatch(/mail <EMAIL_[A-Z2-7]+> (<URL_[A-Z2-7]+> ?)+ end/)
  })

  it("reads and masks the parts of its policy, and no others", async () => {
    const twin = await mask({ parts: ["text"] })
    gateway().vendor.script(answerOf("ok"))
    const asked = inParts("mail ada@example.com", "call ada@example.com", "result ada@example.com")
    expect((await gateway().exchange(asked)).status).toBe(200)
    expect(twin.received.at(-1)?.body).toContain("mail ada@example.com")
    expect(twin.received.at(-1)?.body).not.toMatch(/(call|result) ada/)
    expect(got()).toMatch(/mail <EMAIL_[A-Z2-7]+>/)
    expect(got()).toContain("call ada@example.com")
    expect(got()).toContain("result ada@example.com")
  })

  it("masks a large request, which another thread reads", async () => {
    await mask({ match: engines.of("presidio").match({ timeout: "20s" }) })
    gateway().vendor.script(answerOf("ok"))
    const text = `mail ada@example.com ${"more ".repeat(54_000)}`
    expect((await gateway().exchange(saying(text))).status).toBe(200)
    expect(got()).toMatch(/mail <EMAIL_[A-Z2-7]+> more/)
    expect(got()).not.toContain("ada@example.com")
  })

  const failed = [`policy="masked-by-presidio"`, `at="request"`, `did="failed"`]
  const lastPolicies = async () => {
    const { sql, orgId } = gateway()
    const rows = await Effect.runPromise(
      sql<{ policies: unknown }>`select policies from usage_records where org_id = ${orgId} order by at desc limit 1`,
    )
    return rows[0]?.policies
  }

  it.each([
    ["a request", "mail ada@example.com"],
    ["a large request", `mail ada@example.com ${"more ".repeat(54_000)}`],
  ])("without a verdict about %s that may pass is in the record and the metric", async (_name, text) => {
    ;(await mask({ onFailure: "allow" })).mood = "killed"
    const before = await metric("weir_policy_hits_total", failed)
    gateway().vendor.script(answerOf("ok"))
    expect((await gateway().exchange(saying(text))).status).toBe(200)
    expect(await lastPolicies()).toEqual([{ policy: "masked-by-presidio", at: "request", count: 0, did: "failed" }])
    expect(await metric("weir_policy_hits_total", failed)).toBe(before + 1)
  })

  it("without a verdict that denies is in the metrics, and an event", async () => {
    ;(await mask()).mood = "killed"
    const names = [
      ["weir_policy_hits_total", failed],
      ["weir_reviews_total", [`mode="review"`, `verdict="failed"`]],
      ["weir_reviews_total", [`mode="review"`, `verdict="denied"`]],
    ] as const
    const counts = () => Promise.all(names.map(([name, labels]) => metric(name, labels)))
    const before = await counts()
    expect((await gateway().exchange(saying("mail ada@example.com"))).status).toBe(403)
    expect(await counts()).toEqual(before.map((count) => count + 1))
    const events = () =>
      Effect.runPromise(gateway().sql<{ data: unknown }>`
        select data from webhook_deliveries where data ->> 'policy' = 'masked-by-presidio'`)
    await eventually(async () => (await events()).length === 1)
    expect((await events())[0]?.data).toMatchObject({
      ...{ policy: "masked-by-presidio", reason: "review_unavailable", at: "request", model: "unknown" },
      ...{ appId: ids.app, requestId: expect.stringMatching(/^req_/) },
    })
  })

  it("without a verdict denies, or lets the request pass, as the policy says", async () => {
    const twin = await mask()
    twin.mood = "killed"
    const calls = gateway().vendor.calls.length
    expect(await errorOf(await gateway().exchange(saying("mail ada@example.com")))).toMatchObject({
      code: "content_blocked",
      detail: { reason: "review_unavailable" },
    })
    expect(gateway().vendor.calls.length).toBe(calls)
    ;(await mask({ onFailure: "allow" })).mood = "killed"
    gateway().vendor.script(answerOf("ok"))
    expect((await gateway().exchange(saying("mail ada@example.com"))).status).toBe(200)
  })
})
