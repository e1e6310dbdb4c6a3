/** Checks of handshake, configuration, heartbeats, client usage reports and web search. */

import { Budgets } from "../protocol/control/budget.ts"
import { Bundle } from "../protocol/control/bundle.ts"
import { SearchResponse } from "../protocol/kinds/search.ts"
import { HandshakeResponse, HeartbeatResponse } from "../protocol/session.ts"
import { UsageReceipt } from "../protocol/usage-report.ts"
import { newUlid } from "../protocol/values/ulid.ts"
import { CheckSkipped, decode, expectError, expectThat, type Group, type Probe } from "./probe.ts"

const beat = (probe: Probe, body: object = {}) => probe.send("/t1/heartbeat", { body })
const openSession = async (probe: Probe) => decode(await beat(probe), HeartbeatResponse).sessionId
const end = (probe: Probe, id: string) => probe.send(`/t1/sessions/${id}`, { method: "DELETE" })

export const sessionChecks: Group = {
  section: "Sessions and configuration",
  checks: [
    {
      name: "the handshake agrees on twp/1, and refuses what it does not speak",
      run: async (probe) => {
        const agreed = decode(
          await probe.send("/t1/handshake", { body: { protocols: ["twp/9", "twp/1"] } }),
          HandshakeResponse,
        )
        expectThat(agreed.protocol === "twp/1", `it agreed on ${agreed.protocol}`)
        expectError(await probe.send("/t1/handshake", { body: { protocols: ["twp/9"] } }), "protocol_unsupported")
      },
    },
    {
      name: "the configuration has an ETag that holds, and is the heartbeat's configVersion",
      run: async (probe) => {
        const reply = await probe.send("/t1/config", { method: "GET" })
        const { configVersion } = decode(reply, Bundle)
        const etag = reply.headers.get("etag")
        expectThat(etag === `"${configVersion}"`, `ETag ${etag} of configVersion ${configVersion}`)
        const again = await probe.send("/t1/config", { method: "GET", headers: { "if-none-match": etag ?? "" } })
        expectThat(again.status === 304 && again.text === "", `status ${again.status} for an ETag that holds`)
        const session = newUlid(Date.now())
        const decoded = decode(await beat(probe, { sessionId: session, configVersion }), HeartbeatResponse)
        await end(probe, session)
        expectThat(
          decoded.configVersion === configVersion && !decoded.configStale,
          "the heartbeat has another fingerprint",
        )
      },
    },
    {
      name: "the rest of the caller's budgets is returned, and adds up",
      run: async (probe) => {
        const { budgets } = decode(await probe.send("/t1/budgets", { method: "GET" }), Budgets)
        for (const { id, unit, limit, used, left } of budgets) {
          const rest = Math.max(0, Number(limit) - Number(used))
          expectThat(Math.abs(rest - Number(left)) < 1e-6, `${id}: ${left} is left of ${limit} after ${used} ${unit}`)
        }
        return `${budgets.length} budgets`
      },
    },
    {
      name: "a configuration that is another is stale; none is not",
      run: async (probe) => {
        const session = newUlid(Date.now())
        const stale = decode(await beat(probe, { sessionId: session, configVersion: "old" }), HeartbeatResponse)
        const silent = decode(await beat(probe, { sessionId: session }), HeartbeatResponse)
        await end(probe, session)
        expectThat(stale.configStale && !silent.configStale, `stale: ${stale.configStale}, ${silent.configStale}`)
      },
    },
    {
      name: "a session is opened, renewed under its id, and ended for ever",
      run: async (probe) => {
        const id = await openSession(probe)
        const renewed = decode(await beat(probe, { sessionId: id }), HeartbeatResponse)
        expectThat(renewed.sessionId === id, "a renewal came under another id")
        const ended = await end(probe, id)
        expectThat(ended.status === 204, `status ${ended.status} for an end`)
        const { detail } = expectError(await beat(probe, { sessionId: id }), "session_archived")
        expectThat(detail?.["sessionId"] === id, "detail.sessionId is not the session's")
        expectError(
          await probe.send("/t1/exchange", { body: probe.ask({ meta: { sessionId: id } }) }),
          "session_archived",
        )
      },
    },
    {
      name: "a session that nobody opened is not_found",
      run: async (probe) => {
        expectError(await beat(probe, { sessionId: "nobody-opened-this" }), "not_found")
      },
    },
    {
      name: "a heartbeat carries no content",
      run: async (probe) => {
        expectError(await beat(probe, { meta: { prompt: "secret" } }), "bad_request")
        expectError(await beat(probe, { text: "secret" }), "bad_request")
      },
    },
    {
      name: "a client's usage is taken once for each event, and nothing beyond its fields",
      run: async (probe) => {
        const event = {
          clientEventId: newUlid(Date.now()),
          modelHandle: probe.deployment.model,
          modelId: "conformance",
          inTokens: 1,
          outTokens: 1,
          cacheReadTokens: 0,
          cacheWriteTokens: 0,
          estimated: false,
          occurredAt: new Date().toISOString(),
        }
        const first = decode(await probe.send("/t1/usage", { body: { events: [event] } }), UsageReceipt)
        const second = decode(await probe.send("/t1/usage", { body: { events: [event] } }), UsageReceipt)
        expectThat(first.accepted === 1 && second.duplicates === 1, "an event was taken twice")
        expectError(
          await probe.send("/t1/usage", { body: { events: [{ ...event, prompt: "secret" }] } }),
          "bad_request",
        )
      },
    },
    {
      name: "a search is answered in one shape, and a blank one refused",
      run: async (probe) => {
        expectError(await probe.send("/t1/websearch", { body: { query: " " } }), "bad_request")
        const reply = await probe.send("/t1/websearch", { body: { query: "rivers", max_results: 3 } })
        if (reply.text.includes("websearch_not_configured")) throw new CheckSkipped("no search is configured")
        const { results } = decode(reply, SearchResponse)
        expectThat(results.length <= 3, `${results.length} results where 3 were asked for`)
      },
    },
  ],
}
