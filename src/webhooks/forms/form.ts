/** The interface of a form: the request for an event, and the meaning of the answer. */
import type { Outcome } from "../delivery-store.ts"
import type { Event } from "../message.ts"

export interface Sending {
  /** The secrets of the webhook, the newest first. */
  readonly secrets: ReadonlyArray<string>
  /** The time of this attempt, in seconds since the epoch. */
  readonly seconds: number
  /** The name of this deployment, for receivers that get events of several. */
  readonly source: string
}

export interface Judged {
  readonly outcome: Outcome
  /** The reason why it was refused, for the webhook's owner: without anything that the receiver sent. */
  readonly problem?: string
}

export interface Form {
  readonly requestOf: (
    event: Event,
    sending: Sending,
  ) => { readonly headers: Readonly<Record<string, string>>; readonly body: string }
  /** Bytes of an answer that are read: 0 if its status is enough. */
  readonly maxReplyBytes: number
  readonly judge: (status: number, body: string) => Judged
}

export const json = { "content-type": "application/json" }

/** Answers of a service's own API are short; a page of a proxy is not read to its end. */
export const shortReply = 16 * 1024

/** A status of a service that refuses for good with 4xx: only 408 and 429 may pass. */
export const judgeBy = (service: string, status: number): Judged => {
  if (status >= 400 && status < 500 && status !== 408 && status !== 429) {
    return { outcome: "failed", problem: `${service} refuses it: HTTP ${status}` }
  }
  return { outcome: "again" }
}
