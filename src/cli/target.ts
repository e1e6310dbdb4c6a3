/** The gateway that a command calls, its credentials, and the form of refusals. */
import { Config, Console, Effect, Option, Schema } from "effect"
import { Flag } from "effect/cli"
import { HttpClient, HttpClientRequest } from "effect/http"
import { HttpApi, HttpApiClient, type HttpApiGroup } from "effect/http-api"
import { CatalogueRefused, describeRefusal } from "../catalogue/refusal.ts"
import { valueOrFile } from "../config.ts"
import { ErrorEnvelope } from "../protocol/error.ts"
import { invalidInput, issuesOf } from "../protocol/json/issues.ts"
import { decodeJson } from "../protocol/json/json-body.ts"

/** The gateway of this machine, at the port of its configuration, if no other is named. */
const baseUrl = Config.all([
  Config.option(Config.String("SVC_BASE_URL")),
  Config.option(Config.String("SVC_PORT")),
]).pipe(
  Config.map(([url, port]) =>
    Option.getOrElse(url, () => `http://127.0.0.1:${Option.getOrElse(port, () => "0").replace(/^0?$/, "8080")}`),
  ),
)

export const url = Flag.String("url").pipe(
  Flag.withDescription("Base URL of the gateway (SVC_BASE_URL)"),
  Flag.withFallbackConfig(baseUrl),
)
/** The variable of a secret flag, or the file that its `…_FILE` names. */
export const secretOfFlag = (name: string): Config.Config<string> =>
  Config.flatMap(valueOrFile(name), (value) => (value === undefined ? Config.String(name) : Config.succeed(value)))

const adminKey = Flag.String("admin-key").pipe(
  Flag.withDescription("The admin key (SVC_ADMIN_KEY); in development it is printed at start"),
  Flag.withFallbackConfig(secretOfFlag("SVC_ADMIN_KEY")),
)
/** The admin key for commands that also work without it. */
export const optionalAdminKey = Flag.optional(adminKey)
/** Whether the output is for machines. */
export const json = Flag.Boolean("json").pipe(
  Flag.withDescription("Print the gateway's reply as JSON"),
  Flag.withDefault(false),
)

/** Flags of every command of operators. */
export const operator = { url, adminKey, json }

export interface Operator {
  readonly url: string
  readonly adminKey: string
  readonly json: boolean
}

/** The client of one group of the API: a client of the whole takes longer to make than a call. */
export const clientOf = <G extends HttpApiGroup.Constraint>(baseUrl: string, group: G) =>
  HttpApiClient.make(HttpApi.make("weir").add(group), {
    transformClient: HttpClient.mapRequest(HttpClientRequest.prependUrl(baseUrl)),
  })
export type ClientOf<G extends HttpApiGroup.Constraint> = HttpApiClient.Client<G>

export interface AdminHeaders {
  readonly "x-svc-admin-key": string
}

/** Calls a gateway as its operator; a refusal becomes one line. @param file the catalogue file that issues refer to */
export const ask = <G extends HttpApiGroup.Constraint, A, E, R>(
  target: Omit<Operator, "json">,
  group: G,
  request: (client: ClientOf<G>, headers: AdminHeaders) => Effect.Effect<A, E, R>,
  file?: string,
) =>
  Effect.flatMap(clientOf(target.url, group), (client) => request(client, { "x-svc-admin-key": target.adminKey })).pipe(
    refused(target.url, file),
  )

/** Turns every refusal of a gateway into one line. */
export const refused =
  (url: string, file?: string) =>
  <A, E, R>(request: Effect.Effect<A, E, R>): Effect.Effect<A, Failed, R> =>
    Effect.mapError(request, (error) => new Failed(describeError(error, url, file), refusalOf(error)))

/** Prints the reply as text for people, or as JSON. */
export const print = <A>({ json }: Pick<Operator, "json">, reply: A, describe: (reply: A) => string) =>
  Console.log(json ? JSON.stringify(reply, undefined, 2) : describe(reply))

/** Calls a gateway and prints the reply. */
export const show = <G extends HttpApiGroup.Constraint, A, E, R>(
  target: Operator,
  group: G,
  request: (client: ClientOf<G>, headers: AdminHeaders) => Effect.Effect<A, E, R>,
  describe: (reply: A) => string,
) => Effect.flatMap(ask(target, group, request), (reply) => print(target, reply, describe))

/** A failure whose message is one line for people. */
export class Failed extends Error {
  readonly _tag = "Failed"
  /** The gateway's error, if it refused. */
  readonly refusal: ErrorEnvelope["error"] | undefined
  constructor(message: string, refusal?: ErrorEnvelope["error"]) {
    super(message)
    this.refusal = refusal
  }
}

export const failed = (message: string): Effect.Effect<never, Failed> => Effect.fail(new Failed(message))

/** The body of a request, made of flags; a value that its schema refuses becomes one line. */
export const decoded = <S extends Schema.ConstraintDecoder<unknown>>(
  schema: S,
  body: unknown,
): Effect.Effect<S["Type"], Failed> =>
  Effect.mapError(Effect.fromResult(decodeJson(schema, body)), ({ message }) => new Failed(message))

const Issues = Schema.Struct({
  issues: Schema.Array(Schema.Struct({ path: Schema.String, line: Schema.Int, message: Schema.String })),
})
const decodeEnvelope = Schema.decodeUnknownOption(ErrorEnvelope)
const decodeIssues = Schema.decodeUnknownOption(Issues)

/** The gateway's error, if it answered. */
export const refusalOf = (error: unknown): ErrorEnvelope["error"] | undefined =>
  Option.getOrUndefined(decodeEnvelope(error))?.error

/** @param file the catalogue file that issues refer to */
export const describeError = (error: unknown, baseUrl: string, file = "catalogue"): string => {
  const refusal = refusalOf(error)
  // A value that the gateway would refuse is not sent.
  if (error instanceof Schema.SchemaError) return invalidInput(issuesOf(error)).message
  if (refusal === undefined) return `The gateway at ${baseUrl} could not be reached; is it running?`
  const issues = Option.getOrUndefined(decodeIssues(refusal.detail))
  return issues === undefined
    ? `${refusal.code}: ${refusal.message}`
    : describeRefusal(file, new CatalogueRefused(issues))
}
