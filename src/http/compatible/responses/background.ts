/** `background: true`: a response whose client does not wait. Its call runs as others do; its reply goes into its log. */
import type { ServerResponse } from "node:http"
import { Effect } from "effect"
import { WeirConfig } from "../../../config.ts"
import { responsesApi } from "../../../dialects/openai-responses/client.ts"
import { begunResponse } from "../../../dialects/openai-responses/client-reply.ts"
import type { Caller } from "../../../identity/caller.ts"
import { BackgroundResponses, type RunningResponse } from "../../../kept-responses/background-responses.ts"
import { writeJson } from "../../../protocol/json/json-text.ts"
import { Sealing } from "../../../store/seal.ts"
import type { CompatibleConnection } from "../connection.ts"
import { BackgroundConnection } from "./background-connection.ts"
import { type Asked, beginResponse, type KeptContext } from "./keeping.ts"
import { makeRepeated } from "./repeated.ts"

interface Detached {
  readonly caller: Caller
  readonly context: KeptContext
  /** The time for which it is kept. */
  readonly ms: number
  /** Undefined if its request cannot be repeated. */
  readonly asked: Asked | undefined
  readonly client: CompatibleConnection
  readonly response: ServerResponse
  readonly isStreamed: boolean
}

/** The connection of a response that runs without its client, and the steps before and after its call. */
export const makeBackground = Effect.gen(function* () {
  const { sealer } = yield* Sealing
  const { streamStallMs: stallMs } = yield* WeirConfig
  const responses = yield* BackgroundResponses
  const repeated = yield* makeRepeated

  return ({ caller, context, ms, asked, ...client }: Detached) => {
    const { requestId, model, kept } = context
    // A request that is read again, with more marks, has its fields echoed with them, by the connection of the first reading.
    const current: KeptContext & { echo?: KeptContext["echo"] } = { ...context }
    const connection = new BackgroundConnection({
      ...client,
      stallMs,
      requestId,
      model,
      events: responsesApi.events(current),
    })
    const named = { orgId: caller.org.id, id: kept.id, log: connection.log, stop: () => connection.stop() }
    let running: RunningResponse | undefined
    /** @param input its own items @param echo the fields of the request that it repeats */
    const begin = (input: ReadonlyArray<string>, echo: KeptContext["echo"]) =>
      Effect.suspend(() => {
        current.echo = echo
        const content = { input, response: writeJson(begunResponse(current)) }
        const response = { ...named, content }
        running = response
        return Effect.map(
          responses.begin(response, beginResponse(sealer, caller, current, content, { ms, asked })),
          () => connection.begun(content.response),
        )
      })
    const after = Effect.suspend(() => {
      if (running === undefined || !connection.isBegun) return Effect.void
      const { failed, usage } = connection
      const { input } = running.content
      return responses.ended(running, failed === undefined ? undefined : { input, response: failed }, usage)
    })
    const earlier = asked && repeated({ ...client, caller, asked, stallMs })
    return { connection, begin, after, earlier }
  }
})
