/** Situations of public reports about gateways, where client and vendor speak the same API: nothing of them is lost. */
import { OpenAI } from "openai"
import { describe, expect, it } from "vitest"
import { newTestIds, testCatalogue, type VendorScript } from "../../../src/testing/index.ts"
import { useGateway } from "../../support/gateway.ts"
import { ask, modelsAt, serving } from "./served.ts"

const ids = newTestIds()
const gateway = useGateway({
  ids,
  catalogue: (urls) =>
    serving(testCatalogue(urls, ids), {
      models: modelsAt(
        { chat: "openai", resp: "responses", cl: "anthropic", gem: "gemini" },
        "maxOutput: 10000, capabilities: [tools, images, files, reasoning]",
      ),
    }),
})

const paths = {
  chat: "/openai/v1/chat/completions",
  responses: "/openai/v1/responses",
  messages: "/anthropic/v1/messages",
  generate: "/gemini/v1beta/models/gem:generateContent",
  generateStream: "/gemini/v1beta/models/gem:streamGenerateContent?alt=sse",
}
type Path = keyof typeof paths

const post = (path: Path, body: string, headers?: Readonly<Record<string, string>>) =>
  ask(gateway(), paths[path], body, headers)

const whole =
  (body: string): VendorScript =>
  (call) => {
    call.head(200, { "content-type": "application/json" })
    call.end(body)
  }
const stream =
  (frames: ReadonlyArray<string>): VendorScript =>
  (call) => {
    call.head(200, { "content-type": "text/event-stream" })
    for (const frame of frames) call.write(frame)
    call.end()
  }

const chatReply = (message: string, finish = "stop", more = "") =>
  `{"id":"x","object":"chat.completion","created":1,"model":"upstream","choices":[{"index":0,"message":{"role":"assistant",${message}},"finish_reason":"${finish}"${more}}],"usage":{"prompt_tokens":9,"completion_tokens":1,"total_tokens":10}}`
const responsesReply = (output: string) =>
  `{"id":"x","object":"response","created_at":1,"status":"completed","model":"upstream","output":[${output}],"usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":0},"output_tokens":1,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":10}}`
const messageReply = (content: string, stop = `"stop_reason":"end_turn","stop_sequence":null`) =>
  `{"id":"x","type":"message","role":"assistant","model":"upstream","content":[${content}],${stop},"usage":{"input_tokens":9,"output_tokens":1}}`
const generateReply = (candidate: string) =>
  `{"candidates":[{${candidate}}],"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":1,"totalTokenCount":10},"modelVersion":"upstream","responseId":"x"}`

const usual: Readonly<Record<Path, VendorScript>> = {
  chat: whole(chatReply(`"content":"A"`)),
  responses: whole(
    responsesReply(
      `{"type":"message","id":"m","role":"assistant","status":"completed","content":[{"type":"output_text","text":"A","annotations":[]}]}`,
    ),
  ),
  messages: whole(messageReply(`{"type":"text","text":"A"}`)),
  generate: whole(generateReply(`"content":{"role":"model","parts":[{"text":"A"}]},"finishReason":"STOP","index":0`)),
  generateStream: stream([
    `data: ${generateReply(`"content":{"role":"model","parts":[{"text":"A"}]},"finishReason":"STOP","index":0`)}\n\n`,
  ]),
}

const freeform = `{"type":"custom","name":"apply_patch","format":{"type":"grammar","syntax":"lark","definition":"start: \\"a\\""}}`
const picture = "data:image/png;base64,iVBORw0KGgo="
const thread = (call: string, result: string) => `{"role":"user","content":"Hi"},${call},${result}`

type Request = readonly [what: string, path: Path, body: string, headers?: Readonly<Record<string, string>>]
const requests: ReadonlyArray<Request> = [
  [
    "a breakpoint of an hour",
    "messages",
    `{"model":"cl","max_tokens":9,"system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral","ttl":"1h"}}],"messages":[{"role":"user","content":"Hi"}]}`,
  ],
  [
    "effort without thinking",
    "messages",
    `{"model":"cl","max_tokens":9,"output_config":{"effort":"low"},"messages":[{"role":"user","content":"Hi"}]}`,
  ],
  [
    "the highest effort, and thinking that is not shown",
    "messages",
    `{"model":"cl","max_tokens":9,"output_config":{"effort":"xhigh"},"thinking":{"type":"adaptive","display":"omitted"},"messages":[{"role":"user","content":"Hi"}]}`,
  ],
  [
    "effort beside a budget",
    "messages",
    `{"model":"cl","max_tokens":9000,"output_config":{"effort":"high"},"thinking":{"type":"enabled","budget_tokens":2000},"messages":[{"role":"user","content":"Hi"}]}`,
    { "anthropic-beta": "interleaved-thinking-2025-05-14" },
  ],
  [
    "a freeform tool, chosen by name",
    "responses",
    `{"model":"resp","max_output_tokens":90,"store":false,"input":"Hi","tools":[${freeform}],"tool_choice":{"type":"custom","name":"apply_patch"}}`,
  ],
  [
    "calls and results of a freeform tool",
    "responses",
    `{"model":"resp","max_output_tokens":90,"store":false,"tools":[${freeform}],"input":[${thread(`{"type":"custom_tool_call","call_id":"c1","name":"apply_patch","input":"*** Begin Patch\\n"}`, `{"type":"custom_tool_call_output","call_id":"c1","output":"done"}`)}]}`,
  ],
  [
    "a freeform tool of chat completions",
    "chat",
    `{"model":"chat","max_tokens":9,"messages":[${thread(`{"role":"assistant","tool_calls":[{"id":"c1","type":"custom","custom":{"name":"g","input":"raw"}}]}`, `{"role":"tool","tool_call_id":"c1","content":"1"}`)}],"tools":[{"type":"custom","custom":{"name":"g","description":"d","format":{"type":"text"}}}]}`,
  ],
  [
    "the phase of a message",
    "responses",
    `{"model":"resp","max_output_tokens":90,"store":false,"input":[{"role":"user","content":"Hi"},{"type":"message","role":"assistant","phase":"commentary","content":[{"type":"output_text","text":"A","annotations":[]}]},{"role":"user","content":"B"}]}`,
  ],
  [
    "integers above 2^53 in arguments",
    "chat",
    `{"model":"chat","max_tokens":9,"messages":[${thread(`{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\\"id\\": 1234567890123456789, \\"p\\":1.10}"}}]}`, `{"role":"tool","tool_call_id":"c1","content":"1"}`)}],"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{}}}}]}`,
  ],
  [
    "integers above 2^53 in an input",
    "messages",
    `{"model":"cl","max_tokens":9,"messages":[${thread(`{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"f","input":{"id": 1234567890123456789, "p":1.10}}]}`, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"1"}]}`)}],"tools":[{"name":"f","input_schema":{"type":"object"}}]}`,
  ],
  [
    "results with pictures, results first",
    "messages",
    `{"model":"cl","max_tokens":9,"messages":[${thread(`{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"f","input":{}},{"type":"tool_use","id":"t2","name":"f","input":{}}]}`, `{"role":"user","content":[${["t1", "t2"].map((id) => `{"type":"tool_result","tool_use_id":"${id}","content":[{"type":"text","text":"a"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}]}`).join(",")}]}`)}],"tools":[{"name":"f","input_schema":{"type":"object"}}]}`,
  ],
  [
    "pictures of a function's response",
    "generate",
    `{"contents":[{"role":"user","parts":[{"text":"Hi"}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":{}},"thoughtSignature":"c2ln"}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"image":{"$ref":"a.png"}},"parts":[{"inlineData":{"mimeType":"image/png","displayName":"a.png","data":"iVBORw0KGgo="}}]}}]}],"generationConfig":{"maxOutputTokens":9}}`,
  ],
  [
    "files and videos of a function's response",
    "generate",
    `{"contents":[{"role":"user","parts":[{"text":"Hi"}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":{}},"thoughtSignature":"c2ln"}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{},"parts":[{"fileData":{"mimeType":"application/pdf","fileUri":"https://generativelanguage.googleapis.com/v1beta/files/a"}},{"inlineData":{"mimeType":"video/mp4","data":"aGk="}}]}}]}],"generationConfig":{"maxOutputTokens":9}}`,
  ],
  [
    "a signature of a call",
    "generate",
    `{"contents":[{"role":"user","parts":[{"text":"Hi"}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":{"n":1.10}},"thoughtSignature":"c2ln"}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"$ref":"#/$defs/A","n":1.10}}}]}],"generationConfig":{"maxOutputTokens":9}}`,
  ],
  [
    "how closely a picture is looked at",
    "chat",
    `{"model":"chat","max_tokens":9,"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"${picture}","detail":"low"}}]}]}`,
  ],
  [
    "the original picture",
    "responses",
    `{"model":"resp","max_output_tokens":90,"store":false,"input":[{"role":"user","content":[{"type":"input_image","image_url":"${picture}","detail":"original"}]}]}`,
  ],
  [
    "strict tools",
    "chat",
    `{"model":"chat","max_tokens":9,"messages":[{"role":"user","content":"Hi"}],"tools":[{"type":"function","function":{"name":"f","strict":true,"parameters":{"type":"object","properties":{},"additionalProperties":false}}}],"response_format":{"type":"json_object"}}`,
  ],
]

describe("a request to a vendor of the same API keeps", () => {
  for (const [what, path, body, headers = {}] of requests) {
    it(`${what} (${path})`, async () => {
      gateway().vendor.script(usual[path])
      expect(await post(path, body, headers)).toMatchObject({ status: 200 })
      const call = gateway().vendor.calls.at(-1)
      expect(call?.sent.toString("utf8")).toBe(body.replace(/"model":"(chat|resp|cl)"/, '"model":"upstream"'))
      for (const [name, value] of Object.entries(headers)) expect(call?.headers[name]).toBe(value)
    })
  }
})

const hello: Readonly<Record<Path, string>> = {
  chat: `{"model":"chat","max_tokens":9,"messages":[{"role":"user","content":"Hi"}],"tools":[{"type":"function","function":{"name":"f","parameters":{}}}]}`,
  responses: `{"model":"resp","max_output_tokens":90,"input":"Hi","tools":[${freeform}]}`,
  messages: `{"model":"cl","max_tokens":9,"messages":[{"role":"user","content":"Hi"}],"tools":[{"name":"f","input_schema":{"type":"object"}}]}`,
  generate: `{"contents":[{"role":"user","parts":[{"text":"Hi"}]}]}`,
  generateStream: `{"contents":[{"role":"user","parts":[{"text":"Hi"}]}]}`,
}

const cited = {
  responses: `{"type":"message","id":"m","role":"assistant","status":"completed","phase":"commentary","content":[{"type":"output_text","text":"A","annotations":[{"type":"url_citation","url":"https://example.com/a","title":"A","start_index":0,"end_index":1}]}]}`,
  messages: `{"type":"text","text":"A","citations":[{"type":"web_search_result_location","url":"https://example.com/a","title":"A","encrypted_index":"c2VhbGVk","cited_text":"a"}]}`,
  generate: `"content":{"role":"model","parts":[{"text":"A"}]},"finishReason":"STOP","index":0,"groundingMetadata":{"groundingChunks":[{"web":{"uri":"https://example.com/a","title":"A"}}],"groundingSupports":[{"segment":{"startIndex":0,"endIndex":1,"text":"A"},"groundingChunkIndices":[0]}]},"citationMetadata":{"citationSources":[]}`,
  chat: `"content":"A","annotations":[{"type":"url_citation","url_citation":{"url":"https://example.com/a","title":"A","start_index":0,"end_index":1}}]`,
}

const replies: ReadonlyArray<readonly [what: string, path: Path, reply: string]> = [
  ["citations", "responses", responsesReply(cited.responses)],
  ["citations", "messages", messageReply(cited.messages)],
  ["citations", "generate", generateReply(cited.generate)],
  ["citations", "chat", chatReply(cited.chat)],
  [
    "a call of a freeform tool",
    "responses",
    responsesReply(
      `{"type":"custom_tool_call","id":"ctc_1","call_id":"c1","name":"apply_patch","input":"*** Begin Patch\\n","status":"completed"}`,
    ),
  ],
  [
    "a turn that is paused",
    "messages",
    messageReply(`{"type":"text","text":"A"}`, `"stop_reason":"pause_turn","stop_sequence":null`),
  ],
  [
    "a turn that is refused",
    "messages",
    messageReply(
      `{"type":"text","text":"A"}`,
      `"stop_reason":"refusal","stop_sequence":null,"stop_details":{"type":"refusal","category":"x"}`,
    ),
  ],
  [
    "the stop sequence that matched",
    "messages",
    messageReply(`{"type":"text","text":"A"}`, `"stop_reason":"stop_sequence","stop_sequence":"END"`),
  ],
  [
    "the stop sequence that matched, as vLLM tells it",
    "chat",
    chatReply(`"content":"A"`, "stop", `,"stop_reason":"END"`),
  ],
  [
    "a call that the model wrote wrongly",
    "generate",
    generateReply(
      `"content":{"role":"model","parts":[{"text":""}]},"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"Malformed function call: f(","index":0`,
    ),
  ],
  [
    "integers above 2^53",
    "chat",
    chatReply(
      `"content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\\"id\\": 1234567890123456789}"}}]`,
      "tool_calls",
    ),
  ],
  [
    "integers above 2^53",
    "messages",
    messageReply(
      `{"type":"tool_use","id":"t1","name":"f","input":{"id": 1234567890123456789, "p":1.10}}`,
      `"stop_reason":"tool_use","stop_sequence":null`,
    ),
  ],
  [
    "integers above 2^53",
    "generate",
    generateReply(
      `"content":{"role":"model","parts":[{"functionCall":{"name":"f","args":{"id": 1234567890123456789, "p":1.10}},"thoughtSignature":"c2ln"}]},"finishReason":"STOP","index":0`,
    ),
  ],
]

/** The names that a client sees otherwise than the vendor wrote them. */
const named = (text: string): string =>
  text
    .replace(/"(id|responseId)":"(x|chatcmpl-\w+|resp_\w+|msg_\w+|[\w-]{10,})"/, '"$1":""')
    .replace(/"(model|modelVersion)":"\w+"/, '"$1":""')

describe("a reply of a vendor with the same API keeps", () => {
  it.each(replies)("%s (%s)", async (_what, path, reply) => {
    gateway().vendor.script(whole(reply))
    const { status, text } = await post(path, hello[path])
    expect(status).toBe(200)
    expect(named(text)).toBe(named(reply))
  })

  it("citations of a stream (messages)", async () => {
    const frames = [
      `{"type":"message_start","message":{"id":"x","type":"message","role":"assistant","model":"upstream","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":9,"output_tokens":1}}}`,
      `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"","citations":[]}}`,
      `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"A"}}`,
      `{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{"type":"char_location","cited_text":"a","document_index":0,"document_title":null,"start_char_index":0,"end_char_index":1}}}`,
      `{"type":"content_block_stop","index":0}`,
      `{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t1","name":"f","input":{}}}`,
      `{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":""}}`,
      `{"type":"content_block_stop","index":1}`,
    ]
    const ends = [
      `{"type":"message_delta","delta":{"stop_reason":"pause_turn","stop_sequence":null},"usage":{"output_tokens":2}}`,
      `{"type":"message_stop"}`,
    ]
    const frame = (json: string) => `event: ${/"type":"(\w+)"/.exec(json)?.[1]}\ndata: ${json}\n\n`
    gateway().vendor.script(stream([...frames, ...ends].map(frame)))
    const { text } = await post("messages", hello.messages.replace("{", '{"stream":true,'))
    for (const each of frames.slice(1)) expect(text).toContain(frame(each))
    expect(text).toContain(`"stop_reason":"pause_turn","stop_sequence":null`)
  })

  it("grounding of a stream (generateContent)", async () => {
    gateway().vendor.script(stream([`data: ${generateReply(cited.generate)}\n\n`]))
    const { text } = await post("generateStream", hello.generateStream)
    expect(text).toContain(cited.generate)
  })
})

describe("a request that its vendor refuses", () => {
  const refusing =
    (body: object): VendorScript =>
    (call) => {
      call.head(400, { "content-type": "application/json" })
      call.end(JSON.stringify(body))
    }
  const refusals: ReadonlyArray<readonly [path: Path, field: string, body: object]> = [
    [
      "chat",
      "tools[0].function.parameters",
      {
        error: {
          message: "Invalid schema: secret words",
          type: "invalid_request_error",
          param: "tools[0].function.parameters",
          code: null,
        },
      },
    ],
    [
      "messages",
      "messages.0.content",
      { type: "error", error: { type: "invalid_request_error", message: "messages.0.content: secret words" } },
    ],
    [
      "generate",
      "contents[0].parts",
      {
        error: {
          code: 400,
          status: "INVALID_ARGUMENT",
          message: "secret words",
          details: [
            {
              "@type": "type.googleapis.com/google.rpc.BadRequest",
              fieldViolations: [{ field: "contents[0].parts", description: "secret words" }],
            },
          ],
        },
      },
    ],
  ]
  for (const [path, field, body] of refusals) {
    it(`is refused with the field's name and without the vendor's words (${path})`, async () => {
      gateway().vendor.script(refusing(body))
      const { text } = await post(path, hello[path])
      expect(text).toContain(field)
      expect(text).not.toContain("secret")
    })
  }

  const typo = `"tempreature": 0.1`
  const openai = (text: string) => ({
    error: { message: text, type: "invalid_request_error", param: null, code: null },
  })
  const google = (text: string, field?: string) => ({
    error: {
      code: 400,
      status: "INVALID_ARGUMENT",
      message: text,
      details: [
        { "@type": "type.googleapis.com/google.rpc.BadRequest", fieldViolations: [{ field, description: text }] },
      ],
    },
  })
  const unknown = (name: string, place = "") =>
    `Invalid JSON payload received. Unknown name "${name}"${place}: Cannot find field.`
  const located = {
    detail: [{ type: "extra_forbidden", loc: ["body", "tempreature"], msg: "Extra inputs are not permitted" }],
  }
  const typos: ReadonlyArray<readonly [path: Path, more: string, field: string | undefined, body: object]> = [
    ["chat", typo, "tempreature", openai("Unrecognized request argument supplied: tempreature")],
    ["chat", typo, "tempreature", openai("Unrecognized request arguments supplied: secret, tempreature")],
    ["chat", typo, "tempreature", openai("property 'tempreature' is unsupported")],
    ["chat", typo, "tempreature", openai("unknown field `tempreature`, expected one of `messages`, `secret`")],
    ["chat", typo, "tempreature", openai("tempreature is not supported with this secret model")],
    ["chat", typo, "tempreature", { object: "error", message: located, type: "invalid_request_error" }],
    ["chat", typo, "tempreature", located],
    ["chat", typo, undefined, openai("Unrecognized request argument supplied: secret")],
    ["responses", typo, "tempreature", openai("Unknown parameter: 'tempreature'.")],
    [
      "messages",
      typo,
      "tempreature",
      {
        type: "error",
        error: { type: "invalid_request_error", message: "tempreature: Extra inputs are not permitted" },
      },
    ],
    ["generate", typo, "tempreature", google(unknown("tempreature"))],
    [
      "generate",
      `"generationConfig": {${typo}}`,
      "generationConfig.tempreature",
      google(unknown("tempreature", " at 'generation_config'"), "generation_config"),
    ],
    [
      "generate",
      `"generationConfig": {${typo}}`,
      "generationConfig",
      google(unknown("secret", " at 'generation_config'"), "generation_config"),
    ],
  ]
  it.each(typos)("is told the client's own name of a field (%s, %s: %s)", async (path, more, field, body) => {
    gateway().vendor.script(refusing(body))
    const calls = gateway().vendor.calls.length
    const { text, status } = await post(path, hello[path].replace("{", `{${more},`))
    expect(status).toBe(502)
    if (field === undefined) expect(text).not.toContain("The upstream rejected the request:")
    else expect(text).toContain(`The upstream rejected the request: ${field}"`)
    expect(text).not.toContain("secret")
    expect(gateway().vendor.calls.length).toBe(calls + 1)
  })

  const tool = (name: string) => `{"name":"${name}","input_schema":{"type":"object"}}`
  const search = `{"type":"web_search_20250305","name":"web_search"}`
  it("names a tool by the place that the client gave it", async () => {
    const refused = { type: "error", error: { type: "invalid_request_error", message: "tools.1.custom.name: secret" } }
    gateway().vendor.script(refusing(refused))
    const tools = `"tools":[${tool("a")},${search},{"type":"code_execution_20250825","name":"code_execution"},${tool("b")}]`
    const { text } = await post("messages", hello.messages.replace(/"tools":.*\]/, tools))
    expect(text).toContain(`The upstream rejected the request: tools.3.custom.name"`)
  })

  it("names an item by the place that the client gave it", async () => {
    gateway().vendor.script(refusing({ error: { ...openai("no").error, param: "tools[0].parameters" } }))
    const tools = `"tools":[{"type":"code_interpreter","container":{"type":"auto"}},{"type":"function","name":"f","parameters":{"type":"object"}}]`
    const { text } = await post("responses", hello.responses.replace(/"tools":.*\]/, tools))
    expect(text).toContain(`The upstream rejected the request: tools[1].parameters"`)
  })

  it("is not sent again by SDKs", async () => {
    gateway().vendor.script(refusing({ error: { message: "no", type: "invalid_request_error", param: "tools" } }))
    const { baseUrl, keyId, key, vendor } = gateway()
    const calls = vendor.calls.length
    const openai = new OpenAI({ baseURL: `${baseUrl}/openai/v1`, apiKey: `${keyId}~${key}` })
    const asked = openai.chat.completions.create({ model: "chat", messages: [{ role: "user", content: "Hi" }] })
    await expect(asked).rejects.toMatchObject({ status: 502, param: "tools" })
    expect(vendor.calls.length).toBe(calls + 1)
  })

  it("is told its own fields alone also where the refusal is a stream's first event", async () => {
    const refused = stream([`data: {"error":{"message":"no","type":"invalid_request_error","param":"tools"}}\n\n`])
    gateway().vendor.script(refused)
    expect((await post("chat", hello.chat.replace("{", `{"stream":true,`))).text).toContain('"param":"tools"')
    gateway().vendor.script(refused)
    const other = await post("messages", hello.messages.replace('"cl"', '"chat"').replace("{", `{"stream":true,`))
    expect(other.text).toContain("The upstream rejected the request")
    expect(other.text).not.toContain("tools")
  })

  it("is not told a field of another API", async () => {
    gateway().vendor.script(refusing({ error: { message: "no", type: "invalid_request_error", param: "tools" } }))
    const { text } = await post("messages", hello.messages.replace('"cl"', '"chat"'))
    expect(text).toContain("The upstream rejected the request")
    expect(text).not.toContain("tools")
  })
})
