/** The part that all dialects share: calls of a vendor's API, and their failures. */
import type { MediaBody } from "../media/media-file.ts"
import type { VendorFault } from "./vendor/faults.ts"

/** @typeParam Body text, as bytes too, or text with files */
export interface WireRequest<Body extends string | Uint8Array | MediaBody = string> {
  /** POST if absent. */
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE"
  /** Appended to the vendor's base URL. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** JSON, unless a header says otherwise. */
  readonly body: Body
}

/** A request of any kind of call, as dialects make it. */
export type AnyWireRequest = WireRequest<string | MediaBody>

/** The body as it is sent: the text of a large one may be bytes already. */
export type SentRequest = WireRequest<string | Uint8Array | MediaBody>

/** A feature that this dialect does not support, e.g. a file by URL. */
export interface EncodeRefusal {
  readonly capability: string
  readonly message: string
  /** The client's own field that is at fault. */
  readonly issue?: { readonly path: string; readonly message: string }
}

/** A vendor's API, for all kinds of calls. */
export interface VendorAccess {
  /** Headers that carry the credential. */
  readonly authorize: (credential: string) => Readonly<Record<string, string>>
  /** The failure in a reply with an error status. */
  readonly decodeError: (status: number, body: string) => VendorFault
}
