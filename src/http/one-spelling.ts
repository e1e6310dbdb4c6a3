/**
 * Paths in one spelling, and requests for one host. A proxy in front of the gateway has rules about paths as they are
 * written, so a path in another spelling is no route here. Sources: RFC 3986 section 6.2.2; RFC 9112 section 3.2.
 */
import type { IncomingMessage } from "node:http"
import { Effect, SchemaAST, type Scope } from "effect"
import { HttpApi } from "effect/http-api"
import { newRequestId } from "../calls/calls.ts"
import { Api } from "../protocol/api.ts"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import { invalidInput } from "../protocol/json/issues.ts"
import { failureAt } from "./compatible/reply.ts"
import type { NodeServer } from "./listener.ts"
import { sendResponse } from "./node-connection.ts"
import { interceptRequests } from "./request-interceptor.ts"
import { routeNotFound } from "./respond.ts"
import { originForm } from "./rewrite-urls.ts"

/** Two slashes, parameters of a segment, or a backslash. */
const otherSegments = /\/\/|[;\\]/
/** An encoded character that needs no encoding: `A-Z a-z 0-9 - . _ ~`. */
const needlesslyEncoded = /%(?:2[de]|3\d|4[1-9a-f]|5[0-9af]|6[1-9a-f]|7[0-9ae])/i
/** A model's name, which some SDKs of other APIs encode more than they need to. */
const modelInPath = /(?<=^\/(?:openai|anthropic|gemini)\/v1\w*\/models\/)[^/]+$/

const isOtherSpelling = (path: string): boolean =>
  otherSegments.test(path) || (path.includes("%") && needlesslyEncoded.test(path.replace(modelInPath, "")))

/** Answers requests that no route should see, until the scope closes. */
export const refuseOddRequests = (node: NodeServer): Effect.Effect<void, never, Scope.Scope> =>
  Effect.flatMap(Effect.context<never>(), (context) => {
    const run = Effect.runForkWith(context)
    return interceptRequests(node, (next) => (request, response) => {
      request.url = originForm(request.url ?? "")
      const problem = problemOf(request)
      if (problem === undefined) return next(request, response)
      const reply = failureAt(request.url ?? "")(newRequestId(), problem)
      run(Effect.map(reply, (refusal) => sendResponse(refusal, response)))
    })
  })

const problemOf = (request: IncomingMessage): ServiceError | undefined => {
  const { url = "", method = "" } = request
  const end = url.indexOf("?")
  const path = end === -1 ? url : url.slice(0, end)
  if (isOtherSpelling(path)) return routeNotFound
  if (hostsOf(request) > 1) return severalHosts
  return end === -1 ? undefined : unknownField(method, path, url.slice(end + 1))
}

const severalHosts = serviceError("bad_request", "A request has one Host header")

/** Node keeps the first of several and ignores the others. */
const hostsOf = ({ rawHeaders, headers }: IncomingMessage): number => {
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]
    if (name?.length === 4 && name.toLowerCase() === "host") hosts++
  }
  const { ":authority": authority, host } = headers
  return authority !== undefined && host !== undefined && authority !== host ? 2 : hosts
}

/** Routes whose query another party builds. */
const othersMakeQuery: ReadonlySet<string> = new Set(["/v1/auth/sso/callback"])

/** A field of a query that a documented route does not have is refused like one of a body. */
const unknownField = (method: string, path: string, query: string): ServiceError | undefined => {
  if (!/^\/(?:t1|v1)\//.test(path) || othersMakeQuery.has(path)) return undefined
  const known = documentedFields().find((route) => route.method === method && route.path.test(path))
  if (known === undefined) return undefined
  const wrong = [...new URLSearchParams(query).keys()].find((name) => !known.fields.has(name))
  return wrong === undefined
    ? undefined
    : invalidInput([{ path: wrong.slice(0, 64).toWellFormed(), message: "is not a field of this query" }])
}

interface Documented {
  readonly method: string
  readonly path: RegExp
  readonly fields: ReadonlySet<string>
}

let documented: ReadonlyArray<Documented> | undefined

/** The table is made when first needed. Exact paths come before those with parameters. */
const documentedFields = (): ReadonlyArray<Documented> => {
  if (documented !== undefined) return documented
  const found: Array<Documented & { readonly parameters: number }> = []
  HttpApi.reflect(Api, {
    onGroup: () => {},
    onEndpoint: ({ endpoint: { method, path, query } }) => {
      found.push({
        method,
        path: new RegExp(`^${path.replaceAll(".", "\\.").replaceAll(/\/:\w+/g, "/[^/]+")}$`),
        fields: new Set(query === undefined ? [] : namesOf(query.ast)),
        parameters: path.split("/:").length,
      })
    },
  })
  documented = found.sort((one, other) => one.parameters - other.parameters)
  return documented
}

/** The names of a query's fields, as they are sent. */
const namesOf = (ast: SchemaAST.AST): ReadonlyArray<string> => {
  const encoded = SchemaAST.toEncoded(ast)
  return encoded._tag === "Objects" ? encoded.propertySignatures.map(({ name }) => String(name)) : []
}
