/** `weir vendors test --fields`: each parameter that not every vendor has, tried at a vendor. */
import { Effect, Exit, Schema, Scope } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { describeCheck } from "../../src/cli/commands/vendors.ts"
import { startSimulatedVendor } from "../../src/development/simulated-vendor.ts"
import { VendorCheckResponse } from "../../src/protocol/control/admin.ts"
import { extraNames } from "../../src/protocol/extra-params.ts"
import { newTestIds, type ScriptedVendor, testCatalogue } from "../../src/testing/index.ts"
import { useGateway } from "../support/gateway.ts"

const scope = Scope.makeUnsafe()
let simulated: ScriptedVendor
beforeAll(async () => {
  simulated = await Effect.runPromise(Scope.provide(startSimulatedVendor(), scope))
})
afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

const ids = newTestIds()
const gateway = useGateway(() => ({
  ids,
  catalogue: (urls) =>
    testCatalogue(urls, ids).replace(
      "vendors:\n",
      `vendors:
  - { id: sim, dialect: openai-chat, profile: generic, baseUrl: "${simulated.url}/v1" }
  - { id: sim-openai, dialect: openai-chat, profile: openai, baseUrl: "${simulated.url}/v1" }
`,
    ),
}))

const decode = Schema.decodeUnknownSync(VendorCheckResponse, { onExcessProperty: "error" })
const test = async (vendor: string, model: string) => {
  const response = await fetch(`${gateway().baseUrl}/v1/admin/vendors/${vendor}/test`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-svc-admin-key": gateway().adminKey },
    body: JSON.stringify({ model, fields: true }),
  })
  return decode(await response.json())
}
const byOutcome = ({ fields = [] }: VendorCheckResponse) =>
  Object.groupBy(fields, ({ outcome }) => outcome) satisfies object

describe("weir vendors test --fields", () => {
  it("tells what a vendor honours, and what no reply can show", async () => {
    const outcome = await test("sim", "simulated-1")
    expect(outcome.fields?.map(({ name }) => name)).toEqual(extraNames)
    const { honoured, accepted, refused, ignored, lacking } = byOutcome(outcome)
    expect(honoured?.map(({ name }) => name)).toEqual(["logprobs", "serviceTier", "n"])
    expect(accepted).toHaveLength(extraNames.length - 3)
    expect([refused, ignored, lacking]).toEqual([undefined, undefined, undefined])
  })

  it("tells what it refuses, what its API lacks, and suggests the profile", async () => {
    const outcome = await test("sim-openai", "without:seed,logit_bias")
    const { refused, lacking } = byOutcome(outcome)
    expect(refused).toEqual([
      { name: "seed", outcome: "refused", status: 400 },
      { name: "logitBias", outcome: "refused", status: 400 },
    ])
    expect(lacking?.map(({ name }) => name)).toEqual(["topK", "minP", "stopTokens"])
    const text = describeCheck(outcome)
    expect(text).toContain("seed              refused by the vendor (400)")
    expect(text).toContain("params: { seed: { strip: true }, logitBias: { strip: true } }")
  })

  it("is not asked of a vendor that does not answer at all", async () => {
    const outcome = await test("openai", "unreachable")
    expect(outcome.fields === undefined || outcome.ok).toBe(true)
  })
})
