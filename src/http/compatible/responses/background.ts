/** `background: true`: a response whose client does not wait. Its call runs as others do; its reply goes into its log. */
import type { ServerResponse } from "node:http"
import { Effect } from "effect"
import { VendorRun, type VendorWork } from "../../../calls/vendor/vendor-run.ts"
import { Catalogue } from "../../../catalogue/catalogue.ts"
import { WeirConfig } from "../../../config.ts"
import { responsesApi } from "../../../dialects/openai-responses/client.ts"
import { begunResponse } from "../../../dialects/openai-responses/response-object.ts"
import type { Caller } from "../../../identity/caller.ts"
import { BackgroundResponses, type RunningResponse } from "../../../kept-responses/background-responses.ts"
import type { KeptRequest } from "../../../kept-responses/kept-response.ts"
import { mostRequestBytes, type RepeatedResponse } from "../../../kept-responses/lost-responses.ts"
import { JsonSource } from "../../../protocol/json/json-source.ts"
import { writeJson } from "../../../protocol/json/json-text.ts"
import { Sealing } from "../../../store/seal.ts"
import type { RuntimeRequest } from "../../caller-request.ts"
import type { CompatibleConnection } from "../connection.ts"
import { handleOf } from "../request.ts"
import { BackgroundConnection } from "./background-connection.ts"
import { type Asked, beginResponse, type KeptContext, responseText } from "./keeping.ts"
import { makeRepeated } from "./repeated.ts"
import type { ContinuedRequest } from "./thread.ts"

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
  /** The request, for another node, if this one dies; undefined if it cannot be repeated. */
  readonly request: KeptRequest | undefined
  /** The call of a response that is made once more; undefined for a new one. */
  readonly repeated: RepeatedResponse | undefined
  /** The gateway's request id of the call. */
  readonly ref: string
  /** Whether its vendor runs it. */
  readonly isAtVendor: boolean
}

/** The connection of a response that runs without its client, and the steps before and after its call. */
export const makeBackground = Effect.gen(function* () {
  const { sealer } = yield* Sealing
  const { streamStallMs: stallMs } = yield* WeirConfig
  const responses = yield* BackgroundResponses
  const answerRepeated = yield* makeRepeated

  return ({ caller, context, ms, asked, request, repeated, ref, isAtVendor, ...client }: Detached) => {
    const { requestId, model, kept } = context
    // A request that is read again, with more marks, has its fields echoed with them, by the connection of the first reading.
    const current: KeptContext & { echo?: KeptContext["echo"] } = { ...context }
    const note = (work: VendorWork) => (running === undefined ? Effect.succeed(false) : responses.works(running, work))
    const run = isAtVendor ? new VendorRun(repeated?.work, note) : undefined
    const connection = new BackgroundConnection({
      ...client,
      run,
      textOf: (reply) => responseText(current, reply),
      stallMs,
      requestId,
      model,
      events: responsesApi.events(current),
    })
    const named = { orgId: caller.org.id, id: kept.id, ref, log: connection.log, stop: () => connection.stop() }
    let running: RunningResponse | undefined
    /** @param input its own items @param echo the fields of the request that it repeats */
    const begin = (input: ReadonlyArray<string>, echo: KeptContext["echo"]) =>
      Effect.suspend(() => {
        current.echo = echo
        const content = { input, response: writeJson(begunResponse(current)) }
        const response = { ...named, content }
        running = response
        if (repeated !== undefined) {
          responses.goOn(response, repeated.part)
          connection.begun(content.response, repeated.part > 0)
          return Effect.void
        }
        return Effect.map(
          responses.begin(response, beginResponse(sealer, caller, current, content, { ms, asked, request })),
          () => connection.begun(content.response),
        )
      })
    const after = Effect.suspend(() => {
      if (running === undefined || !connection.isBegun) return Effect.void
      if (connection.isLeft) return responses.leave(running)
      if (run !== undefined) Effect.runFork(run.removal)
      const { failed, usage } = connection
      const { input } = running.content
      return responses.ended(running, failed === undefined ? undefined : { input, response: failed }, usage)
    })
    const earlier = asked && answerRepeated({ ...client, caller, asked, stallMs })
    return { connection, begin, after, earlier, run }
  }
})

/** Headers that change a call. */
const kept = [
  "x-svc-session-id",
  "x-svc-purpose",
  "x-svc-tags",
  "x-svc-cache",
  "cache-control",
  "x-session-affinity",
] as const

/**
 * A request as it may be made once more. Undefined if it is too large, or if policies read it: values that they mask are in no row.
 * @param body without its content encoding
 */
export const repeatable = (
  { headers }: Pick<RuntimeRequest, "headers">,
  caller: Caller,
  body: Uint8Array,
): KeptRequest | undefined => {
  if (caller.policies.inbound.length > 0 || body.length > mostRequestBytes) return undefined
  const named = kept.flatMap((name) => {
    const value = headers[name]
    return value === undefined ? [] : [[name, value] as const]
  })
  return { headers: Object.fromEntries(named), body: Buffer.from(body).toString("utf8") }
}

/** Whether a response in the background runs at its vendor: at each target of its model, and unless its client follows it. */
export const makeRunsAtVendor = Effect.gen(function* () {
  const catalogue = yield* Catalogue
  return ({ org }: Caller, { body, background }: Pick<ContinuedRequest, "body" | "background">): boolean => {
    const model = new JsonSource(body).textAt(["model"])
    const named: unknown = model === undefined ? undefined : JSON.parse(model)
    if (background?.isStreamed !== false || typeof named !== "string") return false
    const { targets = [] } = catalogue.current().model(handleOf(named, org.aliases)) ?? {}
    return targets.length > 0 && targets.every(({ vendor }) => vendor.background === "vendor")
  }
})
