/** The supervisor of calls: runs them, and drains them at shutdown. */
import { randomFillSync } from "node:crypto"
import { hostname } from "node:os"
import { Clock, Context, Effect, type Fiber, Layer } from "effect"
import { Gate } from "../admission/gate.ts"
import { Overload } from "../admission/overload.ts"
import { Sessions } from "../admission/sessions.ts"
import { Catalogue } from "../catalogue/catalogue.ts"
import { Members } from "../collections.ts"
import { WeirConfig } from "../config.ts"
import { CallDeadlines } from "../deadlines.ts"
import { ContentObjects } from "../kept-responses/content-objects.ts"
import { Spool } from "../media/spool.ts"
import { heapLimitBytes, heapUsedBytes } from "../memory.ts"
import { BalanceWarnings } from "../money/budgets/balance-warnings.ts"
import { BudgetWarnings } from "../money/budgets/budget-warnings.ts"
import { CallBudgets } from "../money/budgets/call-budgets.ts"
import { JobAttempts } from "../money/job-attempts.ts"
import { Ledger } from "../money/ledger.ts"
import { Settler } from "../money/settler.ts"
import { PolicyDenials } from "../policies/denials.ts"
import { Review } from "../policies/review.ts"
import { ReplyCache } from "../reply-cache/reply-cache.ts"
import { Sealing } from "../store/seal.ts"
import { ExchangeReports } from "../telemetry/exchange-reports.ts"
import { recordOpenExchanges } from "../telemetry/metrics.ts"
import { traceIdOf } from "../telemetry/tracing.ts"
import { VendorClient } from "../upstream/client.ts"
import { TargetHealth } from "../upstream/health.ts"
import { runCall } from "./call.ts"
import type { Connection } from "./connection.ts"
import type { Call } from "./held-call.ts"
import type { CallRequest } from "./kind.ts"
import { type CallPrice, priceCall } from "./price-call.ts"
import { ClientReply } from "./reply/reply.ts"
import type { WaitingBytes } from "./reply/reply-buffer.ts"
import { type CallsWithin, ServerTools } from "./server-tools.ts"
import type { CallServices, OpenCall, OpenSession } from "./services.ts"
import { engineAccountOf } from "./settle/engine-account.ts"
import { FirstRecords } from "./settle/first-records.ts"
import { keepLeases } from "./settle/leases.ts"
import { Tokenizer } from "./tokens/tokenizer.ts"
import { UsualOutputs } from "./tokens/usual-outputs.ts"
import { makeTimeouts } from "./vendor/timeouts.ts"

export class Calls extends Context.Service<
  Calls,
  {
    /** Runs a call in this fiber, to its last event. Interrupted, it settles before it ends. */
    readonly run: CallsWithin["run"]
    /** Prices a call; nothing is held or asked. A call that is refused is refused on its connection. */
    readonly price: <Request extends CallRequest, Body extends object>(
      call: Call<Request, Body>,
      connection: Connection<Body>,
      priced: (price: CallPrice) => void,
    ) => Effect.Effect<void>
    /** The services that calls run with; also for realtime sessions, whose responses are held and settled like calls. */
    readonly services: CallServices
    /** The number of open calls. */
    readonly open: () => number
    /** Whether there was a call to end. */
    readonly hasRun: () => boolean
    /** The number of calls whose deadlines are watched: those with a hold. */
    readonly watched: () => number
    /**
     * The calls that run with a hold, for operators.
     * @param most calls to name
     */
    readonly view: (most: number) => ExchangesView
    /** Waits until all calls have ended; after the timeout, the others are ended with `t.err` and settled. */
    readonly drain: Effect.Effect<void>
  }
>()("weir/calls/Calls") {
  static readonly layer = Layer.effect(
    Calls,
    Effect.gen(function* () {
      const config = yield* WeirConfig
      const context = yield* Effect.context<never>()
      const clock = yield* Clock.Clock
      const books = yield* Ledger
      const serverTools = yield* ServerTools
      const services: CallServices = {
        openTools: (asked, caller, marks) => serverTools.open(within, asked, caller, marks),
        config,
        context,
        catalogue: yield* Catalogue,
        gate: yield* Gate,
        overload: yield* Overload,
        sessions: yield* Sessions,
        budgets: yield* CallBudgets,
        balanceWarnings: yield* BalanceWarnings,
        budgetWarnings: yield* BudgetWarnings,
        denials: yield* PolicyDenials,
        ledger: books,
        firstRecords: new FirstRecords(books),
        settler: yield* Settler,
        jobAttempts: yield* JobAttempts,
        client: yield* VendorClient,
        spool: yield* Spool,
        health: yield* TargetHealth,
        review: yield* Review,
        replyCache: yield* ReplyCache,
        tokenizer: yield* Tokenizer,
        usualOutputs: new UsualOutputs(),
        reports: yield* ExchangeReports,
        contents: yield* ContentObjects,
        sealer: (yield* Sealing).sealer,
        deadlines: yield* CallDeadlines,
        timeoutsOf: makeTimeouts(config, context),
        leased: new Members(),
        sessionViews: new Set(),
        sharing: new Members(),
        nowMs: () => clock.currentTimeMillisUnsafe(),
      }
      const { leased, sharing, ledger, gate } = services
      const { streamBufferBytes: bufferBytes, streamStallMs: stallMs, streamHeartbeatMs: heartbeatMs } = config
      const waiting: WaitingBytes = { bytes: 0, limitBytes: (heapLimitBytes - heapUsedBytes()) * waitingShare }
      const node = `${hostname()}:${process.pid}`
      const running = new Members<Fiber.Fiber<unknown, unknown>>()
      let hasRun = false
      let emptied: (() => void) | undefined
      const whenEmpty = Effect.callback<void>((resume) => {
        if (running.size === 0) return resume(Effect.void)
        emptied = () => resume(Effect.void)
      })
      const replyTo = <Body extends object>(connection: Connection<Body>) =>
        new ClientReply({ connection, waiting, bufferBytes, stallMs, heartbeatMs, nowMs: services.nowMs })
      const endAll = Effect.suspend(() => {
        for (const fiber of running) fiber.interruptUnsafe()
        return whenEmpty
      })
      yield* Effect.addFinalizer(() => endAll)
      const run: CallsWithin["run"] = (call, connection) =>
        Effect.withFiber((fiber) => {
          const reply = replyTo(connection)
          const traceId = traceIdOf(fiber)
          const member = running.add(fiber)
          hasRun = true
          recordOpenExchanges(context, running.size)
          return Effect.ensuring(
            runCall(services, traceId === undefined ? call : { ...call, traceId }, reply),
            Effect.sync(() => {
              running.remove(member)
              recordOpenExchanges(context, running.size)
              if (running.size === 0) emptied?.()
            }),
          )
        })
      const within: CallsWithin = { run, engineAccount: (caller) => engineAccountOf(services, caller) }
      yield* keepLeases({
        ledger,
        gate,
        running: leased,
        waiting: sharing,
        leaseMs: config.leaseMs,
        checkpointMs: config.checkpointMs,
      })
      return Calls.of({
        services,
        open: () => running.size,
        hasRun: () => hasRun,
        watched: () => services.deadlines.size,
        view: (most) => ({
          node,
          open: leased.size,
          data: [...leased].slice(0, most).map((each) => each.view()),
          sessions: [...services.sessionViews].slice(0, most).map((each) => each()),
        }),
        drain: Effect.timeoutOrElse(whenEmpty, {
          duration: config.drainTimeoutMs,
          orElse: () => Effect.andThen(Effect.logWarning("Drain timeout: running calls are ended"), endAll),
        }),
        price: (call, connection, priced) =>
          Effect.match(priceCall(services, call, replyTo(connection)), {
            onSuccess: priced,
            onFailure: (error) => connection.refuse(error),
          }),
        run,
      })
    }),
  )
}

export interface ExchangesView {
  /** A label of this process. */
  readonly node: string
  readonly open: number
  readonly data: ReadonlyArray<OpenCall>
  readonly sessions: ReadonlyArray<OpenSession>
}

/** The share of the heap that was free at the start that data for slow clients may take. */
const waitingShare = 0.2

const idBytes = 12
/** Random bytes are drawn for many ids at once. */
const drawn = Buffer.alloc(idBytes * 256)
let usedBytes = drawn.length

/** A new request id; short, because every table of the ledger has it. */
export const newRequestId = (): string => {
  if (usedBytes === drawn.length) {
    randomFillSync(drawn)
    usedBytes = 0
  }
  usedBytes += idBytes
  return `req_${drawn.toString("base64url", usedBytes - idBytes, usedBytes)}`
}
