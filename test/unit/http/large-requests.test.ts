/** A large request whose worker is gone: an error that says retry, and nothing passes unreviewed. */
import { Worker } from "node:worker_threads"
import { Effect, Exit, Layer, Result, Scope } from "effect"
import { describe, expect, it, vi } from "vitest"
import { Catalogue } from "../../../src/catalogue/catalogue.ts"
import { LargeRequests } from "../../../src/http/large/large-requests.ts"
import type { FromWorker } from "../../../src/http/large/protocol.ts"
import { RemotePrompt } from "../../../src/http/large/remote-prompt.ts"
import { everyPart } from "../../../src/policies/parts.ts"
import { layerStaticCatalogue, mockCatalogue } from "../../../src/testing/index.ts"
import { layerTestConfig } from "../../../src/testing/stores.ts"

const facts = { kinds: new Set(["text"] as const), hasTools: false, tokens: 7, hasRemoteMedia: false, canUnseal: false }
const gone: Effect.Effect<FromWorker> = Effect.succeed({ kind: "failed", message: "the worker is gone" })

const withCatalogue = <A, E>(run: Effect.Effect<A, E, Catalogue>): Promise<A> =>
  Effect.runPromise(Effect.provide(run, layerStaticCatalogue(mockCatalogue).pipe(Layer.provide(layerTestConfig()))))

describe("a prompt whose worker is gone", () => {
  it("is not sent, not counted, and not passed by policies", () =>
    withCatalogue(
      Effect.gen(function* () {
        const catalogue = (yield* Catalogue).current()
        const [target] = catalogue.model("main")?.targets ?? []
        if (target === undefined) throw new Error("there is no target")
        const prompt = new RemotePrompt(
          facts,
          { encode: () => gone, text: () => gone },
          (id) => catalogue.vendor(id)?.vendor,
        )
        const params = {
          model: "m",
          maxTokens: 1,
          stop: [],
          canReason: false,
          stream: false,
          cache: { enabled: false, skipWrite: false },
        }
        const error = yield* Effect.flip(prompt.prepare(target, params))
        expect(error).toMatchObject({ code: "internal_error", detail: { retryable: true } })
        expect(yield* prompt.parts).toEqual({ text: "", tokens: 7 })
        expect(Exit.isFailure(yield* Effect.exit(prompt.reviewed(everyPart)))).toBe(true)
      }),
    ))
})

const withRoom = <A>(run: (large: LargeRequests["Service"]) => Effect.Effect<A, unknown>): Promise<A> =>
  Effect.runPromise(
    Effect.flatMap(LargeRequests, run).pipe(
      Effect.provide(
        LargeRequests.layer.pipe(
          Layer.provide(layerStaticCatalogue(mockCatalogue)),
          Layer.provide(layerTestConfig({ largeBodyBytes: 100 })),
        ),
      ),
    ),
  )

describe("a worker that dies", () => {
  it("loses the requests that it has, which are told so, and another takes its place", () =>
    withRoom((large) =>
      Effect.gen(function* () {
        const body = () =>
          Buffer.from('{"model":"main","thread":[{"role":"user","blocks":[{"t":"text","v":"Hello"}]}]}')
        const read = Effect.scoped(large.read([body()]))
        const posted = vi.spyOn(Worker.prototype, "postMessage")
        posted.mockImplementationOnce(function (this: Worker) {
          void this.terminate()
        })
        const lost = yield* Effect.timeout(Effect.flip(read), "20 seconds")
        posted.mockRestore()
        expect(lost).toMatchObject({ code: "internal_error" })
        const { decoded } = yield* read
        expect(Result.isSuccess(decoded) && decoded.success.request.model).toBe("main")
      }),
    ))
})

describe("room for large bodies", () => {
  it("is given back with its scope, and one body always has room", () =>
    withRoom((large) =>
      Effect.gen(function* () {
        const scope = yield* Scope.make()
        yield* Scope.provide(large.reserve(500), scope)
        const refused = yield* Effect.flip(Effect.scoped(large.reserve(1)))
        expect(refused).toMatchObject({ code: "rate_limited", detail: { scope: "gateway" } })
        yield* Scope.close(scope, Exit.void)
        yield* Effect.scoped(Effect.andThen(large.reserve(60), large.reserve(40)))
        expect(
          Exit.isFailure(yield* Effect.exit(Effect.scoped(Effect.andThen(large.reserve(60), large.reserve(41))))),
        ).toBe(true)
      }),
    ))
})
