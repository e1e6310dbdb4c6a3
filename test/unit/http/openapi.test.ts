/**
 * The OpenAPI document: an example for every body of every route, true to its schema, and for every error that it
 * names.
 */
import { createConfig, lintFromString } from "@redocly/openapi-core"
import { Result, Schema } from "effect"
import { HttpApi, OpenApi } from "effect/http-api"
import { describe, expect, it } from "vitest"
import { Api } from "../../../src/protocol/api.ts"
import { ApplyEvent } from "../../../src/protocol/control/admin.ts"
import { ErrorEnvelope, errorStatus } from "../../../src/protocol/error.ts"
import { ExchangeEvent } from "../../../src/protocol/event.ts"
import { issuesOf } from "../../../src/protocol/json/issues.ts"

const text = JSON.stringify(OpenApi.fromApi(Api))
const spec = JSON.parse(text)
const decodeEnvelope = Schema.decodeUnknownSync(ErrorEnvelope, { onExcessProperty: "error" })

interface Route {
  readonly name: string
  readonly operation: {
    readonly parameters?: ReadonlyArray<{ readonly name: string; readonly in: "path" | "query" | "header" }>
    readonly requestBody?: { readonly content: Record<string, { readonly example?: unknown }> }
    readonly responses: Record<
      string,
      {
        readonly description: string
        readonly content?: Record<
          string,
          { readonly example?: unknown; readonly examples?: Record<string, { value: unknown }> }
        >
      }
    >
  }
  readonly parameters: Readonly<Record<"path" | "query" | "header", Schema.Top | undefined>>
  readonly payloads: ReadonlyArray<Schema.Top>
  readonly successes: ReadonlyMap<number, ReadonlyArray<Schema.Top>>
}
const routes: Array<Route> = []
HttpApi.reflect(Api, {
  onGroup() {},
  onEndpoint({ endpoint, successes }) {
    const path = endpoint.path.replaceAll(/\/:(\w+)/g, "/{$1}")
    routes.push({
      name: `${endpoint.method} ${path}`,
      operation: spec.paths[path][endpoint.method.toLowerCase()],
      parameters: { path: endpoint.params, query: endpoint.query, header: endpoint.headers },
      payloads: [...endpoint.payload.values()].flatMap(({ schemas }) => schemas),
      successes,
    })
  },
})

/** Whether one of the schemas takes it, and nothing more than it has. */
const fits = (schemas: ReadonlyArray<Schema.Top>, example: unknown): boolean =>
  schemas.some((schema) => takes(schema) && Result.isSuccess(decodeStrictly(schema)(example)))

/** No schema of ours needs a service to decode; a stream's is no body's. */
const takes = (schema: Schema.Top): schema is Schema.Codec<unknown, unknown> => !("_tag" in schema)
const decodeStrictly = (schema: Schema.Codec<unknown, unknown>) =>
  Schema.decodeUnknownResult(Schema.toCodecJson(schema), { onExcessProperty: "error" })

/** The members of an input that a schema refuses. */
const refusedBy = (schema: Schema.Top | undefined, input: unknown): ReadonlyArray<string> => {
  if (schema === undefined || !takes(schema)) return []
  const result = Schema.decodeUnknownResult(schema, { errors: "all" })(input)
  return Result.isFailure(result) ? issuesOf(result.failure).map(({ path }) => path) : []
}

describe.each(routes)("$name", ({ operation, parameters, payloads, successes }) => {
  it("refuses in each parameter what no store can hold", () => {
    const named = operation.parameters ?? []
    // A query of any members has none that are named.
    const unnamed = parameters.query !== undefined && named.every((parameter) => parameter.in !== "query")
    for (const { name, in: place } of [...named, ...(unnamed ? [{ name: "any", in: "query" as const }] : [])]) {
      for (const text of ["a\u0000b", "a\ud800"]) {
        expect(refusedBy(parameters[place], { [name]: text }), `${place} ${name}`).toContain(name)
      }
    }
  })

  it("has an example for what is sent, and for what is answered, as their schemas have them", () => {
    const { requestBody, responses } = operation
    const sent = requestBody?.content["application/json"]
    if (sent !== undefined) expect(fits(payloads, sent.example), JSON.stringify(sent.example)).toBe(true)
    for (const [status, { content = {} }] of Object.entries(responses)) {
      if (Number(status) >= 400) continue
      const answered = content["application/json"]
      if (answered === undefined) continue
      expect(fits(successes.get(Number(status)) ?? [], answered.example), JSON.stringify(answered.example)).toBe(true)
    }
  })

  it("has an example for each error that it names, under its status", () => {
    for (const [status, { description, content = {} }] of Object.entries(operation.responses)) {
      if (status === "default" || Number(status) < 400) continue
      const shown = content["application/json"]?.examples ?? {}
      expect(Object.keys(shown).sort()).toEqual(description.split(", ").sort())
      for (const { value } of Object.values(shown)) {
        expect(errorStatus[decodeEnvelope(value).error.code]).toBe(Number(status))
      }
    }
  })
})

describe("the document", () => {
  it("has no problem by redocly's recommended rules", async () => {
    const config = await createConfig({ extends: ["recommended"] })
    const problems = await lintFromString({ source: text, absoluteRef: "openapi.json", config })
    expect(problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer])).toEqual([])
    const unnamed = text.replace('"description":"This gateway"', '"variables":1')
    expect(await lintFromString({ source: unnamed, absoluteRef: "openapi.json", config })).not.toEqual([])
  })

  it("has one envelope, and every reference leads somewhere", () => {
    const names = Object.keys(spec.components.schemas)
    expect(names.filter((name) => name.startsWith("ErrorEnvelope"))).toEqual(["ErrorEnvelope"])
    for (const [, name = ""] of text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)) expect(names).toContain(name)
  })

  it("refuses a wrong example", () => {
    const exchange = routes.find(({ name }) => name === "POST /t1/exchange")
    expect(fits(exchange?.payloads ?? [], { model: "main" })).toBe(false)
    expect(
      fits(exchange?.payloads ?? [], {
        model: "main",
        thread: [{ role: "user", blocks: [{ t: "text", v: "Hi" }] }],
        more: 1,
      }),
    ).toBe(false)
    expect(fits(exchange?.successes.get(200) ?? [], { requestId: "r" })).toBe(false)
  })

  it.each([
    ["/t1/exchange", ExchangeEvent, ["t.open", "t.delta", "t.delta", "t.usage", "t.close"]],
    ["/v1/admin/catalogue/events", ApplyEvent, ["progress", "progress", "result"]],
  ] as const)("%s: its stream has the schema of one event, and examples that fit it", (path, schema, names) => {
    const { schema: shown, examples } = spec.paths[path].post.responses["200"].content["text/event-stream"]
    expect(shown).toEqual({ $ref: `#/components/schemas/${schema.ast.annotations?.["identifier"]}` })
    const events = Object.values<{ readonly value: unknown }>(examples).map(({ value }) => value)
    const shape: Schema.Codec<{ readonly event: string }, unknown> = schema
    const decode = Schema.decodeUnknownSync(shape, { onExcessProperty: "error" })
    expect(events.map((event) => decode(event).event)).toEqual(names)
  })
})
