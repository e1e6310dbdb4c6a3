/** Bodies of the control plane: only a catalogue may be large, because reading one keeps the streams of a node waiting. */
import { expect, it } from "vitest"
import { errorOf, useGateway } from "../../support/gateway.ts"

const gateway = useGateway()
const post = (path: string, body: object) =>
  gateway().call("POST", path, body, { "x-svc-admin-key": gateway().adminKey })
const large = { name: "x".repeat(3 * 1024 * 1024) }

it.each(["/v1/admin/orgs", "/v1/admin/members", "/v1/admin/keys", "/v1/admin/topups", "/v1/admin/policies/test"])(
  "%s refuses 3 MiB by their size",
  async (path) => {
    expect(await errorOf(await post(path, large))).toMatchObject({ status: 413, code: "payload_too_large" })
  },
)

it.each(["/v1/admin/tenants:batch", "/v1/admin/catalogue"])("%s reads 3 MiB", async (path) => {
  expect(await errorOf(await post(path, large))).toMatchObject({ status: 400, code: "bad_request" })
})
