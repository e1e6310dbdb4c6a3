/** The bill of a call: its usage and cost. */
import type { Counts } from "../../money/pricing.ts"
import type { EstimatedReason } from "../../protocol/usage.ts"

export interface Bill {
  readonly counts: Counts
  readonly estimatedReason?: EstimatedReason | undefined
  /** The region in which the vendor's reply says that it was made. */
  readonly region?: string | undefined
}
