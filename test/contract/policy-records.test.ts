/** Usage records, metrics and denials say which policies found something, and never the text. */
import { Schema } from "effect"
import { describe, expect, it } from "vitest"
import { PolicyHit } from "../../src/protocol/control/usage-record.ts"
import {
  answering,
  hello,
  newTestIds,
  openaiFrames,
  readEvents,
  testCatalogue,
  type VendorScript,
} from "../../src/testing/index.ts"
import { balanceOf, errorOf, holdsOf, lastUsage, useGateway } from "../support/gateway.ts"

const ids = newTestIds()
const policies = `
policies:
  - { id: mails, direction: both, match: { entities: [email] }, reason: personal_data, action: mask }
  - { id: words, direction: both, match: { keywords: [classified] }, reason: leak, streams: enforce }
  - { id: names, direction: both, match: { keywords: [codename] }, reason: name, action: flag, streams: enforce }
  - { id: quiet, direction: both, match: { keywords: [whisper] }, reason: quiet, action: shadow, streams: enforce }
`
const gateway = useGateway({
  ids,
  catalogue: (urls) =>
    testCatalogue(urls, ids, policies)
      // Long requests of this model cost more than the balance.
      .replace(/(model: claude, currency: USD, input: )"\d+"/, '$1"100"')
      .replace(/(- \{ id: org_\w+, name: Test,)/, "$1 policies: [mails, words, names, quiet],"),
})

const saying = (text: string) => ({ ...hello, thread: [{ role: "user", blocks: [{ t: "text", v: text }] }] })

const Rows = Schema.Struct({
  data: Schema.Array(Schema.Struct({ policies: Schema.optionalKey(Schema.Array(PolicyHit)) })),
})
type Rows = typeof Rows.Type

const recorded = async (): Promise<ReadonlyArray<string>> => {
  const { baseUrl, adminKey, orgId } = gateway()
  const response = await fetch(`${baseUrl}/v1/admin/orgs/${orgId}/usage?limit=1`, {
    headers: { "x-svc-admin-key": adminKey },
  })
  const { data }: Rows = Schema.decodeUnknownSync(Rows)(await response.json())
  expect(JSON.stringify(data)).not.toMatch(/example\.com|classified|codename|whisper/)
  return (data[0]?.policies ?? []).map((hit) => JSON.stringify(hit))
}
const hit = (policy: string, at: string, did: string, count = 1) => JSON.stringify({ policy, at, count, did })

const metric = async (labels: string): Promise<number> => {
  const text = await (await fetch(`${gateway().baseUrl}/metrics`)).text()
  const line = text.split("\n").find((each) => each.startsWith("weir_policy_hits_total") && each.includes(labels))
  return Number(line?.split(" ").at(-1) ?? 0)
}

describe.each([false, true])("stream: %s", (stream) => {
  const call = async (said: string, words: string) => {
    gateway().vendor.script(answering({ words: [words], inTokens: 100, outTokens: 20 }))
    const response = await gateway().exchange({ ...saying(said), stream })
    if (stream && response.status === 200) await readEvents(response)
    else await response.text()
    return response.status
  }

  it("records masks, flags and shadows of the request and the reply", async () => {
    const masked = 'policy="mails",at="request",did="masked"'
    const before = await metric(masked)
    expect(await call("I am ann@example.com and bob@example.com, whisper", "codename of cid@example.com")).toBe(200)
    const hits = await recorded()
    expect(hits).toHaveLength(4)
    for (const expected of [
      hit("mails", "request", "masked", 2),
      hit("quiet", "request", "shadow"),
      hit("names", "reply", "flagged"),
      hit("mails", "reply", "masked"),
    ])
      expect(hits.map((each) => JSON.parse(each))).toContainEqual(JSON.parse(expected))
    expect(await metric(masked)).toBe(before + 1)
  })

  it("records a reply that was denied, and bills it", async () => {
    expect(await call("Hello", "this is classified")).toBe(stream ? 200 : 403)
    expect((await recorded()).map((each) => JSON.parse(each))).toContainEqual(
      JSON.parse(hit("words", "reply", "denied")),
    )
  })

  it("counts a request that was denied, which has no record", async () => {
    const before = await metric('policy="words",at="request",did="denied"')
    expect(await call("this is classified", "fine")).toBe(403)
    expect(await metric('policy="words",at="request",did="denied"')).toBe(before + 1)
  })

  it("counts the matches of a request whose hold is refused", async () => {
    const before = await metric('policy="names",at="request",did="flagged"')
    const params = { promptTokensEstimate: 100_000_000 }
    const response = await gateway().exchange({ ...saying("the codename"), model: "claude", params, stream })
    expect(await errorOf(response)).toMatchObject({ code: "insufficient_balance" })
    expect(await metric('policy="names",at="request",did="flagged"')).toBe(before + 1)
  })

  it("has none where nothing was found", async () => {
    expect(await call("Hello", "fine")).toBe(200)
    expect(await recorded()).toEqual([])
  })
})

describe("a stream that breaks", () => {
  /** Sends some words, and then the connection breaks. */
  const breaking =
    (words: ReadonlyArray<string>): VendorScript =>
    async (call) => {
      call.head()
      for (const frame of openaiFrames({ words, inTokens: 100, outTokens: 20 }).slice(0, words.length + 1)) {
        await call.write(frame)
      }
      await call.wait(100)
      call.reset()
    }

  it("has the matches so far in its record, and its cost", async () => {
    gateway().vendor.script(breaking(["codename ", "whisper ", "and ", "more "]))
    const events = await readEvents(await gateway().exchange({ ...saying("whisper"), stream: true }))
    expect(events.at(-1)?.event).toBe("t.err")
    const hits = (await recorded()).map((each) => JSON.parse(each))
    for (const expected of [
      hit("quiet", "request", "shadow"),
      hit("names", "reply", "flagged"),
      hit("quiet", "reply", "shadow"),
    ])
      expect(hits).toContainEqual(JSON.parse(expected))
    expect(hits).toHaveLength(3)
    const last = await lastUsage(gateway())
    expect(last?.estimated_reason).toBe("upstream_disconnected")
    expect((await holdsOf(gateway())).filter(({ state }) => state === "held")).toEqual([])
  })
})

describe("the cost", () => {
  const costOf = async (said: string, words: string) => {
    gateway().vendor.script(answering({ words: [words], inTokens: 100, outTokens: 20 }))
    const before = await balanceOf(gateway())
    await (await gateway().exchange(saying(said))).text()
    return before - (await balanceOf(gateway()))
  }

  it("is that of the call, whether a policy finds nothing, flags, masks or denies its reply", async () => {
    const usual = await costOf("Hello", "fine")
    expect(usual).toBeGreaterThan(0n)
    expect(await costOf("I am ann@example.com", "codename of cid@example.com")).toBe(usual)
    expect(await costOf("Hello", "this is classified")).toBe(usual)
  })

  it("is nothing for a request that is denied", async () => {
    expect(await costOf("this is classified", "fine")).toBe(0n)
  })
})

it("has the matches in one cell of the table", async () => {
  gateway().vendor.script(answering({ words: ["codename"], inTokens: 100, outTokens: 20 }))
  await (await gateway().exchange(saying("I am ann@example.com, whisper"))).text()
  const { baseUrl, adminKey, orgId } = gateway()
  const response = await fetch(`${baseUrl}/v1/admin/orgs/${orgId}/usage.csv`, {
    headers: { "x-svc-admin-key": adminKey },
  })
  const [head = "", newest = ""] = (await response.text()).split("\r\n")
  expect(head.split(",")).toContain("policies")
  for (const found of ["mails", "quiet", "names"]) expect(newest).toContain(found)
  expect(newest).not.toMatch(/example\.com|whisper|codename/)
})
