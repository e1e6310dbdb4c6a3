/** What a call is billed for. */
import type { Counts } from "../../money/pricing.ts"
import type { EstimatedReason } from "../../protocol/usage.ts"

export interface Bill {
  readonly counts: Counts
  readonly estimatedReason?: EstimatedReason | undefined
  /** Where the vendor's reply says that it was made. */
  readonly region?: string | undefined
}
