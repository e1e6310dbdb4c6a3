/** Calls of a vendor about one of its jobs, with the credential that the job began with. */
import { Effect } from "effect"
import { type EarlierTarget, makeEarlierTargets } from "../calls/vendor/earlier-target.ts"
import type { VideoDialect } from "../dialects/media-dialect.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import type { Job } from "./job-store.ts"

export interface JobTarget extends EarlierTarget {
  readonly dialect: VideoDialect
}

export const makeJobTargets = Effect.gen(function* () {
  const targetOf = yield* makeEarlierTargets

  /** Undefined if the catalogue has the vendor no more, or the key is gone. */
  return Effect.fnUntraced(function* (job: Job): Effect.fn.Return<JobTarget | undefined, StoreUnavailable> {
    const found = yield* targetOf(job)
    const dialect = found?.target.dialect.video
    return found && dialect && { ...found, dialect }
  })
})
