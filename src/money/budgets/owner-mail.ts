/** Mail to the owners of an organisation. Its layer is `identity/owner-mail.ts`. */
import { Context, Data, type Effect } from "effect"
import type { StoreUnavailable } from "../../store/unavailable.ts"

export interface Letter {
  /** The message id, the same for the same letter, so that a letter that is sent twice is seen as one. RFC 5322 section 3.6.4. */
  readonly id: string
  readonly subject: string
  readonly text: string
}

export class OwnerMailFailed extends Data.TaggedError("OwnerMailFailed")<{ readonly cause: unknown }> {}

export class OwnerMail extends Context.Service<
  OwnerMail,
  {
    /** Sends a letter to all owners. Undefined if mail cannot be sent. */
    readonly send:
      | ((orgId: string, letter: Letter) => Effect.Effect<void, OwnerMailFailed | StoreUnavailable>)
      | undefined
  }
>()("weir/money/OwnerMail") {}
