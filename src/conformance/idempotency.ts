/** Checks of idempotency: one request id gives one vendor call and one charge. */

import { ExchangeResponse, InProgress } from "../protocol/exchange.ts"
import { newUlid } from "../protocol/values/ulid.ts"
import { decode, eventsOf, expectError, expectThat, type Group } from "./probe.ts"

const fresh = () => ({ meta: { requestId: newUlid(Date.now()) } })

export const idempotencyChecks: Group = {
  section: "Idempotency",
  checks: [
    {
      name: "the same call again has the same answer, marked as a replay",
      run: async (probe) => {
        const body = probe.ask(fresh())
        const first = await probe.send("/t1/exchange", { body })
        decode(first, ExchangeResponse)
        const second = await probe.send("/t1/exchange", { body })
        expectThat(second.headers.get("x-svc-idempotent-replay") === "1", "x-svc-idempotent-replay is missing")
        expectThat(second.text === first.text, "the second answer is another")
      },
    },
    {
      name: "another call under the same id is idempotency_conflict",
      run: async (probe) => {
        const meta = fresh()
        decode(await probe.send("/t1/exchange", { body: probe.ask(meta) }), ExchangeResponse)
        const other = probe.ask({ ...meta, params: { maxTokens: 65 } })
        expectError(await probe.send("/t1/exchange", { body: other }), "idempotency_conflict")
      },
    },
    {
      name: "a stream cannot be had twice: idempotency_conflict, not replayable",
      run: async (probe) => {
        const body = probe.ask({ ...fresh(), stream: true })
        eventsOf(await probe.send("/t1/exchange", { body }))
        const { detail } = expectError(await probe.send("/t1/exchange", { body }), "idempotency_conflict")
        expectThat(detail?.["replayable"] === false, `detail is ${JSON.stringify(detail)}`)
      },
    },
    {
      name: "ten at once are one answer, and nine that wait or have the same",
      run: async (probe) => {
        const body = probe.ask(fresh())
        const replies = await Promise.all(Array.from({ length: 10 }, () => probe.send("/t1/exchange", { body })))
        const answers = replies.filter(({ status }) => status === 200)
        for (const reply of replies.filter(({ status }) => status !== 200)) decode(reply, InProgress, 202)
        const own = answers.filter(({ headers }) => headers.get("x-svc-idempotent-replay") === null)
        expectThat(own.length === 1, `${own.length} of ten were answered by a call of their own`)
        expectThat(new Set(answers.map(({ text }) => text)).size === 1, "the answers differ")
      },
    },
  ],
}
