/** Results of tools, of HTTP replies. */
import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import { resultOf } from "../../../../src/tools/openapi/result.ts"

const reply = (status: number, type: string | undefined, body: string | Uint8Array, options = {}) =>
  resultOf(status, type === undefined ? {} : { "content-type": type }, Buffer.from(body), options)

const text = (value: string) => ({ type: "text", text: value })
const picture = Buffer.from([0x89, 0x50, 0x4e, 0x47])

describe("a result", () => {
  it.each([
    [200, "application/json", '{"a":1}', { content: [text('{"a":1}')], structuredContent: { a: 1 } }],
    [
      200,
      "application/problem+json; charset=utf-8",
      '{"a":1}',
      { content: [text('{"a":1}')], structuredContent: { a: 1 } },
    ],
    [200, "application/json", "[1]", { content: [text("[1]")] }],
    [200, "application/json", "{broken", { content: [text("{broken")] }],
    [200, "Text/Plain", "Hello", { content: [text("Hello")] }],
    [200, "text/html; charset=utf-8", "<p>", { content: [text("<p>")] }],
    [200, "image/svg+xml", "<svg/>", { content: [text("<svg/>")] }],
    [200, undefined, "Hello", { content: [text("Hello")] }],
    [200, "nonsense", "Hello", { content: [text("Hello")] }],
    [204, undefined, "", { content: [text("HTTP 204")] }],
    [
      404,
      "application/json",
      '{"a":1}',
      { content: [text("HTTP 404"), text('{"a":1}')], structuredContent: { a: 1 }, isError: true },
    ],
    [500, undefined, "", { content: [text("HTTP 500")], isError: true }],
    [200, "image/png", picture, { content: [{ type: "image", data: "iVBORw==", mimeType: "image/png" }] }],
    [200, "audio/wav", picture, { content: [{ type: "audio", data: "iVBORw==", mimeType: "audio/wav" }] }],
    [
      200,
      "application/pdf",
      picture,
      {
        content: [{ type: "resource", resource: { uri: "response:", mimeType: "application/pdf", blob: "iVBORw==" } }],
      },
    ],
    [
      200,
      undefined,
      Buffer.from([0, 1, 2]),
      {
        content: [
          { type: "resource", resource: { uri: "response:", mimeType: "application/octet-stream", blob: "AAEC" } },
        ],
      },
    ],
  ])("of %s %s %s", (status, type, body, result) => {
    expect(reply(status, type, body)).toEqual(result)
  })

  it("of a redirect says where it leads", () => {
    expect(resultOf(302, { location: "https://b.example/" }, Buffer.from(""))).toEqual({
      content: [text("HTTP 302, location: https://b.example/")],
    })
  })

  it("has text of another encoding, and of one that does not exist", () => {
    expect(reply(200, "text/plain; charset=iso-8859-1", Buffer.from([0xe9])).content).toEqual([text("é")])
    expect(reply(200, 'text/plain; charset="none"', "é").content).toEqual([text("é")])
  })

  it("has the uri of its resource", () => {
    const { content } = reply(200, "application/zip", picture, { uri: "https://a.example/x" })
    expect(content).toMatchObject([{ resource: { uri: "https://a.example/x" } }])
  })

  it("is bounded", () => {
    expect(reply(200, "application/json", '{"a":"éé"}', { maxBytes: 7 })).toEqual({
      content: [text('{"a":"'), text("The reply was cut: it has 12 bytes, and 7 are shown.")],
    })
    expect(reply(200, "image/png", Buffer.alloc(10), { maxBytes: 9 }).content).toEqual([
      text("The reply is image/png of 10 bytes, which is more than 9."),
    ])
  })

  it.prop("is written as JSON for every reply", [Schema.Int, Schema.String, Schema.String], ([status, type, body]) => {
    const result = reply(status, type, body, { maxBytes: 64 })
    expect(JSON.parse(JSON.stringify(result))).toEqual(result)
    expect(result.content.length).toBeGreaterThan(0)
  })
})
