/** Which gateway a command speaks to, as whom, and what is said when it refuses. */
import { Config, Console, Effect, Option, Schema } from "effect"
import { Flag } from "effect/cli"
import { HttpClient, HttpClientRequest } from "effect/http"
import { HttpApiClient } from "effect/http-api"
import { CatalogueRefused } from "../catalogue/catalogue.ts"
import { describeRefusal } from "../catalogue/watch.ts"
import { Api } from "../protocol/api.ts"
import { ErrorEnvelope } from "../protocol/error.ts"

export const url = Flag.String("url").pipe(
  Flag.withDescription("Base URL of the gateway (SVC_BASE_URL)"),
  Flag.withFallbackConfig(Config.String("SVC_BASE_URL").pipe(Config.withDefault("http://127.0.0.1:8080"))),
)
const adminKey = Flag.String("admin-key").pipe(
  Flag.withDescription("The admin key (SVC_ADMIN_KEY); in development it is printed at start"),
  Flag.withFallbackConfig(Config.String("SVC_ADMIN_KEY")),
)
/** Where a command may do without. */
export const optionalAdminKey = Flag.optional(adminKey)
/** Whether a machine reads the output. */
export const json = Flag.Boolean("json").pipe(
  Flag.withDescription("Print the gateway's reply, for machines"),
  Flag.withDefault(false),
)

/** What every command of operators takes. */
export const operator = { url, adminKey, json }

export interface Operator {
  readonly url: string
  readonly adminKey: string
  readonly json: boolean
}

/** The client that the contract gives. */
export const clientOf = (baseUrl: string) =>
  HttpApiClient.make(Api, { transformClient: HttpClient.mapRequest(HttpClientRequest.prependUrl(baseUrl)) })
export type Client = Effect.Success<ReturnType<typeof clientOf>>

export interface AdminHeaders {
  readonly "x-svc-admin-key": string
}

/** Asks a gateway as its operator; a refusal is a line for people. @param file names the lines of a catalogue's issues */
export const ask = <A, E, R>(
  target: Omit<Operator, "json">,
  request: (client: Client, headers: AdminHeaders) => Effect.Effect<A, E, R>,
  file?: string,
) =>
  Effect.flatMap(clientOf(target.url), (client) => request(client, { "x-svc-admin-key": target.adminKey })).pipe(
    refused(target.url, file),
  )

/** Whatever a gateway refuses is a line for people. */
export const refused =
  (url: string, file?: string) =>
  <A, E, R>(request: Effect.Effect<A, E, R>): Effect.Effect<A, Failed, R> =>
    Effect.mapError(request, (error) => new Failed(describeError(error, url, file)))

/** Prints what people read, or what machines do. */
export const print = <A>({ json }: Pick<Operator, "json">, reply: A, describe: (reply: A) => string) =>
  Console.log(json ? JSON.stringify(reply, undefined, 2) : describe(reply))

/** Asks, and prints the answer. */
export const show = <A, E, R>(
  target: Operator,
  request: (client: Client, headers: AdminHeaders) => Effect.Effect<A, E, R>,
  describe: (reply: A) => string,
) => Effect.flatMap(ask(target, request), (reply) => print(target, reply, describe))

/** A failure with a line for people. */
export class Failed extends Error {
  readonly _tag = "Failed"
}

const Issues = Schema.Struct({
  issues: Schema.Array(Schema.Struct({ path: Schema.String, line: Schema.Int, message: Schema.String })),
})
const decodeEnvelope = Schema.decodeUnknownOption(ErrorEnvelope)
const decodeIssues = Schema.decodeUnknownOption(Issues)

/** What a gateway's refusal was, where one answered at all. */
export const refusalOf = (error: unknown): ErrorEnvelope["error"] | undefined =>
  Option.getOrUndefined(decodeEnvelope(error))?.error

/** @param file names the lines of a catalogue's issues */
export const describeError = (error: unknown, baseUrl: string, file = "catalogue"): string => {
  const refusal = refusalOf(error)
  if (refusal === undefined) return `The gateway at ${baseUrl} could not be reached; is it running?`
  const issues = Option.getOrUndefined(decodeIssues(refusal.detail))
  return issues === undefined
    ? `${refusal.code}: ${refusal.message}`
    : describeRefusal(file, new CatalogueRefused(issues))
}
