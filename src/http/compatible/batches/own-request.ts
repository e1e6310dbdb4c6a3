/** Requests of the gateway's own, which the handlers of clients' requests answer. */
import { Effect, Option } from "effect"
import type { OwnRequest } from "../../authenticate.ts"
import type { UploadRequest } from "../../caller-request.ts"

/** @param body JSON */
export const ownRequest = (
  path: string,
  body: string | Uint8Array,
  headers: Readonly<Record<string, string>>,
  own: OwnRequest,
): UploadRequest => {
  const bytes = typeof body === "string" ? Buffer.from(body) : body
  return {
    source: {},
    headers: { ...headers, "content-type": "application/json", "content-length": String(bytes.length) },
    method: "POST",
    url: path,
    remoteAddress: Option.none(),
    own,
    body: () => Effect.succeed(bytes),
    chunks: () => inSlices(bytes),
  }
}

const sliceBytes = 256 * 1024

/** Each slice is copied in a turn of the event loop of its own. */
async function* inSlices(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let from = 0; from < bytes.length; from += sliceBytes) yield bytes.subarray(from, from + sliceBytes)
}
