/** SDKs for Python, unchanged, against a whole gateway. SVC_TEST_PYTHON is an interpreter that has `openai` and `anthropic`. */
import { Schema } from "effect"
import { expect, it } from "vitest"
import type { VendorScript } from "../../../src/testing/scripted-vendor.ts"
import { answering, openaiFrame } from "../../../src/testing/vendor-replies.ts"
import { eventually, useGateway } from "../../support/gateway.ts"
import { python, runPython } from "./run-python.ts"
import { breaksOff, stalls, thinks, thought } from "./vendors.ts"

const gateway = useGateway()
const answer = { words: ["Hello", " ", "there"], inTokens: 1000, outTokens: 200, cachedTokens: 400 }

const call = (id: string, city: string) => ({
  id,
  type: "function",
  function: { name: "weather", arguments: JSON.stringify({ city }) },
})
const toolCalls = [call("call_1", "Oslo"), call("call_2", "Rome")]

/** Calls tools where the question asks for it, and breaks where it asks for that. */
const script: VendorScript = async (vendorCall) => {
  const text = JSON.stringify(vendorCall.body["messages"])
  if (text.includes('"break"')) return breaksOff(vendorCall)
  if (text.includes('"stall"')) return stalls(vendorCall)
  if (text.includes('"think"')) return text.includes('"Why?"') ? thinksOn(vendorCall) : thinks(vendorCall)
  if (!text.includes('"tools"') || text.includes('"role":"tool"')) return answering(answer)(vendorCall)
  const usage = { prompt_tokens: 10, completion_tokens: 5 }
  const choice = { index: 0, finish_reason: "tool_calls" }
  if (vendorCall.streaming) {
    vendorCall.head()
    const delta = { tool_calls: toolCalls.map((one, index) => ({ index, ...one })) }
    return vendorCall.end(openaiFrame({ choices: [{ ...choice, delta }], usage }) + openaiFrame("[DONE]"))
  }
  vendorCall.head(200, { "content-type": "application/json" })
  const message = { role: "assistant", content: null, tool_calls: toolCalls }
  vendorCall.end(JSON.stringify({ choices: [{ ...choice, message }], usage }))
}

/** The second turn: what was signed in the first has come back. */
const thinksOn: VendorScript = (vendorCall) => {
  expect(vendorCall.body["messages"]).toMatchObject([{}, { content: thought }, {}])
  return answering(answer)(vendorCall)
}

const Checked = Schema.fromJsonString(Schema.Array(Schema.String))

it.skipIf(python === undefined)(
  "OpenAI's and Anthropic's SDKs for Python work unchanged",
  async () => {
    gateway().vendor.script(script)
    const env = { BASE_URL: gateway().baseUrl, API_KEY: `${gateway().keyId}~${gateway().key}` }
    const { code, out, errors } = await runPython("sdks.py", env)
    expect(errors).toBe("")
    expect(code).toBe(0)
    expect(Schema.decodeUnknownSync(Checked)(out).length).toBeGreaterThan(35)
    const stalled = gateway().vendor.calls.filter(({ body }) => JSON.stringify(body).includes('"stall"'))
    await eventually(() => stalled.every(({ hungUpAt }) => hungUpAt !== undefined))
    expect(stalled).toHaveLength(3)
  },
  60_000,
)
