/** Cohere's refusals: errors have a text alone. Source: https://docs.cohere.com/reference/errors */

import { parseObject, stringAt } from "../parse/json.ts"
import { type FaultTable, faultBy, type VendorFault } from "../vendor/faults.ts"

const table: FaultTable = {
  codes: { error: "moment", error_limit: "moment", timeout: "moment" },
  texts: [
    [/trial key.*(limit|exceed)|calls? ?\/ ?month/i, "credit"],
    [/model .*(not found|was removed|does not exist)/i, "model"],
  ],
  // A request that was blocked for its content.
  statuses: { 498: "filter" },
}

/** The failure in a reply with an error status. */
export const cohereRefusal = (status: number, body: string): VendorFault =>
  faultBy(table, { status, codes: [`status_${status}`], text: stringAt(parseObject(body), "message") })

/** Stop reasons that are failures of the vendor, with the corresponding status. */
const ends: ReadonlyMap<string, number> = new Map([
  ["ERROR", 502],
  ["ERROR_LIMIT", 502],
  ["TIMEOUT", 504],
])

/** Undefined if a reply with this stop reason is whole. */
export const cohereFault = (finishReason: string): VendorFault | undefined => {
  const status = ends.get(finishReason)
  return status === undefined ? undefined : faultBy(table, { status, codes: [finishReason.toLowerCase()] })
}
