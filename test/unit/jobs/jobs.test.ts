/** The lease of a job ends with its poll, for every way in which the poll ends. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Layer, Scope } from "effect"
import { CallDeadlines } from "../../../src/deadlines.ts"
import { type Job, JobStore } from "../../../src/jobs/job-store.ts"
import { Jobs } from "../../../src/jobs/jobs.ts"
import { Tenants } from "../../../src/tenants/tenants.ts"
import { newTestIds, testCatalogue } from "../../../src/testing/index.ts"
import { layerStaticCatalogue } from "../../../src/testing/static-catalogue.ts"
import { VendorClient } from "../../../src/upstream/client.ts"

const job: Job = {
  orgId: "org_film",
  id: "job_1",
  endUserId: undefined,
  kind: "video",
  model: "film",
  vendor: "openai",
  targetModel: "sora-2",
  vendorJob: "video_1",
  isOwn: false,
  currency: "USD",
  held: "0.4",
  dims: {},
  view: {},
  state: "running",
  progress: 40,
  errorCode: undefined,
  content: undefined,
  createdAt: new Date(),
  endsAt: new Date(Date.now() + 3_600_000),
  isOver: false,
  isGivenUp: false,
  endedAt: undefined,
  polls: 3,
}

describe("a node that ends", () => {
  it.live("gives back the jobs that it was asking for: others need not wait for their leases", () =>
    Effect.gen(function* () {
      const asked = Promise.withResolvers<void>()
      const givenBack: Array<readonly [id: string, state: string, progress: number]> = []
      const due = [job]
      const store = Layer.mock(JobStore, {
        take: () => Effect.sync(() => due.splice(0)),
        goesOn: ({ id }, _node, state, progress) => Effect.sync(() => void givenBack.push([id, state, progress])),
      })
      const silent = VendorClient.of({
        start: () => {
          asked.resolve()
          return { pause: () => {}, resume: () => {}, leave: () => {}, abort: () => {} }
        },
      })
      const catalogue = layerStaticCatalogue(
        testCatalogue({ vendor: "http://127.0.0.1:9", second: "http://127.0.0.1:9" }, newTestIds()),
        () => "secret",
      )
      const parts = Layer.mergeAll(
        store,
        catalogue,
        CallDeadlines.layer,
        Layer.mock(Tenants, {
          size: () => ({ rows: 0, absent: 0, bytes: 0 }),
          policiesOf: (_, { policies }) => policies,
        }),
        Layer.succeed(VendorClient, silent),
      )
      const scope = yield* Scope.make()
      yield* Layer.buildWithScope(Layer.provide(Jobs.layer, parts), scope)
      yield* Effect.promise(() => asked.promise)
      expect(givenBack).toEqual([])
      yield* Scope.close(scope, Exit.void)
      expect(givenBack).toEqual([["job_1", "running", 0]])
    }),
  )
})
