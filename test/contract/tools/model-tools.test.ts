/** Tools of servers with models: one exchange lists them, makes the model's calls, and bills each round. */
import { Effect } from "effect"
import { afterAll, describe, expect, it } from "vitest"
import type { TwinScript } from "../../../src/testing/index.ts"
import { balanceOf, errorOf, replyOf, useGateway } from "../../support/gateway.ts"
import { startToolServer, textResult } from "../../support/tool-server.ts"
import { answerBy, onTwins, twinModels } from "../compatible/twin-vendors.ts"

const server = await startToolServer({
  isStateless: true,
  tools: {
    forecast: ({ params }) => textResult(`12 degrees in ${String(params["city"])}`),
    broken: () => textResult("no such city", { isError: true }),
    people: () => textResult("ada@example.com and the word tungsten"),
    long: () => textResult("x".repeat(200_000)),
  },
  definitions: {
    forecast: { inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] } },
  },
})
afterAll(() => server.stop())

const gateway = useGateway(() => {
  const options = onTwins()
  return {
    ...options,
    catalogue: (urls) =>
      `${options.catalogue?.(urls) ?? ""}
toolServers:
  - { id: weather, url: "${server.url}", price: { currency: USD, calls: "1000" } }
`.replace("unpriced] }", "unpriced], tools: ['*'] }"),
  }
})

const servers = [{ kind: "mcp", server: "weather" }]
const ask = (model: string, more: object = {}, text = "Weather in Oslo, Rome and Bergen?") =>
  gateway().call("POST", "/t1/exchange", {
    model: `twin-${model}`,
    thread: [{ role: "user", blocks: [{ t: "text", v: text }] }],
    tools: servers,
    params: { maxTokens: 1000 },
    ...more,
  })

/** Two cities at once, then a third, then the last result. */
const cities: TwinScript = ({ calls, texts }) => {
  const call = (city: string, n: number) =>
    ({ t: "call", id: `call_${n}`, name: "weather__forecast", args: JSON.stringify({ city }) }) as const
  if (calls === 0) return { blocks: [{ t: "text", pieces: ["Let me ", "look. "] }, call("Oslo", 1), call("Rome", 2)] }
  if (calls === 2) return { blocks: [{ t: "text", pieces: ["One ", "more. "] }, call("Bergen", 3)] }
  return { blocks: [{ t: "text", pieces: ["It is ", `${texts.join(", ")}.`] }] }
}

const records = () => {
  const { sql, orgId } = gateway()
  return Effect.runPromise(
    sql<{ purpose: string; cost: string; request_id: string | null }>`
      select purpose, cost::text, request_id from usage_records where org_id = ${orgId} order by at`,
  )
}

describe.each(twinModels)("an exchange with tools of a server, served by %s", (model) => {
  it("is one reply of several rounds", async () => {
    answerBy(gateway().vendor, cities)
    const before = await balanceOf(gateway())
    const known = (await records()).length
    const reply = await replyOf(await ask(model))
    expect(reply.stop).toBe("end")
    expect(reply.blocks.map(({ t }) => t).filter((t) => t !== "reasoning" && t !== "vendor")).toEqual([
      ...["text", "tool_call", "tool_call", "tool_result", "tool_result"],
      ...["text", "tool_call", "tool_result", "text"],
    ])
    expect(reply.blocks.at(-1)).toMatchObject({ t: "text", v: "It is 12 degrees in Bergen." })
    const made = (await records()).slice(known)
    expect(made.map(({ purpose }) => purpose).sort()).toEqual(["exchange", "tool", "tool", "tool"])
    expect(made.filter(({ purpose }) => purpose === "tool").map(({ cost }) => Number(cost))).toEqual([
      0.001, 0.001, 0.001,
    ])
    const spent = made.reduce((sum, { cost }) => sum + Number(cost), 0)
    expect(Number(before - (await balanceOf(gateway()))) / 1e10).toBeCloseTo(spent, 9)
  })

  it("streams each round", async () => {
    answerBy(gateway().vendor, cities)
    const text = await (await ask(model, { stream: true })).text()
    const events = text
      .split("\n\n")
      .filter((each) => each.includes("data: "))
      .map((each) => ({
        name: /event: (.*)/.exec(each)?.[1],
        data: JSON.parse(/data: (.*)/.exec(each)?.[1] ?? "null"),
      }))
    expect(events[0]?.name).toBe("t.open")
    expect(events.at(-1)?.name).toBe("t.close")
    const numbers = events.filter(({ name }) => name === "t.delta").map(({ data }) => data.i)
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b))
    const results = events.filter(({ data }) => data.t === "tool_result")
    expect(results.map(({ data }) => data.v)).toEqual([
      "12 degrees in Oslo",
      "12 degrees in Rome",
      "12 degrees in Bergen",
    ])
    const said = events.filter(({ data }) => data.t === "text").map(({ data }) => data.v)
    expect(said.join("")).toBe("Let me look. One more. It is 12 degrees in Bergen.")
  })

  it("goes on from its own reply", async () => {
    answerBy(gateway().vendor, cities)
    const { blocks } = await replyOf(await ask(model))
    answerBy(gateway().vendor, ({ calls }) => ({ blocks: [{ t: "text", pieces: [`after ${calls} calls`] }] }))
    const thread = [
      { role: "user", blocks: [{ t: "text", v: "Weather?" }] },
      { role: "assistant", blocks },
      { role: "user", blocks: [{ t: "text", v: "And now?" }] },
    ]
    expect(await replyOf(await ask(model, { thread }))).toMatchObject({ blocks: [{ v: "after 3 calls" }] })
  })
})

/** Calls a tool in each round, until it may not. */
const endless: TwinScript = ({ calls, choice }) =>
  choice === "none"
    ? { blocks: [{ t: "text", pieces: [`stopped after ${calls}`] }] }
    : { blocks: [{ t: "call", id: `call_${calls}`, name: "weather__forecast", args: '{"city":"Oslo"}' }] }

/** Calls a tool once. */
const once =
  (name: string): TwinScript =>
  ({ hasResults, texts }) =>
    hasResults
      ? { blocks: [{ t: "text", pieces: [`It says: ${texts.join()}`.slice(0, 60)] }] }
      : { blocks: [{ t: "call", id: "call_once", name, args: "{}" }] }

describe("rounds", () => {
  it("are at most as many as the client allows", async () => {
    answerBy(gateway().vendor, endless)
    const reply = await replyOf(await ask("openai", { params: { maxTokens: 100, maxRounds: 2 } }))
    expect(reply.blocks.at(-1)).toMatchObject({ v: "stopped after 2" })
  })

  it("go on after a tool that fails, and after a long result, which is cut", async () => {
    answerBy(gateway().vendor, once("weather__broken"))
    expect((await replyOf(await ask("openai"))).blocks).toMatchObject([
      { t: "tool_call" },
      { t: "tool_result", v: "no such city", isError: true },
      { t: "text" },
    ])
    answerBy(gateway().vendor, once("weather__long"))
    const [, result] = (await replyOf(await ask("openai"))).blocks
    expect(result).toMatchObject({ t: "tool_result", v: expect.stringMatching(/^x{1000,50000}\n\[cut off/) })
  })

  it("end with calls of the client's own tools, beside results of the others", async () => {
    answerBy(gateway().vendor, () => ({
      blocks: [
        { t: "call", id: "call_a", name: "weather__forecast", args: '{"city":"Oslo"}' },
        { t: "call", id: "call_b", name: "mine", args: "{}" },
      ],
    }))
    const mine = { name: "mine", inputSchema: { type: "object" } }
    const reply = await replyOf(await ask("openai", { tools: [mine, ...servers] }))
    expect(reply.stop).toBe("tool_call")
    expect(reply.blocks).toMatchObject([
      { t: "tool_call", id: "call_a" },
      { t: "tool_call", id: "call_b" },
      { t: "tool_result", id: "call_a", v: "12 degrees in Oslo" },
    ])
    answerBy(gateway().vendor, ({ texts }) => ({ blocks: [{ t: "text", pieces: [texts.join("+")] }] }))
    const thread = [
      { role: "user", blocks: [{ t: "text", v: "Weather?" }] },
      { role: "assistant", blocks: reply.blocks },
      { role: "tool", blocks: [{ t: "tool_result", id: "call_b", v: "mine is done" }] },
    ]
    const next = await replyOf(await ask("openai", { tools: [mine, ...servers], thread }))
    expect(next.blocks).toMatchObject([{ v: "12 degrees in Oslo+mine is done" }])
  })
})

describe("approval", () => {
  const tools = [{ kind: "mcp", server: "weather", approval: "always" }]
  const question = { role: "user", blocks: [{ t: "text", v: "Weather?" }] }
  const call = { t: "call", id: "call_1", name: "weather__forecast", args: '{"city":"Oslo"}' } as const
  const answer: TwinScript = ({ calls, texts }) =>
    calls === 0 ? { blocks: [call] } : { blocks: [{ t: "text", pieces: [texts.join()] }] }

  it("ends the exchange with the call, and the next one makes it", async () => {
    answerBy(gateway().vendor, answer)
    const runs = server.runs.get("forecast") ?? 0
    const first = await replyOf(await ask("openai", { tools }))
    expect(first).toMatchObject({ stop: "tool_call", blocks: [{ t: "tool_call", id: "call_1" }] })
    expect(server.runs.get("forecast") ?? 0).toBe(runs)
    const approval = (more: object) => [
      question,
      { role: "assistant", blocks: first.blocks },
      { role: "tool", blocks: [{ t: "approval", id: "call_1", ...more }] },
    ]
    const next = await replyOf(await ask("openai", { tools, thread: approval({ approve: true }) }))
    expect(next.blocks).toMatchObject([
      { t: "tool_result", id: "call_1", v: "12 degrees in Oslo" },
      { t: "text", v: "12 degrees in Oslo" },
    ])
    expect(server.runs.get("forecast")).toBe(runs + 1)
    const streamed = await (await ask("openai", { tools, thread: approval({ approve: true }), stream: true })).text()
    expect(streamed).toMatch(/t\.open.*"i":0,"t":"tool_result".*"i":1,"t":"text"/s)
    const refused = await replyOf(
      await ask("openai", { tools, thread: approval({ approve: false, reason: "too dear" }) }),
    )
    expect(refused.blocks).toMatchObject([{ t: "text", v: "The user does not allow this call: too dear" }])
  })
})

describe("an exchange is refused", () => {
  it("with a server that is not there, and with several replies", async () => {
    expect(await errorOf(await ask("openai", { tools: [{ kind: "mcp", server: "other" }] }))).toMatchObject({
      status: 400,
      detail: { issues: [{ path: "tools" }] },
    })
    expect(await errorOf(await ask("openai", { params: { n: 2 } }))).toMatchObject({
      status: 400,
      detail: { issues: [{ path: "params.n" }] },
    })
  })
})
