/** Leases of parts of batches: a node prolongs those of the parts that it works on, and no others. */
import { Effect } from "effect"
import { expect, it } from "vitest"
import { answering } from "../../../src/testing/index.ts"
import { chatLine, useBatches } from "../../support/batches.ts"

const { gateway, create, ended, books } = useBatches(undefined, { leaseMs: 1500, checkpointMs: 200 })

const run = <A>(effect: Effect.Effect<A, unknown>) => Effect.runPromise(effect)

it("a part that a busy node could not give back is taken again once its lease is over", async () => {
  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  let isRefused = true
  let refusals = 0
  gateway().vendor.script(async (call) => {
    const text = JSON.stringify(call.body)
    if (text.includes("slow")) await held
    if (text.includes("refused") && isRefused) {
      refusals++
      call.head(500, { "content-type": "application/json" })
      return call.end("{}")
    }
    return answering({ words: ["ok"], inTokens: 10, outTokens: 2 })(call)
  })
  const slow = await create([chatLine("a", "slow")])
  await expect.poll(() => gateway().vendor.calls.length).toBe(1)
  const { sql } = gateway()
  const [made] = await run(sql<{ text: string }>`
    select pg_get_functiondef('batch_chunk_back'::regproc) as text`)
  const body = made?.text ?? ""
  await run(sql.unsafe(body.replace(/\$function\$[\s\S]*\$function\$/, () => "$f$ select 1 / 0 $f$")))
  const other = await create([chatLine("b", "refused")])
  await expect.poll(() => refusals).toBeGreaterThan(0)
  // The part cannot be given back meanwhile.
  await new Promise((resolve) => setTimeout(resolve, 3000))
  isRefused = false
  await run(sql.unsafe(body))
  expect(await ended(other.id)).toMatchObject({ status: "completed", request_counts: { completed: 1 } })
  release()
  expect(await ended(slow.id)).toMatchObject({ status: "completed", request_counts: { completed: 1 } })
  for (const { id } of [slow, other]) {
    const { records, findings, left } = await books(id)
    expect([records.length, findings, left]).toEqual([1, [], 0])
  }
})

it("a request is asked for once, though the answer to another one of its part cannot be stored", async () => {
  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  gateway().vendor.script(async (call) => {
    if (JSON.stringify(call.body).includes("slow")) await held
    return answering({ words: ["ok"], inTokens: 10, outTokens: 2 })(call)
  })
  const { sql } = gateway()
  const [kept] = await run(sql<{ text: string }>`
    select pg_get_functiondef(oid) as text from pg_proc where proname = 'batch_result' and pronargs = 9`)
  const body = kept?.text ?? ""
  await run(sql.unsafe(body.replace(/\$function\$[\s\S]*\$function\$/, () => "$f$ select 1 / 0 $f$")))
  const asked = gateway().vendor.calls.length
  const made = await create([chatLine("a", "fast"), chatLine("b", "slow")])
  await expect.poll(() => gateway().vendor.calls.length).toBeGreaterThanOrEqual(asked + 2)
  await new Promise((resolve) => setTimeout(resolve, 1000))
  await run(sql.unsafe(body))
  release()
  const batch = await ended(made.id)
  expect(batch).toMatchObject({ status: "completed", request_counts: { completed: 2 } })
  expect(gateway().vendor.calls.length - asked).toBe(2)
  const { records, findings, left } = await books(made.id)
  expect([records.length, findings, left]).toEqual([2, [], 0])
})
