/** A twin behind a socket, for the SDK of its vendor. */
import { Effect, Exit, Scope } from "effect"
import { afterAll, beforeAll } from "vitest"
import { serveTwin, startScriptedVendor, type Twin, type TwinScript } from "../../../../src/testing/index.ts"

/** Serves a twin during the tests of a file. @returns its URL, once it is served */
export const useTwin = (twin: Twin, script: TwinScript): (() => string) => {
  const scope = Scope.makeUnsafe()
  let url = ""
  beforeAll(async () => {
    const vendor = await Effect.runPromise(Scope.provide(startScriptedVendor(serveTwin(twin, script)), scope))
    url = vendor.url
  })
  afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))
  return () => url
}

/** An answer that has a block of each kind. */
export const saysAll: TwinScript = ({ texts }) => ({
  blocks: [
    { t: "reasoning", pieces: ["I ", "think"] },
    {
      t: "text",
      pieces: ["You said: ", ...texts],
      citations: [{ url: "https://example.com", title: "E", text: "e" }],
    },
    { t: "call", name: "get", args: '{"city":"Oslo"}' },
    { t: "call", name: "get", args: "{}" },
  ],
})
