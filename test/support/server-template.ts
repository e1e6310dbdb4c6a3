/** One migrated database for all tests of a run on a server. Vitest runs `setup` before the first test, then `teardown`. */
import { Effect, Exit, Scope } from "effect"
import { makeTemplate, templateVariable } from "../../src/testing/server-databases.ts"

const scope = Scope.makeUnsafe()

export const setup = async (): Promise<void> => {
  const server = process.env["SVC_TEST_DATABASE_URL"]
  if (server === undefined) return
  process.env[templateVariable] = await Effect.runPromise(Scope.provide(makeTemplate(server), scope))
}

export const teardown = (): Promise<void> => Effect.runPromise(Scope.close(scope, Exit.void))
