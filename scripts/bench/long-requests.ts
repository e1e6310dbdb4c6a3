/** Long requests: what a coding agent's turn costs in each API, and how long the event loop is blocked for larger ones. */
import { costs, nothing, ratioByRound } from "./costs.ts"
import { drive, type Endpoint, median } from "./load.ts"
import { type Measured, startMeasured } from "./preloaded.ts"
import type { Row, Scenario } from "./scenario.ts"

const prose = "The river carries what it is given, and asks for nothing but a bed to lie in. "
const parameters = {
  type: "object",
  properties: Object.fromEntries(
    ["path", "pattern", "limit", "offset", "command"].map((name) => [
      name,
      { type: "string", description: prose.repeat(2) },
    ]),
  ),
  required: ["path"],
}

/** A turn of an agent: calls of tools with their results, and what the model said between. */
const turns = (count: number, bytes: number) =>
  Array.from({ length: count }, (_, at) => ({
    id: `call_${at}`,
    said: prose,
    input: { path: `src/file${at}.ts`, limit: String(at) },
    result: `${at}\n${prose.repeat(Math.ceil(bytes / prose.length))}`.slice(0, bytes),
  }))

/** 160 messages and 30 tools. */
const agent = turns(53, 2300)
const names = (count: number) => Array.from({ length: count }, (_, at) => `tool_${at}`)

/** The long request of an agent, in twp/1. */
export const longTwp = (model: string) => ({
  model,
  thread: [
    { role: "system", blocks: [{ t: "text", v: prose.repeat(40) }] },
    { role: "user", blocks: [{ t: "text", v: prose }] },
    ...agent.flatMap(({ id, said, input, result }) => [
      {
        role: "assistant",
        blocks: [
          { t: "text", v: said },
          { t: "tool_call", id, name: "tool_1", input },
        ],
      },
      { role: "tool", blocks: [{ t: "tool_result", id, v: result }] },
      { role: "user", blocks: [{ t: "text", v: "go on" }] },
    ]),
  ],
  tools: names(30).map((name) => ({ name, description: prose.repeat(3), inputSchema: parameters })),
})

/** The same as chat completions. */
export const longChat = (model: string) => ({
  model,
  messages: [
    { role: "system", content: prose.repeat(40) },
    { role: "user", content: prose },
    ...agent.flatMap(({ id, said, input, result }) => [
      {
        role: "assistant",
        content: said,
        tool_calls: [{ id, type: "function", function: { name: "tool_1", arguments: JSON.stringify(input) } }],
      },
      { role: "tool", tool_call_id: id, content: result },
      { role: "user", content: "go on" },
    ]),
  ],
  tools: names(30).map((name) => ({ type: "function", function: { name, description: prose.repeat(3), parameters } })),
})

/** A request like those of Claude Code: system blocks with cache marks, and 60 tools. */
const anthropic = (model: string) => ({
  model,
  max_tokens: 1000,
  system: [prose.repeat(20), prose.repeat(20)].map((text) => ({
    type: "text",
    text,
    cache_control: { type: "ephemeral" },
  })),
  messages: [
    { role: "user", content: prose },
    ...agent.flatMap(({ id, said, input, result }) => [
      {
        role: "assistant",
        content: [
          { type: "text", text: said },
          { type: "tool_use", id, name: "tool_1", input },
        ],
      },
      { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: result }] },
    ]),
  ],
  tools: names(60).map((name) => ({ name, description: prose.repeat(3), input_schema: parameters })),
})

const responses = (model: string) => ({
  model,
  store: false,
  instructions: prose.repeat(40),
  input: [
    { role: "user", content: prose },
    ...agent.flatMap(({ id, said, input, result }) => [
      { role: "assistant", content: said },
      { type: "function_call", call_id: id, name: "tool_1", arguments: JSON.stringify(input) },
      { type: "function_call_output", call_id: id, output: result },
      { role: "user", content: "go on" },
    ]),
  ],
  tools: names(30).map((name) => ({ type: "function", name, description: prose.repeat(3), parameters })),
})

export const largeText = (bytes: number) => ({
  model: "agent",
  thread: turns(40, bytes / 40).map(({ result }) => ({ role: "user", blocks: [{ t: "text", v: result }] })),
})
const pictures = (bytes: number) => ({
  model: "agent",
  thread: [
    {
      role: "user",
      blocks: Array.from({ length: 4 }, () => ({
        t: "image",
        mime: "image/png",
        data: Buffer.alloc((bytes / 4) * 0.75, 7).toString("base64"),
      })),
    },
  ],
})

const mib = 2 ** 20

/** The longest standstill while such requests come, two at once: the median of several. */
const standstill = async ({ read }: Measured, endpoint: Endpoint, rounds: number): Promise<number> => {
  const longest: Array<number> = []
  await drive(endpoint, { requests: 4, inFlight: 2 })
  for (let round = 0; round < rounds; round++) {
    await read()
    await drive(endpoint, { requests: 6, inFlight: 2 })
    longest.push(await read())
  }
  return median(longest)
}

export const longRequests: Scenario = async (subjects, { rounds, scale }) => {
  const { floor, weir } = subjects
  const passed = JSON.stringify(longChat("short"))
  const passedMib = JSON.stringify({ model: "short", messages: [{ role: "user", content: "x".repeat(mib) }] })
  const calls: ReadonlyArray<readonly [string, Endpoint, string]> = [
    ["twp/1", weir.call("/t1/exchange", longTwp("agent")), passed],
    ["chat completions", weir.call("/openai/v1/chat/completions", longChat("agent")), passed],
    ["messages, 60 tools", weir.call("/anthropic/v1/messages", anthropic("agent")), passed],
    ["responses", weir.call("/openai/v1/responses", responses("agent")), passed],
    ["twp/1, of text", weir.call("/t1/exchange", largeText(mib)), passedMib],
  ]
  const rows: Array<Row> = []
  for (const [name, endpoint, body] of calls) {
    const pair = [
      { subject: floor, endpoint: { ...floor.exchange("short"), path: "/", body } },
      { subject: weir, endpoint },
    ]
    await drive(endpoint, { requests: 300 * scale, inFlight: 8 })
    const [plain = nothing, cost = nothing] = await costs(pair, 200 * scale, 8, 3 * rounds)
    const ratio = ratioByRound(cost, plain)
    rows.push({
      what: `CPU per request of ${Math.round(endpoint.body.length / 1000)} KB, ${name}`,
      unit: "µs",
      floor: plain.us,
      weir: plain.us * ratio,
      spread: cost.spread,
      note: `floor: ${Math.round(body.length / 1000)} KB passed through`,
      ...(name === "twp/1" && { budget: { of: "ratio" as const, max: 3.2 } }),
    })
  }
  const watched = await startMeasured(subjects, "longest-turn")
  for (const [what, body] of [
    ["4.6 MB of text", largeText(4.6 * mib)],
    ["7 MB of pictures", pictures(7 * mib)],
    ["20 MB of text", largeText(20 * mib)],
    ["20 MB of pictures", pictures(20 * mib)],
  ] as const) {
    const ms = await standstill(watched, watched.weir.call("/t1/exchange", body), 2 * rounds + 1)
    rows.push({
      what: `longest standstill of the event loop while requests of ${what} come, two at once, in CPU time`,
      unit: "ms",
      weir: ms,
      budget: { of: "value", max: 20 },
    })
  }
  watched.remove()
  return rows
}
