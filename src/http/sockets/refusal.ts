/** A refused upgrade: a plain HTTP reply in the format of its API. */
import type { ErrorWords } from "../../dialects/client/whole-client.ts"
import { toServiceError } from "../../store/unavailable.ts"
import { ApiConnection } from "../compatible/api-connection.ts"
import type { RouteError } from "../respond.ts"
import type { Upgrade } from "./upgrades.ts"

export const refuseUpgrade = (upgrade: Upgrade, words: ErrorWords, error: RouteError, requestId: string): void => {
  const connection = new ApiConnection(upgrade.refusedAt(), requestId, {
    errors: words,
    readKept: () => undefined,
    reply: undefined,
  })
  connection.refuse(toServiceError(error))
}
