/** Copies of files at vendors, as two nodes record them: of each file, one at each place. */
import { expect, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { copiesOf } from "../../../src/client-files/client-file.ts"
import { FileDirectory } from "../../../src/client-files/file-directory.ts"
import { newFileId } from "../../../src/client-files/file-id.ts"
import { Sealing } from "../../../src/store/seal.ts"
import { layerTestDatabase } from "../../support/books.ts"

const services = FileDirectory.layer.pipe(Layer.provide(Sealing.layer), Layer.provideMerge(layerTestDatabase))
const org = "org_copies"
const owner = { app: "app", person: "", endUser: "" }
const most = { bytes: 1_000_000, files: 1000 }

const keep = Effect.gen(function* () {
  const directory = yield* FileDirectory
  const id = newFileId(Date.now())
  const file = { id, bytes: 1, purpose: "user_data", keptMs: undefined, name: "a", mime: "text/plain" }
  yield* directory.begin(org, owner, file, most)
  yield* directory.stored(org, owner, id, file.purpose)
  return id
})

/** A node has uploaded a file, and begins to record it. */
const begin = Effect.fnUntraced(function* (file: string, place: string, reference: string) {
  const directory = yield* FileDirectory
  const id = newFileId(Date.now())
  const copy = { vendor: "openai", place, reference }
  const facts = { id, purpose: copiesOf(file), bytes: 0, name: "a", mime: "text/plain", keptMs: undefined, copy }
  yield* directory.begin(org, owner, facts, most)
  return directory.copyStored(org, owner, file, { id, ...copy })
})

layer(services, { excludeTestServices: true })("a file that two nodes have uploaded", (it) => {
  it.effect("has the copy that was recorded first, also if the other was begun before it", () =>
    Effect.gen(function* () {
      const file = yield* keep
      const slow = yield* begin(file, "one", "slow")
      const fast = yield* begin(file, "one", "fast")
      expect((yield* fast)?.reference).toBe("fast")
      expect((yield* slow)?.reference).toBe("fast")
    }),
  )

  it.effect("has one copy, however many nodes record theirs at once, and one at each place", () =>
    Effect.gen(function* () {
      const file = yield* keep
      const begun = yield* Effect.forEach(Array.from({ length: 12 }), (_, at) =>
        begin(file, at % 2 === 0 ? "one" : "two", `copy ${at}`),
      )
      const named = yield* Effect.all(begun, { concurrency: "unbounded" })
      const at = (rest: number) => new Set(named.filter((_, at) => at % 2 === rest).map((copy) => copy?.reference))
      expect([at(0).size, at(1).size]).toEqual([1, 1])
      expect([...at(0)]).not.toEqual([...at(1)])
      const { list } = yield* FileDirectory
      const page = { purpose: copiesOf(file), limit: 100, after: undefined, order: "asc" } as const
      expect(yield* list(org, owner, page)).toHaveLength(2)
    }),
  )

  it.effect("has none once it is erased", () =>
    Effect.gen(function* () {
      const file = yield* keep
      const late = yield* begin(file, "one", "late")
      yield* (yield* FileDirectory).erase(org, file)
      expect(yield* late).toBeUndefined()
    }),
  )
})
