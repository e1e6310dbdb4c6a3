/** The bill of a call: its usage and cost. */
import type { Counts } from "../../money/pricing.ts"
import type { EstimatedReason } from "../../protocol/usage.ts"

export interface Bill {
  readonly counts: Counts
  /** The counts of its requests, if there are several, each of which is priced alone; {@link counts} is their sum. */
  readonly requests?: ReadonlyArray<Counts> | undefined
  readonly estimatedReason?: EstimatedReason | undefined
  /** The region in which the vendor's reply says that it was made. */
  readonly region?: string | undefined
}
