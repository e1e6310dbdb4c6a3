/** The names of a request for a batch: made again with the same ones, it is the same batch. */
import { createHash } from "node:crypto"
import { Effect, Schema } from "effect"
import { ClientRequestId } from "../../../protocol/exchange.ts"
import { invalidInput } from "../../../protocol/json/issues.ts"
import type { Authenticated } from "../../caller-request.ts"

const readId = Schema.decodeUnknownEffect(ClientRequestId)

/** Undefined without an `Idempotency-Key`. */
export const askedAs = Effect.fnUntraced(function* ({ request: { headers, url }, body }: Authenticated) {
  const { "idempotency-key": key } = headers
  if (key === undefined) return undefined
  const request = yield* Effect.mapError(readId(key), () => invalidKey)
  return { request, hash: createHash("sha256").update(`${url}\n`).update(body).digest("base64url") }
})

const invalidKey = invalidInput([{ path: "Idempotency-Key", message: "is no valid key" }])
