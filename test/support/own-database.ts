/** A database of its own on the server that the environment names, for the tests of a file. */
import { Effect, Exit, type Redacted, Scope } from "effect"
import { afterAll, beforeAll } from "vitest"
import { testStores } from "../../src/testing/stores.ts"

/** @param server undefined without a server; then no test uses it */
export const useOwnDatabase = (server: string | undefined): (() => Redacted.Redacted) => {
  const scope = Scope.makeUnsafe()
  let url: Redacted.Redacted | undefined
  beforeAll(async () => {
    if (server !== undefined) url = (await Effect.runPromise(Scope.provide(testStores, scope))).databaseUrl
  })
  afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))
  return () => {
    if (url === undefined) throw new Error("there is no server")
    return url
  }
}
