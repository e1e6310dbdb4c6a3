/** The events that webhooks can send. */

/** The events of an organisation, for which its owners add webhooks. */
export const orgEvents = [
  "budget.near",
  "budget.reached",
  "balance.low",
  "key.created",
  "key.revoked",
  "job.done",
  "batch.done",
  "response.completed",
  "response.failed",
  "response.cancelled",
  "policy.denied",
]

/** All events, for webhooks of the platform. */
export const allEvents = [...orgEvents, "target.down", "target.up", "catalogue.applied", "books.closed"]
