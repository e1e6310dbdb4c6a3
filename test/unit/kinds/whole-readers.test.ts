/** A vendor's events of a whole call: which of them begin its reply. */
import { describe, expect, it } from "vitest"
import { targetOfVendor } from "../../../src/catalogue/snapshot.ts"
import { dialects } from "../../../src/dialects/index.ts"
import type { JsonObject } from "../../../src/dialects/parse/json.ts"
import { malformedReply } from "../../../src/dialects/vendor/faults.ts"
import { EventReader, type VendorStep } from "../../../src/kinds/whole/whole-readers.ts"

const target = targetOfVendor(
  {
    vendor: { id: "v", dialect: "openai-chat", baseUrl: "http://vendor.test" },
    dialect: dialects["openai-chat"],
    credential: undefined,
    identity: undefined,
    network: undefined,
    host: "vendor.test",
  },
  "m",
)

const readerOf = (step: VendorStep<string> | undefined) =>
  new EventReader<string>(
    {
      write: () => {},
      opening: () => "",
      brokenBill: () => ({ counts: { inTokens: 0, outTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, dims: {} } }),
      told: () => "",
      event: (_target, _event: JsonObject) => step,
    },
    target,
    { begun: () => {}, whole: () => {} },
  )

describe("an event begins a reply", () => {
  it.each<[string, VendorStep<string> | undefined, boolean]>([
    ["with words", { events: "word" }, true],
    ["with its end", { whole: "all", events: "" }, true],
    ["with a failure", { fault: malformedReply }, true],
    ["but not with an empty delta", { events: "" }, false],
    ["but not with what says nothing", undefined, false],
  ])("%s", (_what, step, begins) => {
    expect(readerOf(step).read(Buffer.from("data: {}\n\n"))).toBe(begins)
  })
})
