/** Requests of calls to operations. */

import { describe, expect, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import type { ToolOperation } from "../../../../src/tools/openapi/operation.ts"
import { toolsOf } from "../../../../src/tools/openapi/operations.ts"
import { requestOf } from "../../../../src/tools/openapi/request.ts"
import { game, shop } from "../../../support/tools/openapi-documents.ts"

const operations = [...toolsOf(shop).operations, ...toolsOf(game).operations]

const named = (name: string): ToolOperation => {
  const found = operations.find(({ tool }) => tool.name === name)
  if (found === undefined) throw new Error(`there is no operation ${name}`)
  return found
}

const made = (name: string, args: object) => Result.getOrThrow(requestOf(named(name), args))
const problems = (name: string, args: unknown) => {
  const result = requestOf(named(name), args)
  return Result.isFailure(result) ? result.failure.map(({ argument, message }) => `${argument}: ${message}`) : []
}

/** An operation with one parameter. */
const withParameter = (parameter: object): ToolOperation => {
  const path = Object(parameter).in === "path" ? "/a/{p}/b" : "/a"
  const document = {
    openapi: "3.1.0",
    paths: { [path]: { get: { parameters: [{ name: "p", required: true, ...parameter }] } } },
  }
  const [operation] = toolsOf(document).operations
  if (operation === undefined) throw new Error("there is no operation")
  return operation
}

const pathWith = (parameter: object, value: unknown): string =>
  Result.getOrThrow(requestOf(withParameter(parameter), { p: value })).path

const list = ["blue", "black", "a,b c"]
const object = { R: 100, G: null, B: "x&y" }

describe("styles", () => {
  // Source: the OpenAPI Specification 3.1.1, "Style Examples"
  it.each([
    [{ in: "query" }, "a/b?c=d&e", "/a?p=a%2Fb%3Fc%3Dd%26e"],
    [{ in: "query" }, true, "/a?p=true"],
    [{ in: "query" }, list, "/a?p=blue&p=black&p=a%2Cb%20c"],
    [{ in: "query", explode: false }, list, "/a?p=blue,black,a%2Cb%20c"],
    [{ in: "query" }, [], "/a"],
    [{ in: "query" }, object, "/a?R=100&B=x%26y"],
    [{ in: "query", explode: false }, object, "/a?p=R,100,B,x%26y"],
    [{ in: "query", style: "spaceDelimited" }, list, "/a?p=blue%20black%20a%2Cb%20c"],
    [{ in: "query", style: "pipeDelimited" }, list, "/a?p=blue%7Cblack%7Ca%2Cb%20c"],
    [{ in: "query", style: "pipeDelimited", explode: true }, list, "/a?p=blue&p=black&p=a%2Cb%20c"],
    [{ in: "query", style: "deepObject" }, object, "/a?p%5BR%5D=100&p%5BB%5D=x%26y"],
    [{ in: "query", style: "deepObject" }, { a: { b: [1, 2] } }, "/a?p%5Ba%5D%5Bb%5D%5B%5D=1&p%5Ba%5D%5Bb%5D%5B%5D=2"],
    [{ in: "query", allowReserved: true }, "a/b:c&d=e#f+g", "/a?p=a/b:c%26d%3De%23f%2Bg"],
    [{ in: "query", content: { "application/json": {} } }, { a: [1] }, "/a?p=%7B%22a%22%3A%5B1%5D%7D"],
    [{ in: "path" }, "x y", "/a/x%20y/b"],
    [{ in: "path" }, "x/y", "/a/x%2Fy/b"],
    [{ in: "path" }, "a?b#c;d", "/a/a%3Fb%23c%3Bd/b"],
    [{ in: "path" }, list, "/a/blue,black,a%2Cb%20c/b"],
    [{ in: "path" }, object, "/a/R,100,B,x%26y/b"],
    [{ in: "path", explode: true }, object, "/a/R=100,B=x%26y/b"],
    [{ in: "path", style: "label" }, list, "/a/.blue,black,a%2Cb%20c/b"],
    [{ in: "path", style: "label", explode: true }, list, "/a/.blue.black.a%2Cb%20c/b"],
    [{ in: "path", style: "matrix" }, "x", "/a/;p=x/b"],
    [{ in: "path", style: "matrix" }, list, "/a/;p=blue,black,a%2Cb%20c/b"],
    [{ in: "path", style: "matrix", explode: true }, list, "/a/;p=blue;p=black;p=a%2Cb%20c/b"],
    [{ in: "path" }, "$& $1 {p}", "/a/%24%26%20%241%20%7Bp%7D/b"],
  ])("%j %j", (parameter, value, path) => {
    expect(pathWith(parameter, value)).toBe(path)
  })

  it.each([
    [{ in: "header" }, "plain", "plain"],
    [{ in: "header" }, ["a", 1], "a,1"],
    [{ in: "header" }, { a: 1 }, "a,1"],
    [{ in: "header", explode: true }, { a: 1, b: 2 }, "a=1,b=2"],
  ])("of headers: %j %j", (parameter, value, text) => {
    expect(Result.getOrThrow(requestOf(withParameter(parameter), { p: value })).headers["p"]).toBe(text)
  })
})

describe("a path", () => {
  it.each([
    "..",
    ".",
    "../x",
    "x/..",
    "a\\..\\b",
    "%2e%2e",
    "%2E%2e%2fx",
    "%252e%252e",
    "x/./y",
    ["a", ".."],
    { "..": 1 },
    "",
    [],
    { a: null },
    { a: null, b: null },
  ])("is not left: %j", (value) => {
    for (const style of ["simple", "label"])
      expect(Result.isFailure(requestOf(withParameter({ in: "path", style }), { p: value }))).toBe(true)
  })

  it("is not left by several values together", () => {
    const path = "/a/{x}{y}/b"
    const parameters = ["x", "y"].map((name) => ({ name, in: "path", required: true, schema: {} }))
    const [operation] = toolsOf({ openapi: "3.0.0", paths: { [path]: { get: { parameters } } } }).operations
    if (operation === undefined) throw new Error("there is no operation")
    expect(Result.isFailure(requestOf(operation, { x: ".", y: "." }))).toBe(true)
    expect(Result.getOrThrow(requestOf(operation, { x: "a", y: ".b" })).path).toBe("/a/a.b/b")
  })

  it.prop("has the same segments for every value", [Schema.String], ([value]) => {
    const result = requestOf(withParameter({ in: "path" }), { p: value })
    if (Result.isFailure(result)) return
    const { pathname, search, hash } = new URL(`http://a.example${result.success.path}`)
    expect([pathname.split("/").length, search, hash]).toEqual([4, "", ""])
    expect(decodeURIComponent(pathname.split("/")[2] ?? "")).toBe(value.toWellFormed())
  })

  it.prop("has the query's values unchanged", [Schema.String, Schema.Array(Schema.String)], ([text, texts]) => {
    const { path } = made("items_list", { tags: [text, ...texts], page_size: 1 })
    const { searchParams } = new URL(`http://a.example${path}`)
    expect(searchParams.getAll("tags")).toEqual([text, ...texts].map((each) => each.toWellFormed()))
    expect(searchParams.get("page[size]")).toBe("1")
  })
})

describe("a request", () => {
  it("has all parameters of a call", () => {
    const args = { "X-Trace": "t", tags: ["a", "b"], ids: [1, 2], filter: { a: 1 }, page_size: 5, where: { b: 2 } }
    expect(made("items_list", args)).toEqual({
      method: "GET",
      path: "/items?tags=a&tags=b&ids=1,2&filter%5Ba%5D=1&page%5Bsize%5D=5&where=%7B%22b%22%3A2%7D",
      headers: { accept: "application/json, text/*;q=0.9, */*;q=0.8", "x-trace": "t" },
      body: "",
    })
  })

  it.each([
    ["items_create", { name: "Boat", colour: null }, "application/json", '{"name":"Boat","colour":null}'],
    ["put-square", { row: 1, column: 2, body: "X" }, "application/json; charset=utf-8", '"X"'],
    ["put-square", { row: 1, column: 2, body: null }, "application/json; charset=utf-8", "null"],
    ["note", { body: "Hello, river" }, "text/plain", "Hello, river"],
    [
      "search",
      { criteria: "a b&c", rows: 2, sort: { by: "name" }, fields: ["x", "y"] },
      "application/x-www-form-urlencoded",
      "criteria=a%20b%26c&rows=2&sort%5Bby%5D=name&fields=x&fields=y",
    ],
  ])("has its body: %s", (name, args, contentType, body) => {
    expect(made(name, args)).toMatchObject({ body, headers: { "content-type": contentType } })
  })

  it("has files of base64, and the fields of their form", async () => {
    const picture = made("items_picture", { id: "1", body: "iVBORw==" })
    expect([picture.headers["content-type"], Buffer.from(picture.body)]).toEqual([
      "image/png",
      Buffer.from("iVBORw==", "base64"),
    ])
    const args = { file: "AAEC", pictures: ["AA==", "AQ"], options: { a: 1 }, note: "é\r\n--" }
    const { headers, body } = made("import", args)
    const fields = await new Response(Buffer.from(body), { headers }).formData()
    const bytesAt = async (name: string) =>
      Promise.all(fields.getAll(name).map(async (each) => (each instanceof File ? [...(await each.bytes())] : each)))
    expect(await bytesAt("file")).toEqual([[0, 1, 2]])
    expect(await bytesAt("pictures")).toEqual([[0], [1]])
    expect([fields.get("options"), fields.get("note")]).toEqual(['{"a":1}', "é\r\n--"])
  })

  it("has no body if it is optional, and a call has nothing of it", () => {
    const { body, headers, path } = made("search", {})
    expect([body, headers["content-type"], path]).toEqual(["", undefined, "/searches/v1"])
  })

  it.each([
    ["items_replace", {}, ["id: it is missing", "body: it is missing"]],
    [
      "items_list",
      { nothing: 1, page: 2 },
      ["nothing: the operation has no such argument", "page: the operation has no such argument"],
    ],
    ["items_list", { "X-Trace": "a\r\nb" }, ["X-Trace: it has characters that no header has"]],
    ["items_list", [], [": the arguments are no object"]],
    ["items_list", { tags: ["a".repeat(20_000)] }, [": the path and query are too long"]],
    ["items_delete", { id: "../orders" }, ["id: it has a segment `.` or `..`, which would be another path"]],
    ["items_delete", { id: null }, ["id: it is missing"]],
    ["note", { body: 1 }, ["body: it is no text"]],
    ["items_picture", { id: "1", body: "no base64!" }, ["body: it is no base64"]],
    ["import", { file: 5 }, ["file: it is no base64"]],
    ["items_list", JSON.parse('{"__proto__":1}'), ["__proto__: the operation has no such argument"]],
  ])("is not made of arguments with faults: %s %j", (name, args, expected) => {
    expect(problems(name, args)).toEqual(expected)
  })
})
