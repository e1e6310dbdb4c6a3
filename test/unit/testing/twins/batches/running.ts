/** Runs batches at a twin, over sockets. */
import { Effect, Layer, Result, type Scope } from "effect"
import type {
  BatchDialect,
  BatchLine,
  BatchResult,
  BatchStatus,
  ResultPlace,
  Submission,
  VendorBatch,
} from "../../../../../src/dialects/batch-dialect.ts"
import type { Dialect } from "../../../../../src/dialects/dialect.ts"
import { parseObject } from "../../../../../src/dialects/parse/json.ts"
import type { VendorFault } from "../../../../../src/dialects/vendor/faults.ts"
import type { AnyWireRequest } from "../../../../../src/dialects/wire.ts"
import { layerTestConfig, startScriptedVendor, type VendorScript } from "../../../../../src/testing/index.ts"
import { type BatchTwin, serveBatches } from "../../../../../src/testing/twins/batch-twin.ts"
import { fetchWhole, type UpstreamBroken, VendorClient, type WholeReply } from "../../../../../src/upstream/client.ts"
import { Egress } from "../../../../../src/upstream/egress.ts"
import { mediaFileOf } from "../../../../support/media-file-of.ts"
import { testRequest } from "../../../../support/twin-requests.ts"

export interface Place {
  readonly name: string
  readonly dialect: Dialect
  /** The path of the API below the vendor's address. */
  readonly base: string
  readonly model: string
  readonly make: () => BatchTwin
  readonly otherwise: VendorScript
}

export interface Running {
  readonly batch: BatchDialect
  readonly twin: BatchTwin
  readonly send: (wire: AnyWireRequest) => Effect.Effect<WholeReply, UpstreamBroken>
  /** Submits lines by their ids and texts. */
  readonly submit: (
    lines: ReadonlyArray<readonly [id: string, text: string]>,
  ) => Effect.Effect<VendorBatch, UpstreamBroken | VendorFault>
  readonly submitLines: (lines: ReadonlyArray<BatchLine>) => Effect.Effect<VendorBatch, UpstreamBroken | VendorFault>
  readonly poll: (batch: VendorBatch) => Effect.Effect<BatchStatus, UpstreamBroken>
  readonly finish: (batch: VendorBatch) => Effect.Effect<BatchStatus, UpstreamBroken>
  readonly results: (status: BatchStatus) => Effect.Effect<ReadonlyArray<BatchResult>, UpstreamBroken>
  readonly submission: Submission
}

const mostBytes = 16 * 1024 * 1024

/** Starts the twin of a place, and what tests do with it. */
export const runAt = (place: Place): Effect.Effect<Running, never, VendorClient | Scope.Scope> =>
  Effect.gen(function* () {
    const { dialect, base, model } = place
    const { batch, chat } = dialect
    if (batch === undefined || chat === undefined) throw new Error(`${place.name} has no batches`)
    const twin = place.make()
    const vendor = yield* startScriptedVendor(serveBatches(twin, place.otherwise))
    const client = yield* VendorClient
    const send = ({ method, path, headers, body }: AnyWireRequest) =>
      fetchWhole(
        client,
        {
          ...(method !== undefined && { method }),
          baseUrl: `${vendor.url}${base}`,
          path,
          headers: { ...headers, ...dialect.authorize("key") },
          body,
        },
        mostBytes,
      )
    const lineOf = ([id, v]: readonly [string, string]) => {
      const request = {
        ...testRequest,
        model,
        thread: [{ role: "user" as const, blocks: [{ t: "text" as const, v }] }],
      }
      return Result.getOrThrow(batch.line(Result.getOrThrow(chat.encode(request)), id))
    }
    const submission: Submission = { id: "sub_1", group: lineOf(["a", "a"]).group, lines: 4 }
    const submitLines = Effect.fnUntraced(function* (
      lines: ReadonlyArray<BatchLine>,
    ): Effect.fn.Return<VendorBatch, UpstreamBroken | VendorFault> {
      const content = mediaFileOf(lines.map(({ text }) => text).join(batch.between))
      let step = batch.submit({ ...submission, group: lines[0]?.group ?? "", lines: lines.length }, content)
      while (step.t === "ask") {
        const read = step.read(yield* send(step.request))
        if (Result.isFailure(read)) return yield* Effect.fail(read.failure)
        step = read.success
      }
      return step.batch
    })
    const poll = (made: VendorBatch) =>
      Effect.map(send(batch.poll(made)), ({ body }) => {
        const status = batch.status(body, made)
        if (status === undefined) throw new Error(`no status: ${body}`)
        return status
      })
    const finish = (made: VendorBatch): Effect.Effect<BatchStatus, UpstreamBroken> =>
      Effect.flatMap(poll(made), (status) => (status.state === "running" ? finish(made) : Effect.succeed(status)))
    const linesAt = (at: ResultPlace) =>
      at.t === "lines"
        ? Effect.succeed(at.lines)
        : Effect.map(send(at.request), ({ body }) => body.split("\n").filter((line) => line !== ""))
    return {
      batch,
      twin,
      send,
      submission,
      submit: (lines) => submitLines(lines.map(lineOf)),
      submitLines,
      poll,
      finish,
      results: (status) =>
        Effect.map(Effect.forEach(status.results, linesAt), (lines) => lines.flat().map((line) => batch.result(line))),
    }
  })

/** The text of an answer, as the dialect of whole replies reads it. */
export const textOf = (dialect: Dialect, result: BatchResult | undefined): string => {
  if (result?.t !== "answered" || result.status !== 200) return ""
  const events = dialect.chat?.decodeBody(result.body) ?? []
  return events.map((event) => (event.kind === "delta" && event.delta.t === "text" ? event.delta.v : "")).join("")
}

/** A result in short: its id and its kind, and its status if it is no good one. */
export const inShort = (result: BatchResult): string => {
  if (result.t === "without_id" || result.t === "unreadable") return result.t
  const kind = result.t === "answered" && result.status !== 200 ? String(result.status) : result.t
  return `${result.id} ${kind}`
}

export const objectOf = (text: string) => parseObject(text) ?? {}

export const layerClient = VendorClient.layer.pipe(Layer.provide(Egress.layer), Layer.provide(layerTestConfig()))
