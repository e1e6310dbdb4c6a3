/**
 * Names of conversations that a vendor can resume. A client gets the vendor's name sealed, with the caller and the target: all
 * tenants of a vendor's account share its names, and only the caller that had the conversation may resume it.
 */
import { Option, Schema } from "effect"
import type { CallTarget } from "../../catalogue/snapshot.ts"
import type { SealHandle } from "../../dialects/realtime-dialect.ts"
import type { Caller } from "../../identity/caller.ts"
import { ownerOf } from "../../kept-responses/kept-response.ts"
import type { Sealer } from "../../store/seal.ts"

/** A conversation that goes on. */
export interface Resumed {
  /** The vendor's name of it. */
  readonly handle: string
  readonly vendor: string
  /** The vendor's model. */
  readonly model: string
  /** Tokens of the conversation when it was named. */
  readonly tokens: number
}

const Conversation = Schema.fromJsonString(
  Schema.Struct({
    handle: Schema.String,
    vendor: Schema.String,
    model: Schema.String,
    tokens: Schema.Number,
  }),
)
const decode = Schema.decodeUnknownOption(Conversation)

/** @param tokens of the conversation now */
export const sealHandle =
  (sealer: Sealer, caller: Caller, { vendor, model }: CallTarget, tokens: () => number): SealHandle =>
  (handle) => {
    const conversation: Resumed = { handle, vendor: vendor.id, model, tokens: tokens() }
    return sealer.sealBytes(Buffer.from(JSON.stringify(conversation)), contextOf(caller)).toString("base64url")
  }

/** @returns undefined if it is not a name that this caller got */
export const openHandle = (sealer: Sealer, caller: Caller, sealed: string): Resumed | undefined => {
  const opened = sealer.openBytes(Buffer.from(sealed, "base64url"), contextOf(caller))
  return opened && Option.getOrUndefined(decode(opened.toString("utf8")))
}

const contextOf = (caller: Caller): string => {
  const { app, person, endUser } = ownerOf(caller)
  return JSON.stringify(["conversation", caller.org.id, app, person, endUser])
}
