/** Checks of the exchange, whole and streamed. */
import { Bundle } from "../protocol/control/bundle.ts"
import { ExchangeResponse } from "../protocol/exchange.ts"
import { CheckSkipped, decode, eventsOf, expectError, expectThat, type Group } from "./probe.ts"

export const exchangeChecks: Group = {
  section: "Exchange",
  checks: [
    {
      name: "a whole reply has blocks, stop, usage and the header's request id",
      run: async (probe) => {
        const reply = await probe.send("/t1/exchange", { body: probe.ask() })
        const { requestId, model, usage } = decode(reply, ExchangeResponse)
        expectThat(reply.headers.get("x-svc-request-id") === requestId, "x-svc-request-id is not the body's")
        expectThat(model === probe.deployment.model, `the reply names model ${model}`)
        return `${usage.inTokens} in, ${usage.outTokens} out, ${usage.cost} ${usage.currency}`
      },
    },
    {
      name: "a stream opens, counts its events, reports its usage and closes once",
      run: async (probe) => {
        const events = eventsOf(await probe.send("/t1/exchange", { body: probe.ask({ stream: true }) }))
        const names = events.map(({ event }) => event)
        expectThat(names[0] === "t.open", `the first event is ${names[0]}`)
        const lasts = names.filter((name) => name === "t.close" || name === "t.err")
        expectThat(lasts.length === 1 && names.at(-1) === lasts[0], `the last events are ${lasts.join(", ")}`)
        expectThat(names.at(-1) === "t.close", `it ended in ${JSON.stringify(events.at(-1)?.data)}`)
        expectThat(names.includes("t.usage"), "it has no t.usage")
        expectThat(
          events.every(({ id }, at) => id === String(at)),
          `the ids are ${events.map(({ id }) => id).join(", ")}`,
        )
        return `${names.filter((name) => name === "t.delta").length} deltas`
      },
    },
    {
      name: "a model outside the surface is refused, known or not",
      run: async (probe) => {
        expectError(
          await probe.send("/t1/exchange", { body: probe.ask({ model: "no-such-model" }) }),
          "model_not_authorized",
        )
      },
    },
    {
      name: "a malformed purpose is refused, an unheard one recorded",
      run: async (probe) => {
        expectError(
          await probe.send("/t1/exchange", { body: probe.ask({ meta: { purpose: "No Purpose" } }) }),
          "bad_request",
        )
        decode(
          await probe.send("/t1/exchange", { body: probe.ask({ meta: { purpose: "conformance" } }) }),
          ExchangeResponse,
        )
      },
    },
    {
      name: "what does not fit the context window is refused before it costs",
      run: async (probe) => {
        const { models } = decode(await probe.send("/t1/config", { method: "GET" }), Bundle)
        const model = models.find(({ handle }) => handle === probe.deployment.model)
        if (model?.contextWindow === undefined) throw new CheckSkipped("the model has no context window")
        const params = { promptTokensEstimate: model.contextWindow }
        expectError(await probe.send("/t1/exchange", { body: probe.ask({ params }) }), "context_window_exceeded")
      },
    },
    {
      name: "an answer by a JSON Schema, single tool calls and a budget for reasoning are honoured or refused by name",
      run: async (probe) => {
        const tools = [{ name: "weather", inputSchema: { type: "object", properties: {} } }]
        const asked: ReadonlyArray<readonly [capability: string, Readonly<Record<string, unknown>>]> = [
          ["output", { params: { output: { schema: { type: "object", properties: {} }, strict: true } } }],
          ["output", { params: { output: "json" } }],
          ["effort", { params: { effort: "low" } }],
          ["parallel_tool_calls", { tools, params: { parallelToolCalls: false } }],
          ["reasoning", { params: { reasoningBudget: 2048 } }],
        ]
        const refused: Array<string> = []
        for (const [capability, more] of asked) {
          const reply = await probe.send("/t1/exchange", { body: probe.ask(more) })
          if (reply.status === 200) decode(reply, ExchangeResponse)
          else {
            const { detail } = expectError(reply, "bad_request")
            const named = detail?.["capability"]
            expectThat(named === capability || named === "tools", `the refusal names ${String(named)}`)
            refused.push(capability)
          }
        }
        return refused.length === 0 ? "all honoured" : `refused: ${refused.join(", ")}`
      },
    },
    {
      name: "malformed parameters are refused",
      run: async (probe) => {
        const malformed: ReadonlyArray<object> = [
          { output: {} },
          { output: "text" },
          { effort: "most" },
          { reasoningDisplay: "whole" },
          { output: { schema: [] } },
          { output: { schema: {}, name: "no name" } },
          { parallelToolCalls: "no" },
          { reasoningBudget: -1 },
          { reasoningBudget: 1.5 },
        ]
        for (const params of malformed) {
          expectError(await probe.send("/t1/exchange", { body: probe.ask({ params }) }), "bad_request")
        }
      },
    },
    {
      name: "the text of a call's input is refused where it is another's",
      run: async (probe) => {
        for (const json of ["{", "[]", `{"city":"Rome"}`, `{"city":"Rome","city":"Oslo"}`]) {
          const call = { t: "tool_call", id: "call_1", name: "weather", input: { city: "Oslo" }, json }
          const thread = [{ role: "assistant", blocks: [call] }]
          expectError(await probe.send("/t1/exchange", { body: probe.ask({ thread }) }), "bad_request")
        }
      },
    },
    {
      name: "a result has text or blocks, pictures have one of four details, and prefixes one of two lives",
      run: async (probe) => {
        const result = { t: "tool_result", id: "call_1" }
        const picture = { t: "image", mime: "image/png", data: "iVBORw0KGgo=" }
        const blocks: ReadonlyArray<object> = [
          result,
          { ...result, blocks: [] },
          { ...result, v: "7", blocks: [picture] },
          { ...result, blocks: [{ ...result, v: "7" }] },
          { ...picture, detail: "most" },
          { t: "text", v: "Hi", cacheable: "2h" },
        ]
        for (const block of blocks) {
          const thread = [{ role: "user", blocks: [block] }]
          expectError(await probe.send("/t1/exchange", { body: probe.ask({ thread }) }), "bad_request")
        }
      },
    },
    {
      name: "an empty thread is refused",
      run: async (probe) => {
        expectError(await probe.send("/t1/exchange", { body: probe.ask({ thread: [] }) }), "bad_request")
      },
    },
  ],
}
