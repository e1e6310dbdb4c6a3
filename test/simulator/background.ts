/**
 * Responses that run without their client, on virtual time: nodes with the gateway's own code for them, and a database in memory
 * with the rules of `migrations/functions/books/responses.sql`; kills, cancels, erasures, and statements that are lost, or whose answers
 * are. Each is billed at most once and ends once. A seed repeats its run exactly.
 */
import { Clock, Context, Effect, Exit, Layer, References, Schedule, Scope } from "effect"
import { TestClock } from "effect/testing"
import { BackgroundResponses, type RunningResponse } from "../../src/kept-responses/background-responses.ts"
import { BackgroundStore } from "../../src/kept-responses/background-store.ts"
import { ContentObjects } from "../../src/kept-responses/content-objects.ts"
import { EventLog } from "../../src/kept-responses/event-log.ts"
import { sealRequest } from "../../src/kept-responses/kept-response.ts"
import type { RepeatedResponse } from "../../src/kept-responses/lost-responses.ts"
import { wholeAmount } from "../../src/money/amount.ts"
import type { HoldFacts, Settlement } from "../../src/money/settlement.ts"
import { makeSealer, Sealing } from "../../src/store/seal.ts"
import { StoreUnavailable } from "../../src/store/unavailable.ts"
import { MemoryBooks } from "../../src/testing/ledger-store-memory.ts"
import { record } from "../support/books.ts"
import { randomOf } from "../support/random.ts"
import { ResponseRows, refOf } from "./response-rows.ts"

const orgId = "org"
const funded = wholeAmount(1_000_000)
const nodeLeaseMs = 10_000
/** The time in which everything ends. */
const restMs = 90_000
const partMs = 50

interface Place {
  name: string
  responses: BackgroundResponses["Service"] | undefined
  scope: Scope.Closeable
  isDead: boolean
  line: "well" | "requests lost" | "replies lost"
}

/** A call of a response, as its node makes it. */
interface Call {
  readonly id: string
  readonly hold: HoldFacts
  readonly lastsMs: number
  /** The time until its vendor answers, after its first checkpoint. */
  readonly silentMs: number
  readonly fails: boolean
}

export interface BackgroundOptions {
  readonly rows?: ResponseRows
  readonly books?: MemoryBooks
}

/** The problem of a run as a sentence; undefined if there is none. */
export const simulateBackground = (
  seed: number,
  count: number,
  options: BackgroundOptions = {},
): Promise<string | undefined> =>
  Effect.runPromise(
    Effect.scoped(run(seed, count, options)).pipe(
      Effect.provide(TestClock.layer()),
      Effect.provideService(References.MinimumLogLevel, "None"),
    ),
  )

const run = Effect.fnUntraced(function* (
  seed: number,
  count: number,
  { rows = new ResponseRows(), books = new MemoryBooks() }: BackgroundOptions,
) {
  const random = randomOf(seed)
  const upTo = (max: number) => Math.floor(random() * max)
  const clock = yield* Clock.Clock
  const now = () => clock.currentTimeMillisUnsafe()
  const sealer = makeSealer("simulated")
  const sealing = Layer.succeed(Sealing, { sealer, isDurable: true })
  books.topup("start", orgId, "USD", funded)

  const request = (id: string) => Buffer.from(sealRequest(sealer, orgId, id, { headers: {}, body: "{}" }), "base64")

  /** A statement on its way from a node: a dead node sends none, and a bad line loses it, or its answer. */
  const sent = <A>(place: Place, statement: () => A): Effect.Effect<A, StoreUnavailable> =>
    Effect.gen(function* () {
      yield* Effect.sleep(upTo(30))
      if (place.isDead) return yield* Effect.never
      if (place.line === "requests lost") return yield* lost
      const answer = statement()
      if (place.line === "replies lost") return yield* lost
      yield* Effect.sleep(upTo(30))
      return answer
    })

  let names = 0
  let repeats = 0
  const made = new Map<string, Call>()
  const start = Effect.fnUntraced(function* (place: Place) {
    const name = `node${names++}`
    const scope = yield* Scope.make()
    const store = BackgroundStore.of(rows.storeOver((statement) => sent(place, statement), now, books, request))
    const layer = BackgroundResponses.layer.pipe(
      Layer.provide(Layer.mergeAll(Layer.succeed(BackgroundStore, store), ContentObjects.layerInRows, sealing)),
    )
    Object.assign(place, { name, scope, isDead: false, line: "well" })
    books.join(name, now() + nodeLeaseMs)
    const responses = Context.get(yield* Scope.provide(Layer.build(layer), scope), BackgroundResponses)
    place.responses = responses
    const again = {
      newRef: () => `req_again${repeats++}`,
      run: ({ id, ref, part }: RepeatedResponse) => {
        const first = made.get(id)
        if (first === undefined) return Effect.undefined
        const next = { ...first, hold: { ...first.hold, ref, node: name } }
        return Effect.as(Effect.ignore(call(place, next, part)), undefined)
      },
    }
    yield* Scope.provide(responses.repeatWith(again), scope)
    const keeps = Effect.sync(() => !place.isDead && place.name === name && books.renew(name, now() + nodeLeaseMs))
    const reaps = Effect.sync(() => place.isDead || books.reap(now()))
    yield* Effect.forkIn(Effect.forever(Effect.andThen(Effect.andThen(keeps, reaps), Effect.sleep(1000))), scope)
  })

  const places: Array<Place> = []
  for (let at = 0; at < 1 + upTo(3); at++) {
    const place: Place = { name: "", responses: undefined, scope: yield* Scope.make(), isDead: true, line: "well" }
    places.push(place)
    yield* start(place)
  }
  const anyPlace = (): Place | undefined => places[upTo(places.length)]

  /** Bills a call, and ends its response in the same commit; again and again, as the journal does. */
  const settle = (place: Place, { id, hold }: Call, cost: bigint) => {
    const settlement: Settlement = { hold, atMs: now(), cost, record }
    const commit = sent(place, () => {
      // A second settlement changes nothing.
      const isNew = books.usage.get(hold.ref)?.isReaped !== false
      const { outcome } = books.settle(settlement)
      if (isNew && outcome === "settled") rows.end(id, "completed")
    })
    return Effect.retry(commit, every)
  }

  /** @param part the number of the next part of its events, if it is made once more */
  const call: (place: Place, made: Call, part?: number) => Effect.Effect<void, StoreUnavailable> = Effect.fnUntraced(
    function* (place, made, part) {
      const { responses } = place
      if (responses === undefined) return
      let stop: () => void = () => {}
      const stopped = Effect.callback<true>((resume) => {
        stop = () => resume(Effect.succeed(true))
      })
      const content = { input: [], response: JSON.stringify({ id: made.id, status: "in_progress" }) }
      const { ref } = made.hold
      const response: RunningResponse = { orgId, id: made.id, ref, log: new EventLog(), content, stop: () => stop() }
      if (part === undefined) yield* responses.begin(response, { ...facts, id: made.id })
      else responses.goOn(response, part)
      const checkpoint = (isFirst: boolean, cost: number | undefined) => {
        const settlement = cost === undefined ? undefined : { cost: wholeAmount(cost), record }
        return Effect.ignore(sent(place, () => books.checkpoint([{ hold: made.hold, settlement, isFirst }])))
      }
      // Its vendor is silent at first, and a short call has no checkpoint.
      const answered = Effect.gen(function* () {
        yield* Effect.sleep(1000)
        yield* checkpoint(true, undefined)
        yield* Effect.sleep(made.silentMs)
        yield* checkpoint(false, 1)
        return yield* Effect.never
      })
      for (let event = 0; event < 3; event++) response.log.add(`event ${event}\n`)
      const lasts = Effect.as(Effect.sleep(made.lastsMs), false)
      const isStopped = yield* Effect.raceFirst(Effect.raceFirst(stopped, lasts), answered)
      if (made.fails && !isStopped) {
        yield* Effect.retry(
          sent(place, () => books.release(made.hold)),
          every,
        )
        return yield* responses.ended(
          response,
          { input: [], response: JSON.stringify({ status: "failed" }) },
          undefined,
        )
      }
      yield* settle(place, made, wholeAmount(isStopped ? 2 : 5))
      yield* responses.ended(response, undefined, isStopped ? { total_tokens: 2 } : undefined)
    },
  )

  const kill = Effect.fnUntraced(function* (place: Place, forMs: number) {
    if (place.isDead) return
    place.isDead = true
    place.responses = undefined
    yield* Effect.forkDetach(Scope.close(place.scope, Exit.void))
    yield* Effect.sleep(forMs)
    yield* start(place)
  })

  // Where lines are bad all the time, no node takes others for lost.
  const badLines = random() < 0.5 ? 0.15 : 0.01
  const begun: Array<string> = []
  const pass = Effect.fnUntraced(function* (millis: number) {
    for (let ms = 0; ms < millis; ms += partMs) yield* TestClock.adjust(partMs)
  })

  for (let number = 0; number < count; number++) {
    yield* pass(upTo(600))
    const place = anyPlace()
    if (place === undefined || place.isDead) continue
    const id = idOf(number)
    begun.push(id)
    const hold = { ...holdFacts, ref: refOf(id), requestId: refOf(id), node: place.name }
    const lastsMs = random() < 0.5 ? upTo(20_000) : upTo(1500)
    const one = { id, hold, lastsMs, silentMs: upTo(5000), fails: random() < 0.15 }
    made.set(id, one)
    yield* Effect.forkIn(Effect.ignore(call(place, one)), place.scope)
    const target = begun[begun.length - 1 - upTo(Math.min(4, begun.length))] ?? id
    const other = anyPlace()
    // Its client knows the id once the row is there.
    if (random() < 0.3 && other?.responses !== undefined && rows.stateOf(target) !== undefined) {
      const content = { input: [], response: JSON.stringify({ id: target }) }
      const cancelled = Effect.delay(other.responses.cancel(orgId, target, content), upTo(500))
      yield* Effect.forkIn(Effect.ignore(cancelled), other.scope)
    }
    if (random() < 0.05) rows.erase(target)
    if (random() < 0.03) yield* Effect.forkDetach(kill(place, upTo(20_000)))
    if (random() < badLines && other?.line === "well") {
      const { scope } = other
      other.line = random() < 0.5 ? "requests lost" : "replies lost"
      const mended = Effect.sync(() => {
        if (other.scope === scope) other.line = "well"
      })
      yield* Effect.forkDetach(Effect.delay(mended, upTo(random() < 0.2 ? 30_000 : 8000)))
    }
    const problem = rows.problem()
    if (problem !== undefined) return problem
  }
  yield* pass(restMs)
  for (const place of places) {
    place.isDead = true
    yield* Effect.forkDetach(Scope.close(place.scope, Exit.void))
  }
  yield* pass(partMs)
  return rows.problem() ?? rows.unended() ?? moneyProblem(books) ?? billingProblem(rows, books, begun)
})

const moneyProblem = (books: MemoryBooks): string | undefined => {
  const billed = [...books.usage.values()].reduce((sum, { settlement }) => sum + settlement.cost, 0n)
  const left = books.balance(orgId, "USD")
  return left === funded - billed ? undefined : `${left} is left of ${funded} after ${billed} was billed`
}

/** A response that has completed is billed in full; one that failed at its vendor is not billed. */
const billingProblem = (rows: ResponseRows, books: MemoryBooks, ids: ReadonlyArray<string>): string | undefined => {
  const byRequest = Map.groupBy(books.usage.values(), ({ settlement }) => settlement.hold.requestId)
  for (const id of ids) {
    const [billed, ...more] = byRequest.get(refOf(id)) ?? []
    if (more.length > 0) return `${id} is billed ${more.length + 1} times`
    if (rows.stateOf(id) === "completed" && billed?.settlement.cost !== wholeAmount(5)) {
      return `${id} has completed and is billed ${billed?.settlement.cost}`
    }
  }
  const open = [...books.holds.values()].filter(({ state }) => state === "open")
  return open.length === 0 ? undefined : `${open.length} holds are left`
}

const lost = new StoreUnavailable({ store: "postgres", cause: "the line is bad" })

const every = Schedule.spaced(300)

const idOf = (number: number): string => `resp_${number.toString().padStart(16, "0")}0g6c`

const holdFacts = { orgId, currency: "USD", keyId: "key", day: "2030-01-01", amount: wholeAmount(9) }

const facts = {
  day: "2030-01-01",
  app: "app",
  person: "",
  endUser: "",
  model: "main",
  state: "completed",
  background: true,
  eraseAt: Number.MAX_SAFE_INTEGER,
  items: [],
  sealed: "",
} as const
