/** One gateway for all tests of a file. */
import { setTimeout as sleep } from "node:timers/promises"
import { Effect, Exit, Schema, Scope } from "effect"
import { afterAll, beforeAll, expect } from "vitest"
import { ErrorEnvelope } from "../../src/protocol/error.ts"
import { ExchangeResponse } from "../../src/protocol/exchange.ts"
import { type GatewayOptions, startGateway, type TestGateway } from "../../src/testing/gateway.ts"

/**
 * Starts a gateway before the tests of a file and stops it after them.
 * @param options a function if they depend on other servers
 */
export const useGateway = (options: GatewayOptions | (() => GatewayOptions) = {}): (() => TestGateway) => {
  const scope = Scope.makeUnsafe()
  let gateway: TestGateway | undefined
  beforeAll(async () => {
    gateway = await Effect.runPromise(
      Scope.provide(startGateway(typeof options === "function" ? options() : options), scope),
    )
  })
  afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))
  return () => {
    if (gateway === undefined) throw new Error("the gateway has not started")
    return gateway
  }
}

const decodeEnvelope = Schema.decodeUnknownSync(ErrorEnvelope, { onExcessProperty: "error" })
const decodeReply = Schema.decodeUnknownSync(ExchangeResponse, { onExcessProperty: "error" })

/** The error of a reply; checks the envelope and its request id against the header. */
export const errorOf = async (response: Response) => {
  const { error } = decodeEnvelope(await response.json())
  expect(error.requestId).toBe(response.headers.get("x-svc-request-id"))
  return { status: response.status, ...error }
}

/** A whole reply, checked against its schema. */
export const replyOf = async (response: Response): Promise<ExchangeResponse> => decodeReply(await response.json())

/** Waits until a condition is true, or fails. A condition that takes long is checked less often: each check takes time from other tests. */
export const eventually = async (check: () => boolean | Promise<boolean>, withinMs = 15_000): Promise<void> => {
  const startedAt = Date.now()
  while (!(await check())) {
    const waitedMs = Date.now() - startedAt
    if (waitedMs > withinMs) throw new Error("the condition did not become true in time")
    await sleep(Math.min(5 + waitedMs / 10, 50))
  }
}

/** The balance of the test's organisation. */
export const balanceOf = ({ ledger, orgId }: TestGateway): Promise<bigint> =>
  Effect.runPromise(ledger.balance(orgId, "USD"))

interface HoldRow {
  readonly state: "settled" | "held"
  readonly cost: string | null
}

/** The settled holds of the test's organisation, oldest first, then its open ones. */
export const holdsOf = async ({ sql, ledger, orgId }: TestGateway): Promise<ReadonlyArray<HoldRow>> => {
  const settled = await Effect.runPromise(
    sql<{ cost: string }>`select cost::text from usage_records where org_id = ${orgId} order by at`,
  )
  const held = (await Effect.runPromise(ledger.allotments)).filter((each) => each.orgId === orgId && each.held > 0n)
  return [
    ...settled.map(({ cost }) => ({ state: "settled" as const, cost })),
    ...held.map(() => ({ state: "held" as const, cost: null })),
  ]
}

interface UsageRow {
  readonly ref: string
  readonly vendor: string
  readonly stop: string
  readonly estimated_reason: string | null
  readonly in_tokens: bigint
  readonly out_tokens: bigint
}

/** The newest usage record of the test's organisation. */
export const lastUsage = async ({ sql, orgId }: TestGateway): Promise<UsageRow | undefined> => {
  const rows = await Effect.runPromise(
    sql<UsageRow>`select * from usage_records where org_id = ${orgId} order by at desc limit 1`,
  )
  return rows[0]
}
