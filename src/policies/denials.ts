/**
 * The event `policy.denied`: the first denial of a policy in an organisation is sent at once, and those of the next minute as
 * one. A node sends its own; those of a node that dies meanwhile are not sent, and usage records have them. No text.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { forAll, runEvery } from "../background.ts"
import { queryDeadline } from "../store/database.ts"

export interface PolicyDenied {
  readonly orgId: string
  readonly policy: string
  readonly reason: string
  readonly at: "request" | "reply"
  readonly appId: string | undefined
  readonly keyId: string
  readonly requestId: string
  readonly model: string
  readonly tags?: Readonly<Record<string, string>> | undefined
}

/** Denials that wait to be sent as one. */
interface Waiting {
  readonly first: PolicyDenied
  count: number
}

export class PolicyDenials extends Context.Service<
  PolicyDenials,
  {
    readonly note: (denied: PolicyDenied) => void
  }
>()("weir/policies/PolicyDenials") {
  static readonly layer = Layer.effect(
    PolicyDenials,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      const bounded = yield* queryDeadline
      const waiting = new Map<string, Waiting>()
      /** The time of the last event, by organisation and policy. */
      const sentMs = new Map<string, number>()

      const send = (name: string, { first, count }: Waiting) =>
        bounded(
          sql`select event_append(${first.orgId}, 'policy.denied', ${first.policy}, ${JSON.stringify(dataOf(first, count))}::text::jsonb)`,
        ).pipe(
          Effect.tapError(() =>
            Effect.sync(() => {
              const later = waiting.get(name)
              waiting.set(name, { first, count: count + (later?.count ?? 0) })
              sentMs.delete(name)
            }),
          ),
        )

      const sendDue = Effect.suspend(() => sendOf(quietMs))
      const sendOf = (leastQuietMs: number) => {
        const nowMs = clock.currentTimeMillisUnsafe()
        const due = [...waiting].filter(([name]) => nowMs - (sentMs.get(name) ?? 0) >= leastQuietMs)
        for (const [name] of due) {
          waiting.delete(name)
          sentMs.set(name, nowMs)
        }
        if (sentMs.size > mostKnown) sentMs.clear()
        return forAll(due, ([name, each]) => send(name, each))
      }
      yield* runEvery("1 second", "Sending denials of policies", sendDue)
      yield* Effect.addFinalizer(() => Effect.ignore(Effect.suspend(() => sendOf(0))))

      return PolicyDenials.of({
        note: (denied) => {
          const name = `${denied.orgId} ${denied.policy}`
          const known = waiting.get(name)
          if (known !== undefined) known.count++
          else if (waiting.size < mostKnown) waiting.set(name, { first: denied, count: 1 })
        },
      })
    }),
  )
}

const quietMs = 60_000
/** Policies of organisations that are known at a time. */
const mostKnown = 100_000

const dataOf = ({ orgId: _, ...denied }: PolicyDenied, count: number) => ({ ...denied, count })
