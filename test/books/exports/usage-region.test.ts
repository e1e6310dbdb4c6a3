/** The region in which a vendor says that it answered: on its way from the reply to every place that shows a usage record. */
import { describe, expect, it } from "vitest"
import { answering, hello } from "../../../src/testing/index.ts"
import { nobody } from "../../support/budget-calls.ts"
import { replyOf } from "../../support/gateway.ts"
import { eventually, useExports } from "../../support/use-exports.ts"

const { ids, gateway, ask, parquet, exportedRefs } = useExports()
const region = "East US 2"

const read = async (path: string) => {
  const reply = await gateway().call("GET", path, undefined, { ...nobody, "x-svc-admin-key": gateway().adminKey })
  expect(reply.status).toBe(200)
  return reply.text()
}

describe("the region of a vendor's reply", () => {
  it("is in statement, table, log, detail and export; a reply without one has none", async () => {
    const answer = answering({ words: ["x"], inTokens: 10, outTokens: 2 })
    gateway().vendor.script((call) =>
      answer({ ...call, head: (status, headers = {}) => call.head(status, { ...headers, "x-ms-region": region }) }),
    )
    const { requestId } = await replyOf(await gateway().exchange(hello))
    gateway().vendor.script((call) =>
      answer({ ...call, head: (status, headers = {}) => call.head(status, { ...headers, "x-ms-region": "<script>" }) }),
    )
    const { requestId: unnamed } = await replyOf(await gateway().exchange(hello))

    const statement = JSON.parse(await read(`/v1/admin/orgs/${ids.org}/usage`))
    const regions = new Map(statement.data.map((row: Record<string, string>) => [row["requestId"], row["region"]]))
    expect([regions.get(requestId), regions.get(unnamed)]).toEqual([region, undefined])

    const [head = "", ...rows] = (await read(`/v1/admin/orgs/${ids.org}/usage.csv`)).trim().split("\r\n")
    const column = head.split(",").indexOf("region")
    expect(column).toBeGreaterThan(0)
    expect(rows.find((row) => row.includes(requestId))?.split(",")[column]).toBe(region)

    const log = JSON.parse(await read(`/v1/admin/exchanges?org=${ids.org}`))
    const logged = log.data.find(({ id }: { id: string }) => id === requestId)
    expect(logged.region).toBe(region)
    const detail = JSON.parse(
      await read(`/v1/admin/orgs/${ids.org}/exchanges/${requestId}?at=${encodeURIComponent(logged.at)}`),
    )
    expect(detail.region).toBe(region)

    await eventually(async () => (await exportedRefs()).includes(requestId))
    expect(await ask(`select region from ${parquet("usage")} where ref = '${requestId}'`)).toEqual([{ region }])
  })
})
