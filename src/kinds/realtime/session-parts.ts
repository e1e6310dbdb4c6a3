/** The state that the two sides of a session and its responses share. */
import type { Denial, PolicyHit, ReviewAbout } from "../../policies/review.ts"
import type { Mailbox } from "./mailbox.ts"
import type { SessionMeter } from "./meter.ts"
import type { OwnMessages } from "./protocol.ts"
import type { SessionDeadlines } from "./session-deadlines.ts"
import type { SessionMoney } from "./session-money.ts"
import type { SessionOptions } from "./session-options.ts"
import type { SocketPair } from "./sockets.ts"

export interface SessionParts {
  readonly options: SessionOptions
  readonly sockets: SocketPair
  readonly mailbox: Mailbox
  readonly meter: SessionMeter
  readonly money: SessionMoney
  readonly own: OwnMessages
  readonly deadlines: SessionDeadlines
  /** The circumstances of its reviews; undefined if no engine is asked. */
  readonly about: ReviewAbout | undefined
  /** Sends the event of a denial, without the text. */
  readonly noteDenial: (denial: Denial, at: PolicyHit["at"]) => void
}
