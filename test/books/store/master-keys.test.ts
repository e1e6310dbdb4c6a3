/** Master keys that were replaced: all that are named open what they sealed, and a node that lacks one says so at its start. */
import { expect, layer } from "@effect/vitest"
import { Effect, Layer, Logger, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { WeirConfig } from "../../../src/config.ts"
import { openResponse, sealContent } from "../../../src/kept-responses/kept-response.ts"
import { layerMasterKeys } from "../../../src/store/master-keys.ts"
import { Sealing } from "../../../src/store/seal.ts"
import { layerTestDatabase } from "../../support/books.ts"
import { eventually } from "../../support/gateway.ts"

layer(layerTestDatabase, { excludeTestServices: true, timeout: "60 seconds" })("a node", (it) => {
  const content = { input: ["a"], response: "b" }
  const sealedBy = { id: "resp_x" }

  /** Starts a node with its keys. @returns its warnings */
  const start = Effect.fnUntraced(function* (masterKey: string, previous?: string, opens?: Uint8Array) {
    const config = yield* WeirConfig
    const warnings: Array<string> = []
    const keep = Logger.make(({ logLevel, message }) => {
      if (logLevel === "Warn") warnings.push(JSON.stringify(message))
    })
    const own = Layer.succeed(WeirConfig, {
      ...config,
      masterKey: Redacted.make(masterKey),
      masterKeyPrevious: previous === undefined ? undefined : Redacted.make(previous),
    })
    const keys = layerMasterKeys.pipe(Layer.provideMerge(Sealing.layer), Layer.provide(own))
    const sql = yield* SqlClient.SqlClient
    const used = () => Effect.runPromise(sql`select id from master_keys`)
    const before = (yield* Effect.promise(used)).length
    return yield* Effect.gen(function* () {
      const { sealer } = yield* Sealing
      yield* Effect.promise(() => eventually(async () => (await used()).length > before || opens !== undefined))
      return {
        warnings,
        sealed: sealContent(sealer, "org", sealedBy.id, content),
        opened: opens && openResponse(sealer, "org", { ...sealedBy, content: opens }, 1000),
      }
    }).pipe(Effect.provide(keys), Effect.provide(Logger.layer([keep])), Effect.scoped)
  })

  it.effect("opens content of two rotations before, if it has all keys, and warns if it has not", () =>
    Effect.gen(function* () {
      const first = yield* start("first of all")
      expect(first.warnings).toEqual([])
      const second = yield* start("second", "first of all")
      expect(second.warnings).toEqual([])
      const third = yield* start("third", "second\nfirst of all\n", first.sealed)
      expect(third).toMatchObject({ warnings: [], opened: content })
      const fourth = yield* start("fourth", "third", first.sealed)
      expect(fourth.opened).toBeUndefined()
      expect(fourth.warnings).toHaveLength(2)
      expect(fourth.warnings.join()).toMatch(/cannot be opened.*SVC_MASTER_KEY_PREVIOUS.*usedUntil/)
      expect(fourth.warnings.join()).not.toContain("first of all")
    }),
  )

  it.effect("forgets keys of more than 400 days ago", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`update master_keys set last_used_at = now() - interval '401 days'`
      expect((yield* start("fifth")).warnings).toEqual([])
    }),
  )
})
