/**
 * Reads requests with their masks. Rules mask at once; engines are asked, and charged, once the call is admitted, and then the
 * request is read again.
 */
import { type Context, Effect } from "effect"
import { type Call, type MaskedByEngines, withMissing } from "../calls/held-call.ts"
import type { CallRequest } from "../calls/kind.ts"
import type { Caller } from "../identity/caller.ts"
import { RequestMasks } from "../policies/masks/engine-masks.ts"
import type { MaskableText, Masking } from "../policies/masks/mask-request.ts"
import type { ServiceError } from "../protocol/error.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"

type ReadError = ServiceError | StoreUnavailable

interface Decoded<Request extends CallRequest, Body extends object> {
  readonly decoded: Call<Request, Body>["decoded"]
}

interface Reading<Read, E, R> {
  readonly caller: Caller
  readonly requestId: string
  /** The texts in which engines look for values, with the marks of rules. */
  readonly texts: (masking: Masking | undefined) => Effect.Effect<ReadonlyArray<MaskableText>, E, R>
  /** Its last reading is the request of the call; the connection is that of the first. */
  readonly read: (masking: Masking | undefined) => Effect.Effect<Read, E, R>
}

export const makeMaskedReading = Effect.gen(function* () {
  const masks = yield* RequestMasks

  const read = <Request extends CallRequest, Body extends object, Read, E extends ReadError, R>({
    caller,
    requestId,
    texts,
    read,
  }: Reading<Read & Decoded<Request, Body>, E, R>): Effect.Effect<
    Read & Pick<Call<Request, Body>, "decoded" | "maskedByEngines">,
    E,
    R
  > => {
    const masking = masks.byRules(caller)
    if (!masks.areAsked(caller)) return read(masking)
    const again =
      (context: Context.Context<R>): MaskedByEngines<Request, Body> =>
      (tagged, account) =>
        texts(masking).pipe(
          Effect.flatMap((found) => masks.byEngines(tagged, requestId, found, account)),
          Effect.flatMap((all) => Effect.map(read(all), ({ decoded }) => withMissing(decoded, all))),
          Effect.flatMap(Effect.fromResult),
          Effect.provideContext(context),
        )
    return Effect.contextWith((context: Context.Context<R>) =>
      Effect.map(read(masking), (made) => ({ ...made, maskedByEngines: again(context) })),
    )
  }
  return { read, areAsked: masks.areAsked }
})
