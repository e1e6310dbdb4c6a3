/** A response that cannot be written. */
import { createServer } from "node:http"
import { Effect, Logger } from "effect"
import { expect, it } from "vitest"
import { surviveResponseErrors } from "../../../src/http/response-errors.ts"
import { portOf } from "../../../src/testing/port.ts"
import { eventually } from "../../support/gateway.ts"

it("does not end the process, and is logged", async () => {
  const logged: Array<unknown> = []
  const kept = Logger.layer([Logger.make(({ message }) => void logged.push(message))])
  const server = createServer((_request, response) => {
    response.end("ok")
    response.write("after the end")
  })
  await Effect.runPromise(Effect.provide(surviveResponseErrors(server), kept))
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  for (let count = 0; count < 2; count++) {
    expect(await (await fetch(`http://127.0.0.1:${portOf(server)}`)).text()).toBe("ok")
  }
  await eventually(() => logged.length === 2)
  expect(JSON.stringify(logged)).toContain("A response could not be written")
  server.close()
})
