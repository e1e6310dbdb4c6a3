/** Names of fields in a vendor's refusal, as the client of the request knows them. */
import { describe, expect, it } from "vitest"
import { clientField, writtenFields } from "../../../src/dialects/client/client-field.ts"
import { cut, cutPart, set } from "../../../src/protocol/json/json-edit.ts"

const body = {
  model: "m",
  tempreature: 1,
  generationConfig: { topQ: 1 },
  messages: [{ content: [{ text: "a" }, { text: "b" }] }, { content: [{ text: "c" }] }, { content: "d" }],
  tools: [{ functionDeclarations: [{}, {}, {}] }, {}, {}],
}
const edits = [
  set("upstream", "model"),
  cut("tempreature"),
  cutPart("messages", 0, "content", 0),
  cutPart("messages", 1, "content", 0),
  cut("tools", 0, "functionDeclarations", "1"),
  cut("tools", 1),
]
const { messages: _, tools: _tools, ...head } = body
const written = writtenFields({ members: Object.keys(body), head, whole: () => body }, edits)

describe("a field that a vendor names", () => {
  it.each([
    ["messages.0.content.0.text", "messages.0.content.1.text"],
    ["messages[0].content[1]", "messages[0].content[2]"],
    ["messages.1.content", "messages.2.content"],
    ["tools.1.custom.name", "tools.2.custom.name"],
    ["tools[0].function_declarations[1].name", "tools[0].function_declarations[2].name"],
    ["generation_config.top_q", "generationConfig.top_q"],
    ["max_tokens", "max_tokens"],
  ])("%s is %s for its client", (named, own) => {
    expect(clientField(written, named, [])).toBe(own)
  })
})

describe("names in a vendor's text", () => {
  it.each([
    [["type", "tempreature"], "tempreature"],
    [["generation_config.topQ"], "generationConfig.topQ"],
    [["generation_config.secret"], "generationConfig"],
    [["messages.1.secret"], "messages.2"],
    [["secret", "text", "topQ"], undefined],
    [[], undefined],
  ])("%j tell %s", (mentioned, own) => {
    expect(clientField(written, undefined, mentioned)).toBe(own)
  })

  it("say more of a field that is named", () => {
    expect(clientField(written, "generation_config", ["generation_config.topQ"])).toBe("generationConfig.topQ")
    expect(clientField(written, "tools", ["tempreature"])).toBe("tools")
  })
})
