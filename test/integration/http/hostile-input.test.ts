/**
 * Every route of the OpenAPI document with hostile values in its path, query, headers and body: the answer is never an
 * internal error, and always the envelope. The values are what broke gateways: text that PostgreSQL cannot store, names
 * that JavaScript gives a meaning, dates that do not exist, numbers beyond any type.
 */
import { randomUUID } from "node:crypto"
import { Schema } from "effect"
import { OpenApi } from "effect/http-api"
import { request } from "undici"
import { beforeAll, describe, expect, it } from "vitest"
import { Api } from "../../../src/protocol/api.ts"
import { AccessTokenMinted } from "../../../src/protocol/control/access-token.ts"
import { AppTokenResponse } from "../../../src/protocol/control/app-token.ts"
import { ErrorEnvelope } from "../../../src/protocol/error.ts"
import { newTestIds, testCatalogue } from "../../../src/testing/index.ts"
import { useGateway } from "../../support/gateway.ts"

const tag = randomUUID().slice(0, 8)
const ids = newTestIds()
const owner = `owner.${tag}@example.com`
const member = `member.${tag}@example.com`
const team = `team_${tag}`
const gateway = useGateway({
  ids,
  config: { authPerMinute: 1_000_000, smtpUrl: undefined },
  catalogue: (urls) =>
    testCatalogue(
      urls,
      ids,
      `
teams:
  - { id: ${team}, org: ${ids.org}, members: [member_${tag}] }
users:
  - { id: owner_${tag}, email: ${owner}, org: ${ids.org}, role: owner }
  - { id: member_${tag}, email: ${member}, org: ${ids.org}, role: member }`,
    ),
})

type Json = Schema.Json
const isObject = (value: unknown): value is { readonly [key: string]: Json } =>
  typeof value === "object" && value !== null && !Array.isArray(value)

interface Parameter {
  readonly name: string
  readonly in: "path" | "query" | "header"
}

interface Route {
  readonly method: string
  readonly path: string
  readonly parameters: ReadonlyArray<Parameter>
  readonly example: Json | undefined
}

const document = JSON.parse(JSON.stringify(OpenApi.fromApi(Api)))
const routes: Array<Route> = []
for (const [path, operations] of Object.entries<Record<string, Record<string, never>>>(document.paths)) {
  for (const [method, operation] of Object.entries(operations)) {
    const { parameters = [], requestBody } = operation
    routes.push({
      method: method.toUpperCase(),
      path,
      parameters,
      example: requestBody?.["content"]?.["application/json"]?.["example"],
    })
  }
}

let authorization = ""
/** Everybody whom some route lets in, by the headers that they send. */
let roles: ReadonlyArray<readonly [role: string, headers: Readonly<Record<string, string>>]> = []
beforeAll(async () => {
  const { adminKey, keyId, key, logIn, call } = gateway()
  const bearerOf = async (email: string) => `Bearer ${(await logIn(email)).accessToken}`
  authorization = await bearerOf(owner)
  const person = { "x-svc-org": ids.org }
  const minted = await call("POST", "/v1/app-tokens", { endUserId: "somebody" })
  const token = await call("POST", "/v1/tokens", { name: "runtime", scopes: ["runtime"] }, { ...person, authorization })
  roles = [
    ["operator", { "x-svc-admin-key": adminKey }],
    ["owner", { ...person, authorization }],
    ["member", { ...person, authorization: await bearerOf(member) }],
    ["application", { "x-svc-key-id": keyId, "x-svc-key": key }],
    ["end user", { "x-svc-app-token": Schema.decodeUnknownSync(AppTokenResponse)(await minted.json()).token }],
    [
      "runtime token",
      { authorization: `Bearer ${Schema.decodeUnknownSync(AccessTokenMinted)(await token.json()).secret}` },
    ],
  ]
})

const strings = [
  "",
  " ",
  "\u0000",
  "a\u0000b",
  "\ud800",
  "a\udfffb",
  "__proto__",
  "constructor",
  "2026-02-30",
  "0000-01-01",
  "9999-12-31T00:00:00Z",
  "-1",
  "NaN",
  "1e400",
  "🦫".repeat(40),
  "x".repeat(3000),
  "../../etc/passwd",
  "%00",
]
const bodyValues: ReadonlyArray<Json> = [
  ...strings,
  null,
  -1,
  1e308,
  2 ** 63,
  0.5,
  true,
  [],
  {},
  ["\u0000"],
  { a: "\ud800" },
]

/** Refusals that say what this gateway lacks, and are right to have a status above 499. */
const notConfigured = new Set([
  "auth_channel_undelivered",
  "websearch_not_configured",
  "imagegen_not_configured",
  "tts_not_configured",
  "asr_not_configured",
  "videogen_not_configured",
])
const decodeEnvelope = Schema.decodeUnknownSync(ErrorEnvelope, { onExcessProperty: "error" })

interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
  readonly text: string
}

/** Thousands of requests: `fetch` takes several times as long. */
const ask = async (url: string, options: Parameters<typeof request>[1]): Promise<Reply> => {
  const { statusCode: status, headers, body } = await request(url, options)
  return { status, headers, text: await body.text() }
}

const check = (name: string, { status, headers, text }: Reply): void => {
  if (status < 400) return
  expect(headers["content-type"], name).toContain("application/json")
  const { error } = decodeEnvelope(JSON.parse(text))
  expect(headers["x-svc-request-id"], name).toBe(error.requestId)
  if (!notConfigured.has(error.code)) expect(status, `${name}: ${text}`).toBeLessThan(500)
}

/** Credentials that open the route. */
const credentials = (path: string): Record<string, string> => {
  if (path.startsWith("/v1/admin")) return { "x-svc-admin-key": gateway().adminKey }
  if (path.startsWith("/t1/") || path === "/v1/app-tokens") {
    return { "x-svc-key-id": gateway().keyId, "x-svc-key": gateway().key }
  }
  return { authorization, "x-svc-org": ids.org, "x-svc-admin-key": gateway().adminKey }
}

/** Values that let a request come far. */
const known: Readonly<Record<string, string>> = {
  scope: "org",
  keyPath: "site.theme",
  org: ids.org,
  vendor: "openai",
  id: ids.app,
  from: "2026-01-01",
  as: "org",
}

/** A team's layer is looked up by its id, so it is tried beside the organisation's. */
const layers: ReadonlyArray<Readonly<Record<string, string>>> = [{ scope: "org" }, { scope: "team", team }]

interface Sent {
  /** The headers; those of the route's usual caller if absent. */
  readonly headers?: Readonly<Record<string, string>>
  readonly parameters?: Readonly<Record<string, string>>
  readonly body?: Json | undefined
}

const send = ({ method, path, parameters, example }: Route, sent: Sent): Promise<Reply> => {
  const values = { ...known, ...sent.parameters }
  const headers: Record<string, string> = {
    "content-type": "application/json",
    ...(sent.headers ?? credentials(path)),
  }
  const query = new URLSearchParams()
  for (const parameter of parameters) {
    const given = sent.parameters?.[parameter.name]
    if (parameter.in === "query" && (given ?? known[parameter.name]) !== undefined) {
      query.set(parameter.name, given ?? known[parameter.name] ?? "")
    }
    if (parameter.in === "header" && given !== undefined) headers[parameter.name] = encodeURI(given.toWellFormed())
  }
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => percentEncode(values[name] ?? "x"))
  const body = sent.body ?? example
  return ask(`${gateway().baseUrl}${filled}?${query}`, {
    method,
    headers,
    ...(body !== undefined && method !== "GET" && { body: JSON.stringify(body) }),
  })
}

/** Also what is not well-formed, as an attacker would send it. */
const percentEncode = (text: string): string =>
  text.isWellFormed()
    ? encodeURIComponent(text)
    : encodeURIComponent(text.toWellFormed()).replaceAll("%EF%BF%BD", "%ED%A0%80")

/** Every place of a body that holds a value, as a way to replace it. */
const places = (value: Json, replace: (value: Json) => Json): ReadonlyArray<(value: Json) => Json> => {
  if (Array.isArray(value)) {
    return value.flatMap((item, at) => places(item, (next) => replace(value.with(at, next))))
  }
  if (!isObject(value)) return [replace]
  return [
    ...Object.entries(value).flatMap(([key, member]) => places(member, (next) => replace({ ...value, [key]: next }))),
    (next) => replace({ ...value, ["unknown field"]: next }),
  ]
}

/** The same sequence in every run (Park and Miller's generator). */
let state = 20_261_121
const random = (below: number): number => {
  state = (state * 48_271) % 2_147_483_647
  return state % below
}

/** Up to 40 UTF-16 code units: half of them ASCII, the others anything. */
const randomText = (): string =>
  String.fromCharCode(...Array.from({ length: random(40) }, () => random(random(2) === 0 ? 0x80 : 0x1_0000)))

/** A test where there is something to test; nothing, rather than a skipped test, elsewhere. */
const itIf = (applies: boolean) => (applies ? it : () => undefined)

/** Some requests at a time. */
const inParallel = async (tasks: ReadonlyArray<() => Promise<void>>): Promise<void> => {
  const queue = [...tasks]
  const work = async () => {
    for (let task = queue.pop(); task !== undefined; task = queue.pop()) await task()
  }
  await Promise.all(Array.from({ length: 8 }, work))
}

const letIn = new Set<string>()
const withInput = routes.filter(
  ({ path, parameters, example }) => path.includes("{") || parameters.length > 0 || example !== undefined,
)

describe.each(withInput.map((route) => [`${route.method} ${route.path}`, route] as const))("%s", (name, route) => {
  const { parameters, example } = route
  const pathNames = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, parameter = ""]) => parameter)
  const isHeader = (name: string) =>
    parameters.some((parameter) => parameter.name === name && parameter.in === "header")
  const names = [...new Set([...pathNames, ...parameters.map((parameter) => parameter.name)])]

  itIf(names.length > 0)("with hostile parameters", () =>
    inParallel(
      names.flatMap((parameter) =>
        (isHeader(parameter) ? strings.slice(0, 6) : strings).map((value) => async () => {
          const response = await send(route, { parameters: { [parameter]: value } })
          check(`${name} with ${parameter}=${JSON.stringify(value)}`, response)
        }),
      ),
    ),
  )

  itIf(names.length > 0)("with generated parameters", async () => {
    const generated = Array.from({ length: 10 }, () =>
      Object.fromEntries(names.map((parameter) => [parameter, randomText()])),
    )
    await inParallel(
      generated.map((parameters) => async () => {
        check(`${name} with ${JSON.stringify(parameters)}`, await send(route, { parameters }))
      }),
    )
  })

  const unstorable = ["a\u0000b", "a\ud800"]
  itIf(names.some((parameter) => !isHeader(parameter)))("with unstorable parameters, from everybody", async () => {
    const sent = roles.flatMap(([role, headers]) =>
      (names.includes("scope") ? layers : layers.slice(0, 1)).flatMap((layer) =>
        names
          .filter((parameter) => !isHeader(parameter))
          .map((parameter, at) => ({ role, headers, layer, parameter, value: unstorable[at % 2] ?? "" })),
      ),
    )
    await inParallel(
      sent.map(({ role, headers, layer, parameter, value }) => async () => {
        const response = await send(route, { headers, parameters: { ...layer, [parameter]: value } })
        if (![401, 403].includes(response.status)) letIn.add(role)
        check(`${name} of ${role} with ${parameter}=${JSON.stringify(value)}`, response)
        // A lone surrogate cannot be percent-encoded: it arrives as U+FFFD, which is text like any other.
        if (value.includes("\u0000")) expect(response.status, name).toBeGreaterThanOrEqual(400)
      }),
    )
  })

  itIf(example !== undefined)("with hostile members of its body", () =>
    inParallel(
      places(example ?? {}, (value) => value).flatMap((place) =>
        bodyValues.map((value) => async () => {
          const body = place(value)
          check(`${name} with ${JSON.stringify(body).slice(0, 400)}`, await send(route, { body }))
        }),
      ),
    ),
  )
})

it("has let in everybody somewhere", () => {
  expect([...letIn].sort()).toEqual(roles.map(([role]) => role).sort())
})

describe("a body as a whole", () => {
  const post = (body: Uint8Array | string) =>
    ask(`${gateway().baseUrl}/t1/heartbeat`, {
      method: "POST",
      headers: { "content-type": "application/json", ...credentials("/t1/") },
      body,
    })

  it.each([
    ["bytes that are not UTF-8", Buffer.from([0x7b, 0x22, 0x61, 0x22, 0x3a, 0x22, 0xff, 0x22, 0x7d])],
    ["a lone surrogate in UTF-8", Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])],
    ["nothing", ""],
    ["half of a document", '{"sessionId": "'],
    ["nesting without end", "[".repeat(100_000)],
  ])("%s is bad_request", async (what, body) => {
    const response = await post(body)
    expect(response.status, what).toBe(400)
    check(what, response)
  })
})
