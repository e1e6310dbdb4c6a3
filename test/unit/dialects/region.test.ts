/** The region in which vendors say that they answered. */
import { describe, expect, it } from "vitest"
import { decodeBody } from "../../../src/dialects/anthropic/vendor-reply.ts"
import { regionName, regionOfHead } from "../../../src/dialects/vendor/region.ts"

describe("the region of a reply", () => {
  it.each([
    ["East US 2", "East US 2"],
    ["us-west-1", "us-west-1"],
    ["eu", "eu"],
    ["not_available", undefined],
    ["", undefined],
    ["x".repeat(41), undefined],
    ["<script>", undefined],
    ["eu\r\nx: y", undefined],
    [["eu"], undefined],
    [null, undefined],
  ])("%j is %j", (text, region) => {
    expect(regionName(text)).toBe(region)
    expect(regionOfHead({ "x-ms-region": text })).toBe(region)
    expect(regionOfHead({ "x-ms-region": text, "x-groq-region": "us-east-1" })).toBe(region ?? "us-east-1")
  })

  it.each([["us"], [undefined], ["not_available"]])("is what the usage of a message says: %j", (region) => {
    const usage = { input_tokens: 1, output_tokens: 1, ...(region !== undefined && { inference_geo: region }) }
    const content = [{ type: "text", text: "x" }]
    const events = decodeBody(JSON.stringify({ type: "message", content, stop_reason: "end_turn", usage }))
    expect(events.filter(({ kind }) => kind === "region")).toEqual(region === "us" ? [{ kind: "region", region }] : [])
  })
})
