/** A call of a tool, beside a proxy that passes it on unread: free, and with a price, which the books know before it is sent. */
import { costs, nothing } from "./costs.ts"
import { drive, percentile } from "./load.ts"
import type { Scenario } from "./scenario.ts"

const message = (name: string) => ({
  jsonrpc: "2.0",
  id: 1,
  method: "tools/call",
  params: {
    name,
    arguments: { river: "Aare", days: 3 },
    _meta: {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientCapabilities": {},
    },
  },
})
const headersOf = (name: string) => ({
  "x-svc-key-id": "key_bench",
  "x-svc-key": "secret",
  "mcp-protocol-version": "2026-07-28",
  "mcp-method": "tools/call",
  "mcp-name": name,
})

export const tools: Scenario = async ({ floor, weir }, { rounds, scale }) => {
  const { origin } = floor.exchange("short")
  const passed = { origin, path: "/mcp", headers: headersOf("look"), body: JSON.stringify(message("look")) }
  const free = weir.call("/mcp", message("free__look"), headersOf("free__look"))
  const paid = weir.call("/mcp", message("paid__look"), headersOf("paid__look"))
  const subjects = [
    { subject: floor, endpoint: passed },
    { subject: weir, endpoint: free },
    { subject: weir, endpoint: paid },
  ]
  const [least = nothing, unpaid = nothing, priced = nothing] = await costs(subjects, 2000 * scale, 32, rounds)
  const one = await drive(paid, { requests: 300 * scale, inFlight: 1 })
  const alone = await drive(passed, { requests: 300 * scale, inFlight: 1 })
  return [
    {
      what: "CPU per call of a free tool",
      unit: "µs",
      floor: least.us,
      weir: unpaid.us,
      spread: unpaid.spread,
      note: `${unpaid.perSecond.toFixed(0)} calls/s`,
      budget: { of: "ratio", max: 2.5 },
    },
    {
      what: "CPU per call of a tool with a price",
      unit: "µs",
      floor: least.us,
      weir: priced.us,
      spread: priced.spread,
      note: `in the books before it is sent; ${priced.perSecond.toFixed(0)} calls/s`,
    },
    {
      what: "one call of a tool with a price at a time, p50 above the floor's",
      unit: "ms",
      weir: percentile(one.wholeMs, 0.5) - percentile(alone.wholeMs, 0.5),
    },
  ]
}
