/** Checks before any route: the envelope, authentication, invalid bodies. */
import { expectError, expectThat, type Group } from "./probe.ts"

export const edgeChecks: Group = {
  section: "Errors and authentication",
  checks: [
    {
      name: "a path that does not exist is not_found, in the envelope",
      run: async (probe) => {
        expectError(await probe.send("/t1/nothing-is-here"), "not_found")
      },
    },
    {
      name: "a wrong secret is app_key_invalid",
      run: async (probe) => {
        expectError(
          await probe.send("/t1/exchange", { body: probe.ask(), headers: { "x-svc-key": "wrong" } }),
          "app_key_invalid",
        )
      },
    },
    {
      name: "an unknown key is refused like a wrong secret",
      run: async (probe) => {
        const headers = { "x-svc-key-id": "key_that_nobody_has" }
        const unknown = expectError(await probe.send("/t1/exchange", { body: probe.ask(), headers }), "app_key_invalid")
        const wrong = expectError(
          await probe.send("/t1/exchange", { body: probe.ask(), headers: { "x-svc-key": "wrong" } }),
          "app_key_invalid",
        )
        expectThat(unknown.message === wrong.message, "the two refusals reveal which keys exist")
      },
    },
    {
      name: "no credentials are refused with 401",
      run: async (probe) => {
        const headers = { "x-svc-key-id": undefined, "x-svc-key": undefined }
        expectError(await probe.send("/t1/exchange", { body: probe.ask(), headers }), "unauthorized", "app_key_invalid")
      },
    },
    {
      name: "control routes want a bearer token",
      run: async (probe) => {
        expectError(await probe.send("/v1/config/effective", { method: "GET" }), "unauthorized")
      },
    },
    {
      name: "a body that is no JSON is bad_request",
      run: async (probe) => {
        expectError(await probe.send("/t1/exchange", { body: "{" }), "bad_request")
      },
    },
    {
      name: "an unknown field is refused",
      run: async (probe) => {
        expectError(await probe.send("/t1/exchange", { body: probe.ask({ temperture: 1 }) }), "bad_request")
      },
    },
    {
      name: "each reply has a request id of its own",
      run: async (probe) => {
        const ids = await Promise.all(
          Array.from({ length: 5 }, async () =>
            (await probe.send("/t1/nothing-is-here")).headers.get("x-svc-request-id"),
          ),
        )
        expectThat(new Set(ids).size === 5 && !ids.includes(null), `the ids were ${ids.join(", ")}`)
      },
    },
  ],
}
