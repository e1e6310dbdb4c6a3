/** Holds and their settlements, many at once, as a node sends them to the database. */
import { randomUUID } from "node:crypto"
import { Effect } from "effect"
import type { Ledger } from "../../src/money/ledger.ts"
import { newUlid } from "../../src/protocol/values/ulid.ts"
import { dayOf } from "../../src/protocol/values/utc8.ts"

/** Organisations that can spend. */
export const creditedOrgs = async (ledger: Ledger["Service"], count: number): Promise<ReadonlyArray<string>> => {
  const orgs = Array.from({ length: count }, (_, at) => `org_${at}`)
  for (const orgId of orgs) {
    await Effect.runPromise(ledger.topup({ id: randomUUID(), orgId, currency: "USD", amount: 10n ** 16n }))
  }
  return orgs
}

/** @returns runs so many, each with a request id that clients make */
export const settlements =
  (ledger: Ledger["Service"], orgs: ReadonlyArray<string>, inFlight: number) =>
  async (calls: number): Promise<void> => {
    let next = 0
    const client = Effect.gen(function* () {
      while (next < calls) {
        const orgId = orgs[next++ % orgs.length] ?? ""
        const requestId = newUlid(Date.now())
        const hold = yield* ledger.hold({
          ref: randomUUID(),
          orgId,
          currency: "USD",
          keyId: "key",
          requestId,
          amount: 10n ** 8n,
          day: dayOf(Date.now()),
        })
        yield* ledger.settle({
          hold,
          atMs: Date.now(),
          cost: 10n ** 6n,
          reply: { sealed: Buffer.alloc(1024).toString("base64") },
          record: {
            appId: "app",
            purpose: "exchange",
            model: "main",
            vendor: "vendor",
            counts: { inTokens: 100, outTokens: 100, cacheReadTokens: 0, cacheWriteTokens: 0, dims: {} },
            stop: "end",
            cacheNetSaving: 0n,
          },
        })
      }
    })
    await Effect.runPromise(
      Effect.all(
        Array.from({ length: inFlight }, () => client),
        { concurrency: "unbounded" },
      ),
    )
  }
