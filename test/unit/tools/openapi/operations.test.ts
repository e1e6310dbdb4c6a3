/** Tools of OpenAPI documents. */
import { OpenApi } from "effect/http-api"
import { describe, expect, it } from "vitest"
import { Api } from "../../../../src/protocol/api.ts"
import type { ToolOperation } from "../../../../src/tools/openapi/operation.ts"
import { toolsOf } from "../../../../src/tools/openapi/operations.ts"
import { game, shop } from "../../../support/tools/openapi-documents.ts"

const byPath = (operations: ReadonlyArray<ToolOperation>, method: string, path: string): ToolOperation => {
  const found = operations.find((each) => each.method === method && each.path === path)
  if (found === undefined) throw new Error(`there is no ${method} ${path}`)
  return found
}

/** A document with one operation. */
const documentOf = (operation: object, more: object = {}, path = "/a", method = "post") => ({
  openapi: "3.1.0",
  paths: { [path]: { [method]: operation } },
  ...more,
})

/** The tool's input of a document with one operation. */
const inputOf = (document: object) => toolsOf(document).operations[0]?.tool.inputSchema

const jsonBody = (schema: object, required = true) => ({
  requestBody: { required, content: { "application/json": { schema } } },
})

describe("a document of 3.0", () => {
  const { operations, problems } = toolsOf(shop)

  it("has a tool for each operation that can be called", () => {
    expect(operations.map(({ tool, method, path }) => [tool.name, method, path])).toEqual([
      ["items_list", "GET", "/items"],
      ["items_create", "POST", "/items"],
      ["get_items_by_id", "GET", "/items/{id}"],
      ["items_replace", "PUT", "/items/{id}"],
      ["items_delete", "DELETE", "/items/{id}"],
      ["items_picture", "POST", "/items/{id}/picture"],
      ["import", "POST", "/imports"],
      ["search", "POST", "/searches/{version}"],
    ])
    expect(problems).toEqual([
      { place: "POST /archives", message: "its body has no form that is supported: application/x-own" },
    ])
  })

  it("has its server's variables filled in", () => {
    expect(new Set(operations.map(({ baseUrl }) => baseUrl))).toEqual(new Set(["https://shop.example/v2"]))
  })

  it("gives parameters of the query, of headers and of the path's own list", () => {
    const { tool } = byPath(operations, "GET", "/items")
    expect(tool).toEqual({
      name: "items_list",
      description: "List items\n\nNewest first.",
      inputSchema: {
        type: "object",
        properties: {
          "X-Trace": { type: "string" },
          tags: { type: "array", items: { type: "string" } },
          ids: { type: "array", items: { type: "integer" } },
          filter: { type: "object" },
          page_size: { type: "integer", exclusiveMaximum: 100 },
          where: { type: "object" },
        },
        additionalProperties: false,
      },
      annotations: {
        title: "List items",
        readOnlyHint: true,
        destructiveHint: false,
        idempotentHint: true,
        openWorldHint: true,
      },
    })
  })

  it("gives the properties of a body, those of `allOf` too, without those that are read-only", () => {
    expect(byPath(operations, "POST", "/items").tool.inputSchema).toEqual({
      type: "object",
      properties: {
        "X-Trace": { type: "string" },
        name: { type: "string", description: "The name" },
        colour: { type: ["string", "null"], enum: ["red", "blue", null] },
        parent: {
          type: "object",
          properties: { title: { type: "string" }, children: { type: "array", items: { $ref: "#/$defs/Category" } } },
        },
        tags: { type: "array", items: { type: "string" } },
      },
      required: ["name"],
      additionalProperties: false,
      $defs: {
        Category: {
          type: "object",
          properties: { title: { type: "string" }, children: { type: "array", items: { $ref: "#/$defs/Category" } } },
        },
      },
    })
  })

  it("gives parameters of one name in two places two arguments", () => {
    const { tool, parameters } = byPath(operations, "GET", "/items/{id}")
    expect(tool.inputSchema).toMatchObject({ properties: { id: {}, id_query: {} }, required: ["id"] })
    expect(parameters.map(({ argument, place }) => [argument, place])).toEqual([
      ["id", "path"],
      ["id_query", "query"],
    ])
  })

  it("gives a body whose property is described twice as one argument", () => {
    const { tool, body } = byPath(operations, "PUT", "/items/{id}")
    expect(body).toMatchObject({ argument: "body", properties: [] })
    expect(tool.inputSchema).toMatchObject({ required: ["id", "body"], properties: { body: { allOf: [{}] } } })
    expect(JSON.stringify(tool.inputSchema)).not.toContain("#/components")
  })

  it("takes files as base64", () => {
    const file = { type: "string", contentEncoding: "base64" }
    expect(byPath(operations, "POST", "/imports").tool.inputSchema).toMatchObject({
      properties: { file: { ...file, description: "The list" }, pictures: { type: "array", items: file }, note: {} },
      required: ["file"],
    })
    expect(byPath(operations, "POST", "/items/{id}/picture").tool.inputSchema).toMatchObject({
      properties: { body: file },
    })
  })

  it("does not ask for a required parameter that has a default", () => {
    const { tool } = byPath(operations, "POST", "/searches/{version}")
    expect(tool.inputSchema).toMatchObject({ properties: { version: { default: "v1" } } })
    expect(tool.inputSchema["required"]).toBeUndefined()
  })

  it.each([
    [{ tags: ["admin"] }, ["items_replace", "items_delete"]],
    [{ operations: ["search"] }, ["search"]],
    [{ tags: ["admin"], operations: ["search"] }, ["items_replace", "items_delete", "search"]],
    [{ tags: [], operations: [] }, []],
    [{ maxTools: 1 }, ["items_list"]],
  ])("has the tools that are allowed: %j", (options, names) => {
    expect(toolsOf(shop, options).operations.map(({ tool }) => tool.name)).toEqual(names)
  })

  it("reports tags and ids that it does not have", () => {
    expect(toolsOf(shop, { tags: ["none"], operations: ["nothing"] }).problems).toEqual([
      { place: "document", message: "it has no operation nothing" },
      { place: "document", message: "it has no operation with the tag none" },
    ])
  })
})

describe("a document of 3.1", () => {
  it("has types that are lists, and bodies that are no objects", () => {
    const { operations } = toolsOf(game)
    const [square, note] = operations.map(({ tool }) => tool.inputSchema)
    expect(square).toEqual({
      type: "object",
      properties: {
        row: { type: "integer", minimum: 1, maximum: 3 },
        column: { type: "integer", minimum: 1, maximum: 3 },
        body: { type: ["string", "null"], enum: [null, "X", "O"] },
      },
      required: ["row", "column", "body"],
      additionalProperties: false,
    })
    expect(note).toMatchObject({ properties: { body: { type: "string" } }, required: ["body"] })
  })

  it.each([
    [{}, undefined],
    [{ documentUrl: "https://game.example/openapi.json" }, "https://game.example/api"],
    [{ baseUrl: "http://127.0.0.1:1/x" }, "http://127.0.0.1:1/x"],
  ])("has a relative server, which is resolved: %j", (options, baseUrl) => {
    expect(toolsOf(game, options).operations[0]?.baseUrl).toBe(baseUrl)
  })

  it.each(["file:///etc", "https://user:secret@a.example", "https://a.example/?x=1", "{host}/a", "nonsense"])(
    "has no server of another kind: %s",
    (url) => {
      expect(toolsOf(documentOf({}, { servers: [{ url }] })).operations[0]?.baseUrl).toBeUndefined()
    },
  )

  it("of this gateway has a tool for each route that takes and returns JSON", () => {
    const { operations, problems } = toolsOf(JSON.parse(JSON.stringify(OpenApi.fromApi(Api))), {
      baseUrl: "http://127.0.0.1:8080",
    })
    expect(operations.length).toBeGreaterThan(100)
    expect(problems.filter(({ message }) => !message.startsWith("its body has no form"))).toEqual([])
    const names = operations.map(({ tool }) => tool.name)
    expect(new Set(names).size).toBe(names.length)
    expect(names.filter((name) => !/^[\w-]{1,64}$/.test(name))).toEqual([])
    for (const { tool } of operations) {
      const text = JSON.stringify(tool.inputSchema)
      const defined = Object.keys(Object(tool.inputSchema["$defs"]))
      const referred = [...text.matchAll(/"\$ref":"([^"]*)"/g)].map(([, reference]) => reference)
      expect(referred.filter((reference) => !defined.some((name) => reference === `#/$defs/${name}`))).toEqual([])
      expect(text.length).toBeLessThan(80_000)
    }
  })
})

describe("names", () => {
  const long = "a".repeat(80)
  const named = (...ids: ReadonlyArray<string | undefined>) =>
    toolsOf({
      openapi: "3.0.0",
      paths: Object.fromEntries(ids.map((operationId, at) => [`/p${at}`, { get: { operationId } }])),
    }).operations.map(({ tool }) => tool.name)

  it("are unique, have no other characters, and at most 64", () => {
    const names = named(long, `${long}b`, "a b", "a_b", "a.b", "a/b", undefined, "Straße", "…")
    expect(new Set(names).size).toBe(names.length)
    for (const name of names) expect(name).toMatch(/^[\w-]{1,64}$/)
    expect(names[2]).toBe("a_b")
    expect(names[6]).toBe("get_p6")
  })

  it("do not change when operations are added after them", () => {
    expect(named("a", "a", long, "other").slice(0, 3)).toEqual(named("a", "a", long))
  })

  it("are shorter if the server's own has to fit before them", () => {
    const { operations } = toolsOf(documentOf({ operationId: long }), { maxNameLength: 30 })
    expect(operations[0]?.tool.name).toHaveLength(30)
  })
})

describe("hostile documents", () => {
  it.each([
    [undefined, "it is no object"],
    [[], "it is no object"],
    [{}, "it is not of OpenAPI 3.0, 3.1 or 3.2"],
    [{ swagger: "2.0" }, "it is not of OpenAPI 3.0, 3.1 or 3.2"],
  ])("that are none have no tools: %j", (document, message) => {
    expect(toolsOf(document)).toEqual({ operations: [], problems: [{ place: "document", message }] })
  })

  it.each([
    ["/a/../b", {}, "its path has a segment `.` or `..`, a query or a fragment"],
    ["/a/%2e%2E/b", {}, "its path has a segment `.` or `..`, a query or a fragment"],
    ["/a?b=c", {}, "its path has a segment `.` or `..`, a query or a fragment"],
    ["/a/{b}", {}, "its path has a parameter that is not described: b"],
    ["/a", { parameters: [{ $ref: "#/components/parameters/None" }] }, "a parameter's reference leads nowhere"],
    [
      "/a",
      { parameters: [{ name: "c", in: "cookie", required: true }] },
      "the parameter c is in a place that is not supported: cookie",
    ],
  ])("have operations that are left out: %s %j", (path, operation, message) => {
    expect(toolsOf(documentOf(operation, {}, path)).problems).toEqual([{ place: `POST ${path}`, message }])
  })

  it("set no header that is the gateway's own", () => {
    const parameters = ["Authorization", "Host", "Content-Length", "Cookie", "X-Forwarded-For", "a\r\nb", "X-Own"].map(
      (name) => ({ name, in: "header", schema: {} }),
    )
    expect(inputOf(documentOf({ parameters }))).toMatchObject({ properties: { "X-Own": {} } })
    expect(toolsOf(documentOf({ parameters })).operations[0]?.parameters).toHaveLength(1)
  })

  it("set no header by the type of a body", () => {
    const content = { "application/json;\r\nx: y": {} }
    expect(toolsOf(documentOf({ requestBody: { content } })).operations).toEqual([])
  })

  it("with references in a circle, and outwards, end", () => {
    const schemas = {
      A: { $ref: "#/components/schemas/B" },
      B: { $ref: "#/components/schemas/A" },
      Outer: { $ref: "https://elsewhere.example/schema.json" },
      Proto: { $ref: "#/__proto__/constructor" },
    }
    for (const name of Object.keys(schemas)) {
      const body = jsonBody({ type: "object", properties: { a: { $ref: `#/components/schemas/${name}` } } })
      const text = JSON.stringify(inputOf(documentOf(body, { components: { schemas } })))
      expect(text).not.toContain("#/components")
      expect(text).not.toContain("elsewhere")
    }
  })

  it("with schemas that grow exponentially are kept in `$defs`", () => {
    const schemas = Object.fromEntries(
      Array.from({ length: 40 }, (_, at) => [
        `S${at}`,
        {
          type: "object",
          properties: {
            a: { $ref: `#/components/schemas/S${at + 1}` },
            b: { $ref: `#/components/schemas/S${at + 1}` },
          },
        },
      ]),
    )
    const body = jsonBody({ type: "object", properties: { a: { $ref: "#/components/schemas/S0" } } })
    const input = inputOf(documentOf(body, { components: { schemas: { ...schemas, S40: {} } } }))
    expect(Object.keys(Object(input?.["$defs"]))).toHaveLength(41)
  })

  it("with a schema that is too large, or too deep, have no tool for it, or a bounded one", () => {
    const properties = Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`p${at}`, { type: "string" }]))
    expect(toolsOf(documentOf(jsonBody({ type: "object", properties }))).problems).toEqual([
      { place: "POST /a", message: "its schema is too large" },
    ])
    let deep: object = { type: "string" }
    for (let level = 0; level < 2000; level++) deep = { type: "array", items: deep }
    expect(JSON.stringify(inputOf(documentOf(jsonBody(deep)))).length).toBeLessThan(10_000)
  })

  it("with too many operations have as many tools as are allowed", () => {
    const paths = Object.fromEntries(Array.from({ length: 1500 }, (_, at) => [`/p${at}`, { get: {} }]))
    const { operations, problems } = toolsOf({ openapi: "3.0.0", paths })
    expect([operations.length, problems.length]).toEqual([1000, 500])
  })

  it("with names of every object's members have only their own", () => {
    const document = JSON.parse(
      '{"openapi":"3.1.0","paths":{"/a":{"post":{"parameters":[{"in":"query","name":"__proto__","schema":{"type":"string"}}],"requestBody":{"required":true,"content":{"application/json":{"schema":{"type":"object","properties":{"constructor":{"type":"string"}}}}}}}}}}',
    )
    const [operation] = toolsOf(document).operations
    expect(Object.keys(Object(operation?.tool.inputSchema["properties"]))).toEqual(["__proto__", "constructor"])
  })
})

describe("bodies", () => {
  it.each([
    ["with further properties", { type: "object", properties: { a: {} }, additionalProperties: { type: "string" } }],
    ["with alternatives", { type: "object", properties: { a: {} }, anyOf: [{ required: ["a"] }] }],
    ["that may be null", { type: "object", properties: { a: {} }, nullable: true }],
    ["with properties whose names models' APIs do not allow", { type: "object", properties: { "a b": {} } }],
    ["that are lists", { type: "array", items: {} }],
    ["of any form", {}],
  ])("%s are one argument", (_name, schema) => {
    expect(inputOf(documentOf(jsonBody(schema)))).toMatchObject({ properties: { body: {} }, required: ["body"] })
  })

  it("whose property has a parameter's name are one argument, with a name of its own", () => {
    const parameters = [{ name: "body", in: "query", schema: {} }]
    const body = jsonBody({ type: "object", properties: { body: {} } })
    const input = inputOf(documentOf({ parameters, ...body }))
    expect(Object.keys(Object(input?.["properties"]))).toEqual(["body", "body_content"])
  })

  it("that are optional ask for none of their properties", () => {
    const body = jsonBody({ type: "object", properties: { a: {} }, required: ["a"] }, false)
    expect(inputOf(documentOf(body))).toEqual({ type: "object", properties: { a: {} }, additionalProperties: false })
  })

  it("of JSON are chosen before forms and texts", () => {
    const content = { "text/plain": {}, "application/x-www-form-urlencoded": {}, "application/vnd.own+json": {} }
    const [operation] = toolsOf(documentOf({ requestBody: { content } })).operations
    expect(operation?.body).toMatchObject({ form: "json", contentType: "application/vnd.own+json" })
  })
})
