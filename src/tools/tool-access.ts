/** The credential of a server of tools, and its refusals by their status. */
import type { Dialect } from "../dialects/dialect.ts"
import { faultBy } from "../dialects/vendor/faults.ts"

export const toolAccess: Dialect = {
  authorize: (credential) => ({ authorization: `Bearer ${credential}` }),
  decodeError: (status) => faultBy({ codes: {} }, { status, codes: [] }),
}
